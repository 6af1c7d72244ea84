"""Figures as files: their numbers, and pictures where there is a browser."""

import csv
import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.report import files, write_figures
from tests.experiments.recommendation_data import MORE
from tests.experiments.report.run_folder import write_links, write_run

NAMES = {
    "headline", "requests", "admitted", "registered", "queue-gate", "queue-pcrf", "survival", "storms", "ranges",
    "importance", "profile-nop-rate", "profile-nop-wait-s", "profile-nop-action", "map", "pareto",
}  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def test_every_figure_has_its_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", **MORE)
    made = write_figures(run, tmp_path / "out", ["csv"])
    assert {file.stem for file in made} == NAMES
    assert {file.suffix for file in made} == {".csv"}
    assert set(tmp_path.joinpath("out").iterdir()) == set(made)
    curve = rows(tmp_path / "out" / "requests.csv")
    assert list(curve[0]) == ["series", "time from the scenario's start [s]", "requests per s"]
    median = [row for row in curve if row["series"] == "present"]
    assert [row["time from the scenario's start [s]"] for row in median[:3]] == ["1", "2", "3"]
    assert [float(row["requests per s"]) for row in median[:2]] == [102.0, 99.5]
    assert {row["series"] for row in curve} >= {"present, 10th percentile", "recommended, 90th percentile"}
    first = rows(tmp_path / "out" / "map.csv")[1]
    assert first == {"nop_wait_s [s]": "10", "nop_rate [per s]": "50", "value [s]": "24.5"}
    matter = rows(tmp_path / "out" / "importance.csv")
    assert {row["series"] for row in matter} == {"what turning it changes", "how good trials differ (PED-ANOVA)"}
    assert matter[0] == {"series": "what turning it changes", "share of all knobs [%]": "91", "knob": "nop_rate"}
    differ = {row["knob"]: row["share of all knobs [%]"] for row in matter if "PED-ANOVA" in row["series"]}
    assert differ == {"nop_rate": "40", "nop_wait_s": "10", "nop_queue_wait_s": "30", "nop_action": "20"}
    headline = rows(tmp_path / "out" / "headline.csv")[1]
    assert (headline["T, the time to converge [s]"], headline["low"], headline["high"]) == ("26", "25", "27")


def test_times_of_day_stay_times_of_day(tmp_path: Path) -> None:
    scenario = {"name": "incident", "hash": "0f", "clock_start": "23:59", "count_from_s": 10.0}
    run = write_run(tmp_path / "run", scenario=scenario)
    write_links(run / "series.csv")
    write_figures(run, tmp_path / "out", ["csv"])
    shares = rows(tmp_path / "out" / "congestion-present.csv")
    assert shares[0] == {"time of day [hh:mm]": "23:59:01", "link": "stp1/slc1", "value [% of storms]": "0"}
    assert shares[-1] == {"time of day [hh:mm]": "23:59:40", "link": "stp2/slc1", "value [% of storms]": "100"}


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--format: must be some of svg, png, csv, but got 'pgn'\. Did you mean png"):
        write_figures(write_run(tmp_path / "run"), tmp_path / "out", ["pgn"])
    assert not (tmp_path / "out").exists()


def test_what_is_missing_for_pictures_is_said_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"need the package kaleido.*signalstorm\[figures\].*--format csv"):
        write_figures(write_run(tmp_path / "run"), tmp_path / "out")
    monkeypatch.undo()
    if find_spec("kaleido") is not None:
        monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
        with pytest.raises(InputError, match=r"need Chrome or Chromium.*BROWSER_PATH; or .*--format csv"):
            write_figures(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.browser
def test_pictures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("kaleido", reason="pip install 'signalstorm[figures]'")
    if not Path("/usr/bin/chromium").exists():
        pytest.skip("there is no browser")
    run = write_run(tmp_path / "run", series=False)
    made = write_figures(run, tmp_path / "out", ["svg", "png"])
    assert {file.name for file in made} >= {"headline.svg", "headline.png", "storms.svg", "survival.png"}
    svg = (tmp_path / "out" / "survival.svg").read_text("utf-8")
    for words in ("Storms that are not over yet (Kaplan-Meier)", "storms not over yet [% of storms]", "T [s]"):
        assert words in svg
    assert (tmp_path / "out" / "survival.png").read_bytes().startswith(b"\x89PNG")


def test_the_gallery_shows_figures_that_there_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "gallery.md").read_text("utf-8")
    links = re.findall(r"!\[([^\]]+)\]\(gallery/(?:incident-2014|lab-pcrf)/([^)]+)\.svg\)", page)
    assert len(links) == page.count("![") > 15
    of_links = {"cpu-imsimgr", "detaches", "alarms", "congestion-present", "congestion-recommended", "stp2-slc1-rate"}
    for name, file in links:
        assert name == file
        assert file in NAMES | of_links | {"stp2-slc1-queue", "profile-rto-max-ms"}
