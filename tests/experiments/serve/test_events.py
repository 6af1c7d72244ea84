"""Events that a viewer adds: only those that can happen are listed."""

import pytest

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")

from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.serve.events import EventForm, RefusedEventError, read_event
from signalstorm.experiments.serve.moves import MOST_ADDED, Move

NOTHING = Move(source="x")


def _read(kind: str, target: str, time: str, value: str, ticked: Move = NOTHING) -> tuple[str, str]:
    return read_event(load("lab-pcrf"), ticked, EventForm(kind, target, time, value))


def test_an_event_is_held_as_the_command_line_writes_it() -> None:
    assert _read("capacity", "pcrf", " 5.0 ", "20") == ("capacity:pcrf@5=20", "capacity of pcrf at 5 s: 20")
    assert _read("mass_detach", "*", "1e2", "") == ("mass_detach:*@100", "mass detach of * at 100 s")


@pytest.mark.parametrize(
    ("kind", "target", "time", "value", "message"),
    [
        ("capacity", "pcrf", "abc", "20", "The time must be a number, but is 'abc'."),
        ("capacity", "pcrf", "", "x", "The time is missing. The value must be a number, but is 'x'."),
        ("capacity", "pcrf", "-5", "20", "capacity:pcrf@-5=20: must be at least 0 s, but got -5.0."),
        ("capacity", "pcrf", "nan", "20", "capacity:pcrf@nan=20: must be a finite number"),
        ("capacity", "pcrf", "600", "20", "capacity:pcrf@600=20: must be before the end of the scenario"),
        ("capacity", "pcrf", "5", "-1", "capacity:pcrf@5=-1: must be at least 0 per s"),
        ("capacity", "pcrf", "5", "", "The value is missing."),
        ("capacity", "hss", "5", "20", "capacity:hss@5=20: must be a server"),
        ("imsimgr_reboot", "pcrf", "5", "20", "imsimgr_reboot takes no value"),
    ],
)
def test_what_cannot_happen_is_refused(kind: str, target: str, time: str, value: str, message: str) -> None:
    with pytest.raises(RefusedEventError) as refused:
        _read(kind, target, time, value)
    assert message in str(refused.value)


def test_there_are_not_more_than_a_move_takes() -> None:
    most = Move(source="x", added=[f"capacity:pcrf@{time_s}=20" for time_s in range(MOST_ADDED)])
    with pytest.raises(RefusedEventError, match="at most 50 added events"):
        _read("capacity", "pcrf", "99", "20", most)
