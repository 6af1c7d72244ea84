"""Storm curves: percentiles over seeds, and what is done with long and with broken files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.report.alarm_times import AlarmTimes
from signalstorm.experiments.report.curves import Curves, read_curves
from tests.experiments.report.run_folder import write_series


def test_no_file_means_no_curves(tmp_path: Path) -> None:
    assert read_curves(tmp_path / "series.csv") == Curves()


def test_bands_are_percentiles_over_the_seeds(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv")
    charts = read_curves(tmp_path / "series.csv").charts
    assert [chart.title.split(",")[0] for chart in charts] == [
        "Request rate",
        "Admitted rate",
        "Registered subscribers",
        "Queue of the gate",
        "Queue of pcrf",
    ]
    assert [(band.setting, band.part) for band in charts[-1].bands] == [
        ("present", ""),
        ("recommended", ""),
        ("present", "stale part"),
        ("recommended", "stale part"),
    ]
    present, recommended = charts[0].bands
    assert (present.seeds, present.mean_over_s, present.time_s.size, recommended.time_s.size) == (5, 1.0, 40, 20)
    assert (present.low[0], present.median[0], present.high[0]) == pytest.approx((100.4, 102.0, 103.6))


def test_long_curves_become_means(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv", times=1300, interval_s=60.0)
    present, _ = read_curves(tmp_path / "series.csv").charts[0].bands
    assert present.time_s.size == 1300 // 5
    assert (present.mean_over_s, present.time_s[0]) == (300.0, 300.0)
    assert present.median[0] == pytest.approx(102 - 200 / 1300)
    assert not np.isnan(present.median).any()


def test_a_storm_that_is_over_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    rows = [f"present,{seed},{time},handsets,request rate,1/s,{10 + seed}" for seed in (0, 1) for time in (1, 2)]
    path.write_text("\n".join(["setting,seed,time_s,element,quantity,unit,value", *rows[:-1]]) + "\n")
    ((band,),) = (chart.bands for chart in read_curves(path).charts)
    assert band.median.tolist() == [10.5, 10.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed,time_s\n", "must have the columns setting, seed, time_s"),
        ("setting,seed,time_s,element,quantity,unit,value\npresent,0,1,a,b,c,many\n", r"series\.csv:2: must hold"),
        ("setting,seed,time_s,element,quantity,unit,value\npresent,0\n", r"series\.csv:2: must hold"),
        *((f"setting,seed,time_s,element,quantity,unit,value\npresent,0,{odd}\n", r"series\.csv:2: must hold")
          for odd in ("-1,a,b,c,1", "1,a,b,c,nan", "1,a,b,c,1e999", "1,a,b,c,1,1", "1,a,b,c,\x00")),
        ("x" * 200_000, r"series\.csv:1: is no CSV"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "series.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_curves(tmp_path / "series.csv")


@pytest.mark.parametrize(("make", "reason"), [
    (lambda path: path.write_bytes(b"\xff\xfe\x00" * 9), "is not UTF-8 text"),
    (lambda path: path.mkdir(), "Is a directory"),
])  # fmt: skip
def test_what_is_no_text_is_named(tmp_path: Path, make: Callable[[Path], object], reason: str) -> None:
    make(tmp_path / "series.csv")
    with pytest.raises(InputError, match=f"series\\.csv: cannot be read: {reason}"):
        read_curves(tmp_path / "series.csv")


def row(setting: str, seed: int, time_s: float, element: str, quantity: str, value: float) -> str:
    return f"{setting},{seed},{time_s},{element},{quantity},on,{value}"


def written(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(["setting,seed,time_s,element,quantity,unit,value", *rows]) + "\n")
    return path


def test_alarms_are_counted_from_their_edges(tmp_path: Path) -> None:
    rows = [row(setting, seed, time, "handsets", "request rate", 1.0)
            for setting in ("present", "recommended") for seed in (0, 1) for time in (10, 20, 30, 40)]  # fmt: skip
    rows += [row("present", seed, 12 + seed, "stp1/slc1", "congestion alarm", 1) for seed in (0, 1)]
    rows += [row("present", 0, 31, "stp1/slc1", "congestion alarm", 0)]
    rows += [row("present", seed, 20, "imsimgr", "cpu warn alarm", 1) for seed in (0, 1)]
    chart = next(c for c in read_curves(written(tmp_path / "series.csv", rows)).charts if c.name == "alarms")
    (band,) = chart.bands  # under the recommended setting there are none
    assert (band.setting, band.seeds) == ("present", 2)
    assert band.median.tolist() == [0.0, 2.0, 2.0, 1.5]


def test_alarms_are_told_with_their_times(tmp_path: Path) -> None:
    rows = [row(setting, seed, 10, "handsets", "request rate", 1.0)
            for setting in ("present", "recommended") for seed in range(4)]  # fmt: skip
    for seed, first, last, again in ((0, 12, 31, None), (1, 14, 33, 40), (3, 20, 35, None)):
        rows += [row("present", seed, first, "stp1/slc1", "congestion alarm", 1),
                 row("present", seed, last, "stp1/slc1", "congestion alarm", 0)]  # fmt: skip
        rows += [row("present", seed, again, "stp1/slc1", "congestion alarm", 1)] if again else []
    rows += [row("recommended", 2, 5, "imsimgr", "cpu warn alarm", 1)]
    found = read_curves(written(tmp_path / "series.csv", rows)).alarms
    assert [(alarm.element, alarm.kind) for alarm in found] == [("imsimgr", "cpu warn"), ("stp1/slc1", "congestion")]
    assert found[0].times == {"recommended": AlarmTimes(storms=1, of=4, first_s=5.0, last_s=None, sets=1)}
    assert found[1].times == {"present": AlarmTimes(storms=3, of=4, first_s=14.0, last_s=35.0, sets=1)}


def test_links_become_maps_and_charts(tmp_path: Path) -> None:
    rows = []
    for setting, times in (("present", (10, 20)), ("recommended", (10,))):
        for link, on in (("stp1/slc1", 0), ("stp1/slc2", 1)):
            for seed in (0, 1):
                for time in times:
                    rows.append(row(setting, seed, time, link, "congested", on * (seed if time == 10 else 1)))
                    rows.append(row(setting, seed, time, link, "tx rate", 5.0 + seed))
                    rows.append(row(setting, seed, time, link, "rx rate", 4.0))
                    rows.append(row(setting, seed, time, link, "waiting", 7.0 * on))
    curves = read_curves(written(tmp_path / "series.csv", rows))
    assert [found.setting for found in curves.congestion] == ["present", "recommended"]
    assert curves.congestion[0].links == ("stp1/slc1", "stp1/slc2")
    assert curves.congestion[0].share.tolist() == [[0.0, 0.0], [0.5, 1.0]]
    assert [chart.name for chart in curves.links] == ["stp1-slc1-rate", "stp1-slc2-rate", "stp1-slc2-queue"]
    parts = [(band.setting, band.part, band.median[0]) for band in curves.links[0].bands]
    assert parts == [
        ("present", "sent", 5.5), ("recommended", "sent", 5.5), ("present", "received", 4.0),
        ("recommended", "received", 4.0),
    ]  # fmt: skip
