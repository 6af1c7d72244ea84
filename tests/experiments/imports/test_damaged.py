"""Fifty damaged configurations and more: none is misread without a word, and no contradiction is passed over."""

import contextlib
import itertools
import random

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.imports import text
from tests.experiments.imports.running import MME, MME_LINE, RUNNING, SGSN, SGSN_LINE, parsed, values

LINES = RUNNING.splitlines(keepends=True)


def truncated(at: int) -> bytes:
    return RUNNING.encode()[:at]


def beheaded(at: int) -> bytes:
    return RUNNING.encode()[at:]


def noisy(seed: int, size: int) -> bytes:
    """Lines of noise between the lines."""
    draw = random.Random(seed)
    alphabet = [chr(code) for code in [*range(32, 127), 0xE4, 0x20AC, 0x1F600, 9]]
    noise = ["".join(draw.choices(alphabet, k=draw.randrange(1, 200))) + "\n" for _ in range(200)]
    per_gap = size // (100 * len(LINES))
    return "".join(line + "".join("   ~" + draw.choice(noise) for _ in range(per_gap)) for line in LINES).encode()


def garbled(seed: int) -> bytes:
    """Bytes replaced at random."""
    draw = random.Random(seed)
    content = bytearray(RUNNING.encode())
    for _ in range(40):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def shuffled(seed: int) -> bytes:
    draw = random.Random(seed)
    return "".join(draw.sample(LINES, len(LINES))).encode()


def without_lines(seed: int) -> bytes:
    draw = random.Random(seed)
    return "".join(line for line in LINES if draw.random() > 0.1).encode()


def reindented(seed: int) -> bytes:
    draw = random.Random(seed)
    return "".join(" " * draw.randrange(12) + line.lstrip() for line in LINES).encode()


HARMLESS: list[bytes] = [
    *(reindented(seed) for seed in range(6)),
    noisy(1, 20_000),
    noisy(2, 200_000),
    RUNNING.replace("\n", "\r\n").encode("utf-16"),
    RUNNING.replace("name stp2", 'name "st"p "2" "').encode(),
    RUNNING.replace("context ingress", 'context "in"gress"').encode(),
    RUNNING.replace("  ", "\t").encode(),
    (RUNNING + RUNNING.replace("config\n", "", 1)).encode(),
    RUNNING.encode() + b"\x00" * 500,
    RUNNING.replace("sctp-rto-max 600", "sctp-rto\x00-max 600").encode(),
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + RUNNING.encode(),
    f"<pre>\n{RUNNING}</pre>\n".encode(),
    f"```\n{RUNNING}```\n".encode(),
    RUNNING.replace("sctp-rto-max", "sctp-\u200brto-max").encode(),
    RUNNING.replace("sctp-rto-max", "sctp\u2011rto\u2013max").encode(),
    RUNNING.replace("name stp2", "name \u201cstp2\u201d").encode(),
    RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 0600").encode(),
    RUNNING.replace("\n", "\x0c\n").encode(),
    RUNNING.encode().replace(b"stp2", b"\xed\xa0\x80"),
    RUNNING.encode("utf-32"),
    RUNNING.encode("utf-16-be"),
    "".join(f"\x1b[32m{line[:-1]}\x1b[0m\n" for line in LINES).encode(),
    RUNNING.replace(" ", "\t").encode(),
    "".join(line + line for line in LINES).encode(),
    RUNNING.replace("psp instance 4", f"psp instance {'4' * 6000}").encode(),
    "".join(" " * i + f"context c{i}\n" for i in range(3000)).encode() + RUNNING.encode(),
]
DAMAGED: list[bytes] = [
    *(truncated(at) for at in range(100, len(RUNNING), 311)),
    *(beheaded(at) for at in range(100, len(RUNNING) - 200, 397)),
    *(garbled(seed) for seed in range(12)),
    *(shuffled(seed) for seed in range(4)),
    *(without_lines(seed) for seed in range(6)),
    b"",
    b"\n" * 1000,
    b"\xff\xfe",
    RUNNING.encode("utf-16")[:-1],
    RUNNING.encode("cp037"),
    b'"' * 10_000,
    b"network-overload-protection " * 2_000,
    RUNNING.replace("\n", " ").encode(),
]


GATE = "network-overload-protection sgsn-new-connections-per-second"
OBSCURED: list[bytes] = [
    "".join(f"{number:5d}: {line}" for number, line in enumerate(LINES, 1)).encode(),
    "".join(f"> {line}" for line in LINES).encode(),
    "".join(f"+{line}" for line in LINES).encode(),
    "".join(f"2014-11-21 06:25:00 {line}" for line in LINES).encode(),
    RUNNING.replace(f"  {SGSN_LINE}", f"-  {SGSN_LINE}\n+  {SGSN_LINE.replace('500 ', '900 ', 1)}").encode(),
    RUNNING.replace(GATE, GATE.replace("new", "mew")).encode(),
    RUNNING.replace("sctp-rto-max", "sctp-rt0-max").encode(),
    RUNNING.replace("sctp-rto-max 600", "sctp-rto-max -600").encode(),
    RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 600.5").encode(),
    RUNNING.replace("sctp-rto-max 600", "sctp-rto-max 60\xb2").encode(),
    RUNNING.replace("sctp-rto-max 600", f"sctp-rto-max {'9' * 5000}").encode(),
    RUNNING.replace("500 action", f"{'9' * 5000} action").encode(),
    RUNNING.replace("600", "6000\b").encode(),
    "".join(reversed(LINES)).encode(),
]


@pytest.mark.parametrize("content", OBSCURED)
def test_a_line_that_is_plainly_there_is_never_taken_for_missing(content: bytes) -> None:
    """With numbers, marks of a diff or of a mail before it, one wrong letter, or a number that is none."""
    with pytest.raises(InputError, match=r"cut or garbled|must have|outside"):
        values(parsed(content), "gprs")


def test_there_are_fifty() -> None:
    assert len(HARMLESS) + len(DAMAGED) >= 50


@pytest.mark.parametrize("content", HARMLESS)
def test_what_can_be_mended_is_mended(content: bytes) -> None:
    found = parsed(content)
    assert values(found, "gprs") == SGSN
    assert values(found, "eps") == MME


@pytest.mark.parametrize("content", DAMAGED)
def test_it_never_crashes_and_names_what_it_read(content: bytes) -> None:
    try:
        found = parsed(content)
    except InputError as error:
        assert "no command of a StarOS running configuration" in str(error)  # noqa: PT017  (either end will do)
        return
    source = text.clean(content, "box.cfg").lines
    for statement in found.statements:
        assert statement.text.split()[0] in next(line.text for line in source if line.number == statement.line)
    for access in ("gprs", "eps"):
        with contextlib.suppress(InputError):
            values(found, access)


@pytest.mark.parametrize("at", range(100, len(RUNNING), 311))
def test_a_cut_file_never_gives_a_wrong_value(at: int) -> None:
    for content in (truncated(at), beheaded(at)):
        try:
            found = parsed(content)
        except InputError:
            continue
        for access, right in (("gprs", SGSN), ("eps", MME)):
            try:
                got = values(found, access)
            except InputError:
                continue
            assert got.items() <= right.items()


AGAIN = "@"
"""Stands for the old words in the new ones."""
CONFLICTS = [
    (SGSN_LINE, f"@\n  {SGSN_LINE.replace('500 ', '800 ', 1)}", "gprs", "set 2 times.*500 requests.*800 requests"),
    (MME_LINE, f"@\n  {MME_LINE.replace('time 4', 'time 5')}", "eps", "set 2 times.*4 s.*5 s"),
    ("end\n", f"@{RUNNING.replace('rto-max 600', 'rto-max 50')}", "gprs", "sctp-rto-max: is set 2 times"),
    ("sctp-rto-initial 30", "@\n        sctp-rto-initial 31", "gprs", "sctp-rto-initial: is set 2 times"),
    ("emm t3346-timeout 900", "@\n      emm t3346-timeout 0", "eps", "t3346-timeout: is set 2 times"),
    ("end\n", f"@{RUNNING.replace('max-retransmissions 2', 'max-retransmissions 3')}", "eps", "is set 2 times"),
    (SGSN_LINE, SGSN_LINE[:-1], "gprs", "cut or garbled"),
    (SGSN_LINE, SGSN_LINE[:90], "gprs", "cut or garbled"),
    ("500 action", "49 action", "gprs", "must have nop_rate as 50 to 5000"),
    ("queue-size 1500", "queue-size 4000", "gprs", "queue-size of 500 to 2500"),
    ("sctp-rto-max 600", "sctp-rto-max 6000", "gprs", "5 to 1200"),
    ("      psp instance 4\n", "", "gprs", "set 2 times|outside"),
]


@pytest.mark.parametrize(("old", "new", "access", "said"), CONFLICTS)
def test_contradictions_and_illegal_values_are_reported(old: str, new: str, access: str, said: str) -> None:
    found = parsed(RUNNING.replace(old, new.replace(AGAIN, old)))
    assert found.troubles
    with pytest.raises(InputError, match=said):
        values(found, access)


def test_ten_megabytes_of_noise() -> None:
    content = noisy(3, 10_000_000)
    assert len(content) > 8_000_000
    found = parsed(content)
    assert values(found, "gprs") == SGSN
    assert found.unknown_count > 50_000
    assert len(found.unknown) == 200


def broken(content: str, width: int) -> bytes:
    """As a terminal of this width shows it."""
    rows = [line[k : k + width] for line in content.split("\n") for k in range(0, max(len(line), 1), width)]
    return "\n".join(rows).encode()


@pytest.mark.parametrize("width", [40, 60, 72, 76, 79, 80, 81, 100, 120, 132])
def test_lines_broken_at_a_width_are_joined_or_refused(width: int) -> None:
    """Gates of many lengths and indentations: the break falls after each of their characters."""
    read = 0
    for rate, wait, indent in itertools.product((80, 4000), (5, 12), range(7)):
        sgsn = f"network-overload-protection sgsn-new-connections-per-second {rate} action drop"
        mme = MME_LINE.replace(" 400 ", f" {rate} ").split(" queue-size")[0]
        for line, access in ((sgsn, "gprs"), (mme, "eps")):
            for queue in ("", f" queue-size {4 * rate}"):
                whole = f"config\n{' ' * indent}{line}{queue} wait-time {wait}\n  cli hidden\nend\n"
                right = values(parsed(whole), access)
                assert right["nop_wait_s"] == wait
                try:
                    found = parsed(broken(whole, width))
                    assert values(found, access) == right
                except InputError:
                    continue
                read += 1
                joined = any("broken by a terminal's width were joined: 2" in note for note in found.notes)
                assert joined == (len(whole.split("\n")[1]) > width)
    assert read >= 100


def test_a_complete_command_that_goes_on_is_refused() -> None:
    """What follows at the left edge, below a line as long as any, is its rest, even if it is not understood."""
    line = "  network-overload-protection sgsn-new-connections-per-second 700 action drop"
    with pytest.raises(InputError, match=r"box.cfg:2: .*is cut or garbled"):
        values(parsed(f"config\n{line}\nburst-size 7\nend\n"), "gprs")
    assert values(parsed(f"config\n{line}\n  burst-size 7\nend\n"), "gprs")["nop_rate"] == 700


@pytest.mark.parametrize("last", ["sctp-rto-max 45", "sctp-rto-max 600"])
def test_a_last_line_without_line_end_may_be_cut(last: str) -> None:
    part = RUNNING[: RUNNING.index("sctp-rto-max 600")] + last
    with pytest.raises(InputError, match=f"may be cut: the file ends without a line end after '{last}'"):
        values(parsed(part), "gprs")
    assert values(parsed(part + "\n"), "gprs")["rto_max_ms"] == 100 * int(last.split()[1])


def test_a_session_is_read_behind_its_prompts() -> None:
    """It changes a box and does not show what the box has, so nothing is concluded from what it leaves out."""
    session = "".join(f"[local]asr5k(config)# {line}" for line in LINES[1:])
    found = parsed("[local]asr5k# config\n" + session + "[local]asr5k# exit\n")
    assert not found.troubles
    assert not found.whole
    assert values(found, "gprs").items() <= SGSN.items()
    assert values(found, "gprs")["nop_rate"] == SGSN["nop_rate"]


def test_unknown_lines_that_look_like_a_command_are_named() -> None:
    found = parsed(RUNNING.replace("sctp-rto-max 600", "sctp-rot-max 600"))
    said = [note for note in found.notes if "looks like" in note]
    assert [note.split("`")[1] for note in said] == ["sctp-rto-max"] * RUNNING.count("sctp-rto-max 600")
    assert not any("looks like" in note for note in parsed(RUNNING).notes)


def test_one_endless_line() -> None:
    found = parsed(RUNNING + "x" * 10_000_000)
    assert values(found, "gprs") == SGSN
    assert len(str(found.to_json())) < 100_000
