"""Counters, traps and figures: exact conversion, and questions where a column can be read two ways."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.imports import counters, figures, text, traps
from signalstorm.experiments.imports.counters import Counter, parse_columns, read_columns, to_count, to_rate
from tests.experiments.imports.incident_tables import ALARMS, ATTACHES, DETACHES, PSP4, RATES_PER_S, SUBSCRIBERS


def read(tmp_path: Path, content: str, *columns: str, **options: object) -> list[Counter]:
    file = tmp_path / "table.csv"
    file.write_text(content)
    return counters.read(file, parse_columns(columns), **options)[0]  # type: ignore[arg-type]


def test_the_hourly_figures_per_second(tmp_path: Path) -> None:
    (attaches,) = read(tmp_path, ATTACHES)
    assert attaches.quantity.name == "attach requests"
    assert attaches.unit == "count"
    assert attaches.rates_per_s == pytest.approx(RATES_PER_S, abs=0.01)
    assert (attaches.start_s[0], attaches.end_s[0]) == (7 * 3600, 8 * 3600)
    back = [to_count(rate, 3600.0) for rate in attaches.rates_per_s if rate is not None]
    assert back == list(attaches.values)


@given(st.integers(0, 2**50), st.sampled_from([1.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 86400.0]))
def test_counts_to_rates_and_back_is_exact(count: int, interval_s: float) -> None:
    assert to_count(to_rate(float(count), "count", interval_s), interval_s) == count


def test_tables_by_blanks(tmp_path: Path) -> None:
    tx, rx = read(tmp_path, PSP4)
    assert (tx.quantity.name, rx.quantity.name) == ("link tx", "link rx")
    assert tx.of == rx.of == "stp2/slc4"
    assert tx.rates_per_s[3] == pytest.approx(304.12, abs=0.01)


def test_per_second_that_cannot_be(tmp_path: Path) -> None:
    """The published heading says per second: asked about, and refused where the subscribers are known."""
    with pytest.raises(InputError) as said:
        read(tmp_path, DETACHES)
    assert len(said.value.faults) == 2
    assert "says per second, but holds what looks like counts per interval" in str(said.value)
    assert "as a rate that is 518,425,200 in 1800 s" in str(said.value)
    name = "MS-initiated detaches per second"
    other = "network-initiated detaches per second=skip"
    with pytest.raises(InputError, match=r"cannot be, with 2,386,266 subscribers, in the unit 1/s"):
        read(tmp_path, DETACHES, f"{name}=subscriber detaches:1/s", other, subscribers=SUBSCRIBERS)
    (detaches,) = read(tmp_path, DETACHES, f"{name}=subscriber detaches:count", other, subscribers=SUBSCRIBERS)
    assert detaches.rates_per_s[0] == pytest.approx(75.81, abs=0.01)


def test_attaches_that_cannot_be(tmp_path: Path) -> None:
    column = "2G attach requests (count)=attach requests:1/s"
    with pytest.raises(InputError, match="cannot be, with 2,386,266 subscribers"):
        read(tmp_path, ATTACHES, column, subscribers=SUBSCRIBERS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ATTACHES.replace(" (count)", ""), "ambiguous: it may be a count per interval or a rate"),
        (ATTACHES.replace("2G attach requests", "things"), "names no known quantity"),
        (ATTACHES.replace("hour ending", "hour"), "start or the end of its interval"),
        (PSP4.replace("SLC 4 of STP 2 tx", "SLC 4 tx"), "of which link or STP"),
        (ATTACHES.replace("10:00;", "10:07;"), "give --interval"),
        (ATTACHES.replace("738,279", "738 thousand"), "table.csv:2: 2G attach requests .count.: must be a number"),
        (ATTACHES.replace("09:00;14,053,511", "09:00"), "as many cells in each row.*other numbers on lines 3"),
        (ATTACHES.split("\n", 1)[1], "row of column names"),
        ("time_s;attach rate /s\n1;1,5\n2;1,234,567\n", "commas for thousands and for decimals"),
        (ATTACHES.replace("738,279", "-738,279"), "must be at least 0 and finite"),
        (ATTACHES.replace("738,279", "1e400"), "must be at least 0 and finite"),
        (ATTACHES.replace("738,279", "9" * 5000), "must be a number"),
        ("until,attach count\n08:00,5\n08:00,6\n", "one distance above 0 s"),
    ],
)
def test_what_is_not_certain_is_asked(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(InputError, match=f"(?i){said}"):
        read(tmp_path, content, marks="end" if "time_s" in content else None)


def test_numbers_and_times_in_other_habits(tmp_path: Path) -> None:
    found = read(tmp_path, "time_s;attach rate /s\n1;1,5\n2;2\n3;-\n", marks="end")[0]
    assert found.values == (1.5, 2.0, None)
    assert found.rates_per_s == (1.5, 2.0, None)
    assert not found.clock
    night = read(tmp_path, "end,attach requests count\n23:00,60\n00:00,120\n01:00,180\n")[0]
    assert night.end_s == (23 * 3600, 24 * 3600, 25 * 3600)
    swiss = read(tmp_path, "from,attach count\n2014-11-21 07:00,1'234'567\n2014-11-21 08:00,2'000'000\n")[0]
    assert swiss.values == (1234567.0, 2000000.0)
    assert swiss.start_s[0] == 7 * 3600


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    found = [*read(tmp_path, ATTACHES), *read(tmp_path, PSP4)]
    (tmp_path / "observed.csv").write_text(counters.dump(found))
    again, _ = counters.read(tmp_path / "observed.csv")
    assert [one.rates_per_s for one in again] == [one.rates_per_s for one in found]
    assert [(one.quantity, one.of, one.start_s, one.clock) for one in again] == [
        (one.quantity, one.of, one.start_s, one.clock) for one in found
    ]


def test_what_was_written_and_then_spoilt(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    written = counters.dump(read(tmp_path, ATTACHES))
    lines = written.splitlines()
    assert lines[1].startswith("25200,28800,yes,")
    cells = lines[1].split(",")
    spoilt = [
        [*cells[:7], "many", cells[8]],
        ["28800", "25200", *cells[2:]],
        [*cells[:5], "apples", "hertz", *cells[7:]],
        [*cells[:7], "nan", cells[8]],
    ]
    file.write_text("\n".join([lines[0], *(",".join(row) for row in spoilt)]) + "\n")
    with pytest.raises(InputError) as said:
        counters.read(file)
    places = [(fault.line, fault.key) for fault in said.value.faults]
    assert places == [(2, "value"), (3, "end_s"), (4, "quantity"), (4, "unit"), (5, "value")]
    file.write_text("start_s,end_s,quantity\n0,1,attach accepts\n")
    with pytest.raises(InputError, match="but not clock, element, of, unit, value"):
        counters.read(file)


@pytest.mark.parametrize("header", ["attach accepts", "attach failures", "admitted", "attach rejects", "stp2 tx"])
def test_no_quantity_has_more_than_subscribers_cause(tmp_path: Path, header: str) -> None:
    content = f"until,{header} per second\n08:00,5.5\n08:01,1000000000000\n"
    with pytest.raises(InputError, match="cannot be, with 2,386,266 subscribers"):
        read(tmp_path, content, subscribers=SUBSCRIBERS)
    at_once = read(tmp_path, "time_s,attach requests count\n1,1000\n2,0\n", marks="end", subscribers=1000.0)
    assert at_once[0].values == (1000.0, 0.0)


def test_column_maps(tmp_path: Path) -> None:
    file = tmp_path / "columns.yaml"
    file.write_text("tx out: link tx:count:stp2/slc4\nother: skip\n")
    assert read_columns(file)["tx out"].of == "stp2/slc4"
    with pytest.raises(InputError) as said:
        parse_columns(["a=atach requests", "b", "c=link tx:hz"])
    assert len(said.value.faults) == 3
    assert "Did you mean attach requests" in str(said.value)
    with pytest.raises(InputError, match="is no column of the file"):
        read(tmp_path, ATTACHES, "3G=attach requests:count")


def parsed(content: str) -> traps.Traps:
    return traps.parse(text.clean(content.encode(), "alarms.txt"))


def test_traps() -> None:
    found = parsed(ALARMS)
    assert [trap.element for trap in found.traps][:4] == ["stp2/slc1", "stp2/slc2", "stp2/slc3", "stp2/slc4"]
    assert found.unknown == ((9, "operator logged in at the console"),)
    alarms = found.alarms()
    assert alarms[0] == {"element": "stp2/slc1", "kind": "congestion", "set_s": 29594.0, "cleared_s": None}
    fourth = [(traps.clock(a["set_s"]), a["cleared_s"]) for a in alarms if a["element"] == "stp2/slc4"]
    assert fourth == [("08:13:29", 29927.0), ("08:18:48", None)]
    assert alarms[-1]["kind"] == "cpu warn"
    traps.check_elements(found, load("incident-2014"))
    with pytest.raises(InputError, match=r"alarms.txt:1: names an element that lab-pcrf does not have"):
        traps.check_elements(found, load("lab-pcrf"))
    endless = parsed(f"08:13:14 STP-2 SLC-{'4' * 5000} congestion\n")
    with pytest.raises(InputError, match=r"names an element that incident-2014 does not have"):
        traps.check_elements(endless, load("incident-2014"))
    with pytest.raises(InputError, match="no line with a time and a known alarm"):
        parsed("nothing happened\n")


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("21.11.2014 25:13:14 STP-2 SLC-1 congested\n", "alarms.txt:1: has no time of day: 25:13:14"),
        ("08:61:14 STP-2 SLC-1 congested\n", "has no time of day: 08:61:14"),
        ("31.02.2014 08:13:14 STP-2 SLC-1 congested\n", "date that does not exist: 31.02.2014"),
        ("02/03/2014 08:13:14 STP-2 SLC-1 congested\n", "two ways, 02/03/2014: write YYYY-MM-DD"),
        (
            "08:13:14 STP-2 SLC-1 congested\n08:10:14 STP-2 SLC-1 congestion cleared\n",
            "alarms.txt:2: stp2/slc1: is cleared before it was set, on line 1",
        ),
        (
            "21.11.2014 08:13:14 STP-2 SLC-1 congested\n21.11.2014 08:10:14 STP-2 SLC-1 congestion cleared\n",
            "alarms.txt:2: stp2/slc1: is cleared before it was set, on line 1",
        ),
    ],
)
def test_traps_that_cannot_be(log: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parsed(log)


@pytest.mark.parametrize(
    "cut",
    [
        "08:20:14 STP-3 SLC-3 congestion",
        "08:20:14 STP-3 SLC-3 congestion cl",
        "08:20:14 STP-3 SLC-3 cong",
        "08:20:14 congestion cleared on STP-3 SLC-1",
    ],
)
def test_a_log_cut_in_mid_line_is_refused(cut: str) -> None:
    """`congestion cleared` cut after its first word would be an alarm that is set; a second digit may be missing."""
    before = "08:13:14 STP-3 SLC-3 congestion\n"
    with pytest.raises(InputError, match=r"alarms\.txt:2: may be cut: the file ends without a line end after '08:20"):
        parsed(before + cut)
    assert parsed(f"{before}{cut}\n").traps


@pytest.mark.parametrize(
    "whole", ["08:20:14 STP-3 SLC-3 congestion cleared", "08:20:14 STP-3 SLC-2 congestion: set.", "end of log"]
)
def test_a_last_line_that_is_whole_needs_no_line_end(whole: str) -> None:
    before = "08:13:14 STP-3 SLC-3 congestion\n"
    assert parsed(before + whole).alarms() == parsed(f"{before}{whole}\n").alarms()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("21.11.2014", "22.11.2014"),
        ("2014-11-21", "2014-11-22"),
        ("11/21/2014", "11/22/2014"),
        ("21 Nov 2014", "22 Nov 2014"),
        ("Fri Nov 21 2014", "Sat Nov 22 2014"),
    ],
)
def test_an_alarm_over_midnight_keeps_its_days(one: str, other: str) -> None:
    lines = [f"{one} 08:13:14 STP-2 SLC-1 congested", f"{other} 08:13:14 STP-2 SLC-1 congestion cleared"]
    for log in (lines, lines[::-1]):
        found = parsed("\n".join(log) + "\n")
        (alarm,) = found.alarms()
        assert (alarm["set_s"], alarm["cleared_s"]) == (29594.0, 29594.0 + 86400.0)
        assert traps.dump([alarm], found.first_day).endswith(",2014-11-21 08:13:14,2014-11-22 08:13:14\n")


def test_dates_of_a_table(tmp_path: Path) -> None:
    table = "end,attach requests count\n2014-11-21 08:00,60\n2014-11-22 08:00,120\n"
    assert read(tmp_path, table)[0].end_s == (8 * 3600, 32 * 3600)
    for wrong in ("2014-02-31 08:00", "2014-11-21 25:00", "2014-11-21 24:01", "2014-11-21 08:60"):
        with pytest.raises(InputError, match=r"table.csv:2: end: must (be a time|have a date)"):
            read(tmp_path, table.replace("2014-11-21 08:00", wrong))


def figures_of(tmp_path: Path, *rows: str, gate: float | None = None) -> list[figures.Figure]:
    file = tmp_path / "figures.csv"
    file.write_text("\n".join(["quantity,value,unit", *rows]) + "\n")
    return figures.read(file, gate)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["sctp-rto-max,5,"], "ambiguous: 5 is 0.5 s if it counts in 100 ms, as the command does, or 5 s"),
        (["sctp-rto-max,5,100ms", "sctp-rto-max,5,s"], "given twice.*line 2: 500 ms; line 3: 5000 ms"),
        (["queue limit,8000,messages", "queue limit,5000,messages"], "8,000 and 5,000 are two marks of one queue"),
        (
            ["offered rate,12164,1/s", "gate rate,500,1/s", "rejected rate,9000,1/s"],
            "fits no setting.*turns away 11,664",
        ),
        (
            ["offered rate,12164,1/s", "nop_rate,500,1/s", "rejected rate,9000,1/s"],
            "fits no setting.*turns away 11,664",
        ),
        (["messages per attach,8,"], "one way or both ways.*4 by the GPRS procedure"),
        (["attempts,many,"], "must be a number"),
        (["peak request rate,180,"], "must be a rate"),
        (["convergence time,2,"], "unit of time"),
        (["atempts,2,"], "Did you mean attempts"),
        (["convergence time,-120,s"], "at least 0 and finite"),
    ],
)
def test_figures_that_can_be_read_two_ways_are_asked(tmp_path: Path, rows: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        figures_of(tmp_path, *rows)


def test_figures(tmp_path: Path) -> None:
    found = figures_of(tmp_path, "attempts,10580,", "convergence time,2,min", "sctp-rto-max,5,100ms")
    assert {one.name: one.value for one in found} == {"attempts": 10580, "convergence time": 120, "rto-max": 500}
    with pytest.raises(InputError, match="fits no setting"):
        figures_of(tmp_path, "offered rate,12164,1/s", "rejected rate,9000,1/s", gate=500)
    assert len(figures_of(tmp_path, "offered rate,12164,1/s", "rejected rate,11664,1/s", gate=500)) == 2
