"""Storm curves: percentiles over seeds, and what is done with long and with broken files."""

from pathlib import Path

import numpy as np
import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.report.curves import read_charts
from tests.experiments.report.run_folder import write_series


def test_no_file_means_no_curves(tmp_path: Path) -> None:
    assert read_charts(tmp_path / "series.csv") == []


def test_bands_are_percentiles_over_the_seeds(tmp_path: Path) -> None:
    write_series(tmp_path / "series.csv")
    charts = read_charts(tmp_path / "series.csv")
    assert [chart.title.split(",")[0] for chart in charts] == [
        "Request rate",
        "Admitted rate",
        "Without service",
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
    present, _ = read_charts(tmp_path / "series.csv")[0].bands
    assert present.time_s.size == 1300 // 3
    assert (present.mean_over_s, present.time_s[0]) == (180.0, 180.0)
    assert present.median[0] == pytest.approx(102 - 100 / 1300)
    assert not np.isnan(present.median).any()


def test_a_storm_that_is_over_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    rows = [f"present,{seed},{time},handsets,request rate,1/s,{10 + seed}" for seed in (0, 1) for time in (1, 2)]
    path.write_text("\n".join(["setting,seed,time_s,element,quantity,unit,value", *rows[:-1]]) + "\n")
    ((band,),) = (chart.bands for chart in read_charts(path))
    assert band.median.tolist() == [10.5, 10.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed,time_s\n", "must have the columns setting, seed, time_s"),
        ("setting,seed,time_s,element,quantity,unit,value\npresent,0,1,a,b,c,many\n", r"series\.csv:2: must hold"),
        ("setting,seed,time_s,element,quantity,unit,value\npresent,0\n", r"series\.csv:2: must hold"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "series.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_charts(tmp_path / "series.csv")
