"""Commands for an SGSN: its own gate line, and the associations of its links, legal after every line."""

from collections.abc import Mapping
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.cli.export import about
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.experiments.export.commands import commands
from signalstorm.experiments.export.releases import UNKNOWN
from signalstorm.experiments.export.staros import lines

PRESENT: Mapping[str, KnobValue] = {
    "nop_rate": 500,
    "nop_wait_s": 5,
    "nop_queue": 1500,
    "nop_action": "reject-congestion",
    "t3346_s": 0,
    "rto_min_ms": 1000,
    "rto_initial_ms": 3000,
    "rto_max_ms": 60000,
    "max_assoc_retx": 10,
}
NAMES = {"ss7-domain": "1", "ss7-variant": "itu", "peer-server": "2", "psp": "4", "asp": "1"}
PUBLISHED = (
    "network-overload-protection sgsn-new-connections-per-second 500 action reject-with-cause congestion "
    "queue-size 1500 wait-time 5"
)


def text(target: Mapping[str, KnobValue], other: Mapping[str, KnobValue] = PRESENT) -> list[str]:
    return [line.strip() for line in lines(commands(target, other, UNKNOWN), NAMES)]


def test_the_published_gate_line() -> None:
    assert text(PRESENT) == ["config", PUBLISHED, "end"]


def test_gates_of_an_sgsn() -> None:
    assert "action drop queue-size 1500" in text({**PRESENT, "nop_action": "drop"})[1]
    assert text({**PRESENT, "nop_rate": "off"})[1] == (
        "default network-overload-protection sgsn-new-connections-per-second"
    )
    small = {**PRESENT, "nop_rate": 50, "nop_wait_s": 4}
    del small["nop_queue"]
    assert text(small)[1].endswith("50 action reject-with-cause congestion wait-time 4")
    for wrong in ({"nop_action": "reject-network-failure"}, {"t3346_s": 60}):
        with pytest.raises(InputError, match="for an SGSN"):
            commands({**PRESENT, **wrong}, PRESENT, UNKNOWN)


def test_rto_of_half_a_second() -> None:
    """Lowered from the smallest, within `no associate` and `associate`, before the gate; units of 100 ms."""
    advised = {**PRESENT, "rto_min_ms": 500, "rto_initial_ms": 500, "rto_max_ms": 500, "max_assoc_retx": 20}
    assert text(advised) == [
        "config",
        "ss7-routing-domain 1 variant itu",
        "peer-server id 2",
        "psp instance 4",
        "no associate",
        "sctp-max-assoc-retx 20",
        "sctp-rto-min 5",
        "sctp-rto-initial 5",
        "sctp-rto-max 5",
        "associate asp instance 1",
        "end",
        "config",
        PUBLISHED,
        "end",
    ]
    back = [line for line in text(PRESENT, advised) if line.startswith("sctp-rto")]
    assert back == ["sctp-rto-max 600", "sctp-rto-initial 30", "sctp-rto-min 10"]
    notes = [note for command in commands(advised, PRESENT, UNKNOWN) for note in command.notes]
    assert "5 units of 100 ms = 500 ms" in notes
    assert any("SERVICE-AFFECTING" in note and "one PSP at a time" in note for note in notes)


def test_the_period_of_acknowledgements() -> None:
    """Units of 100 ms, or of 10 ms with the keyword; the other end has to be set too."""
    known = {**PRESENT, "sack_period_ms": 200}
    assert "sctp-sack-period 1" in text({**known, "sack_period_ms": 100}, known)
    assert "sctp-sack-period units-10ms 5" in text({**known, "sack_period_ms": 50}, known)
    (command,) = (
        c for c in commands({**known, "sack_period_ms": 50}, known, UNKNOWN) if c.knobs == ("sack_period_ms",)
    )
    assert command.notes == ("5 units of 10 ms = 50 ms",)
    assert any("the STP is set alike" in doubt for doubt in command.confirm)


def test_an_association_that_fails_sooner_is_warned_of() -> None:
    quick = {**PRESENT, "rto_initial_ms": 1000, "rto_max_ms": 1000}
    notes = [note for command in commands(quick, PRESENT, UNKNOWN) for note in command.notes]
    assert any(note.startswith("WARNING: an association fails after 11 s") for note in notes)
    back = [note for command in commands(PRESENT, quick, UNKNOWN) for note in command.notes]
    assert not any("WARNING" in note for note in back)


LIMITS = st.tuples(*[st.integers(5, 50)] * 3).map(sorted)


@given(LIMITS, LIMITS)
def test_the_limits_are_in_order_after_every_line(old: list[int], new: list[int]) -> None:
    names = ("rto_min_ms", "rto_initial_ms", "rto_max_ms")
    words = ("sctp-rto-min", "sctp-rto-initial", "sctp-rto-max")
    other = {**PRESENT, **{name: 100 * value for name, value in zip(names, old, strict=True)}}
    target = {**PRESENT, **{name: 100 * value for name, value in zip(names, new, strict=True)}}
    box = dict(zip(words, old, strict=True))
    for line in text(target, other):
        word, _, number = line.partition(" ")
        if word in box:
            box[word] = int(number)
            assert list(box.values()) == sorted(box.values())
    assert list(box.values()) == new


def test_the_command_prints_milliseconds_and_what_it_interrupts() -> None:
    quick = {**PRESENT, "rto_initial_ms": 1000, "rto_max_ms": 1000}
    said = about([asdict(command) for command in commands(quick, PRESENT, UNKNOWN)])
    assert any("rto_max_ms" in line and "10 units of 100 ms = 1000 ms" in line for line in said)
    assert said[-1].startswith("  (service-affecting: each association is taken down and restarted")
    slower = {**PRESENT, "nop_rate": 400}
    assert not about([asdict(command) for command in commands(slower, PRESENT, UNKNOWN)])
