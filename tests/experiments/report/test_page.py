"""The page: what it says, that it says it safely, and that it needs nothing from outside."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs_version

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.export import write
from signalstorm.experiments.recommendation import Recommendation, save
from signalstorm.experiments.report import write_report
from signalstorm.experiments.report.markup import element, join, raw
from tests.experiments.recommendation_data import MORE, recommendation
from tests.experiments.report.run_folder import write_links, write_run

ROOT = Path(__file__).parents[3]
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The page as a browser reads it, roughly: text, elements and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        self.open += [] if tag in ("meta", "br", "hr") else [tag]
        if tag == "script" and dict(attrs).get("type") is None:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["script"] and self.open[-1:] != ["style"]:
            self.text += f"{data} "
        elif self.open[-1] == "script" and self.attributes[-1][1].get("type") is None:
            self.scripts[-1] += data


def test_plotly_js_is_the_one_that_the_pinned_plotly_draws_with() -> None:
    script = resources.files("signalstorm.experiments.report") / "plotly" / "plotly-cartesian.min.js"
    pinned = re.search(r"^plotly==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    if version("plotly") != pinned[1]:
        pytest.skip("another plotly than the pinned one is installed")
    assert f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}\n" in script.read_text("utf-8")[:200]


def page(folder: Path) -> Page:
    path = write_report(folder)
    assert path == folder / "report.html"
    text = path.read_text("utf-8")
    assert len(text) < 2_500_000
    found = Page(text)
    assert found.open == []
    return found


def test_the_page_says_it_all(tmp_path: Path) -> None:
    found = page(write_run(tmp_path))
    text = re.sub(r"\s+", " ", found.text)
    for part in (
        "Never worse : The recommended setting ends the storm in 26.0 s instead of 128.0 s.",
        "128 s (90 s to not reached) 26 s (25 s to 27 s)",
        "150.5 s 26.1 s",
        "Not converged within the horizon 15 % 0 %",
        "Not converged within the horizon 25 % 0 %",
        "the fluid limit: only chance is quicker 20 s 20 s",
        "Worst ratio of T recommended over present, storm by storm 0.92 ×",
        "50 to 66 per s",
        "drop, reject-congestion",
        "what-if: no command sets it",
        "mme-new-connections-per-second 60 action attach drop",
        "default network-overload-protection mme-new-connections-per-second",
        "Present setting overload: up to 167 requests/s meet a policy server of 50/s The search nothing better",
        "4.5 to 10 s of the rate",
        "5 storms present, 5 storms recommended; each point is a mean over 1 s.",
        "signalstorm tune lab-pcrf --out runs/lab-pcrf",
        "0f1e2d3c",
        "nop_rate 80 %",
        "400 trials, 211 of them feasible; TPE, seed 0; 61.5 s",
        "storms of the search 0-3, 17, 40",
        "torch -",
    ):
        assert part in text
    assert text.index("Never worse") < text.index("What changes for the storm")


def test_the_headline_carries_the_figures_and_says_from_when_t_counts(tmp_path: Path) -> None:
    scenario = {"name": "incident", "hash": "0f", "clock_start": "06:25", "count_from_s": 5700.0}
    found = page(write_run(tmp_path, scenario=scenario, **MORE))
    text = re.sub(r"\s+", " ", found.text)
    head = text[: text.index("What changes for the storm")]
    for part in (
        "T, median of 4 storms as they are present 128 s, over at 08:02 recommended 26 s, over at 08:00",
        "Lower bound of T 20 s",
        "Restricted mean of T, 4 held-out storms present 225 s recommended 26.5 s",
        "Held-out storms that get worse 0 of 4 worst ratio to the present setting 0.92",
        "T counts from 08:00, 5,700 s after the scenario's start at 06:25; the horizon is at 08:10, which is T = 600 s",
    ):
        assert part in head
    assert "The dotted line is where T starts to count" in text


def test_alarms_are_told_by_the_time_of_day(tmp_path: Path) -> None:
    scenario = {"name": "incident", "hash": "0f", "clock_start": "06:25", "count_from_s": 10.0}
    folder = write_run(tmp_path / "clocked", scenario=scenario)
    write_links(folder / "series.csv")
    words = "stp2/slc1 congestion first set at {}, still up at the end in 5 of 5 storms, set once never"
    assert words.format("06:25:22") in re.sub(r"\s+", " ", page(folder).text)
    write_links(write_run(tmp_path / "plain") / "series.csv")
    text = re.sub(r"\s+", " ", page(tmp_path / "plain").text)
    assert words.format("22 s") in text
    assert "Times are from the scenario's start, medians over the storms" in text
    assert "Which alarms come up" not in page(write_run(tmp_path / "calm")).text


def test_what_was_passed_over_is_named_with_the_reason(tmp_path: Path) -> None:
    text = re.sub(r"\s+", " ", page(write_run(tmp_path, **MORE)).text)
    assert (
        "Quicker on the storm as it is, but passed over nop_rate=64 (trial 12) ends the storm as it is in 24.5 s"
        in text
    )
    assert "not recommended because it is worse than the present setting on 2 of 48 fresh storms, by up to 12%" in text


def test_both_measures_of_what_a_knob_matters_are_told_apart(tmp_path: Path) -> None:
    text = re.sub(r"\s+", " ", page(write_run(tmp_path / "new", **MORE)).text)
    assert "This is what a knob is worth at the recommended setting." in text
    assert "how unlike all trials of the search the tenth that cost least are in this knob" in text
    assert "nop_rate 91 % 40 % 24 s 590 s" in text
    assert "nop_queue_wait_s - 30 % - -" in text
    older = {key: value for key, value in MORE.items() if key != "ped_anova"}
    text = page(write_run(tmp_path / "old", **older)).text
    assert "What turning it changes" in text
    assert "PED-ANOVA" not in text


def test_the_contents_lead_to_every_section(tmp_path: Path) -> None:
    found = page(write_run(tmp_path, **MORE))
    ids = {attributes["id"] for tag, attributes in found.attributes if tag == "section"}
    links = [attributes["href"] for tag, attributes in found.attributes if tag == "a"]
    assert {f"#{name}" for name in ids} == set(links)
    names = [attributes["id"] for _, attributes in found.attributes if "id" in attributes]
    assert len(set(names)) == len(names)


def test_a_long_pareto_set_is_cut_in_the_page(tmp_path: Path) -> None:
    points = [
        {"trial": i, "override": {"nop_rate": 50 + i}, "values": {"time": 1.0 + i, "refused_share": 1.0 - i / 300}}
        for i in range(300)
    ]
    text = page(write_run(tmp_path, **MORE | {"pareto": points})).text
    assert "300 settings on the Pareto front, the 100 quickest" in text
    assert "nop_rate=149" in text


def test_the_page_loads_nothing_and_runs_its_own_scripts_only(tmp_path: Path) -> None:
    found = page(write_run(tmp_path))
    for tag, attributes in found.attributes:
        assert tag not in ("link", "iframe", "img", "object")
        assert not {"src", "onclick", "onload"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")  # to a place on the page, nowhere else
    policy = next(a["content"] for _, a in found.attributes if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in found.scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_whatever_a_record_holds_is_shown_as_text(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "scenario": {"name": EVIL, "hash": EVIL},
        "verdict": EVIL,
        "diagnosis": [EVIL],
        "importance": {EVIL: 0.5},
        "versions": {EVIL: EVIL},
    }
    changes["held_out"] = recommendation()["held_out"]
    changes["held_out"]["storms"][0]["fields"] = {EVIL: 1.0}
    folder = write_run(tmp_path, **changes)
    (folder / "command.txt").write_text(f"{EVIL}</dd>")
    write(folder, folder, ["staros"])
    with (folder / "staros.cfg").open("a") as file:
        file.write(f"{EVIL}</pre>")
    found = page(folder)
    assert len(found.scripts) == 2
    assert found.text.count(EVIL) >= 9
    assert not any("alert(1)" in script for script in found.scripts)


def test_files_of_an_older_recommendation_are_not_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path, verdict="An older one.")
    write(folder, folder, ["staros"], release=19)
    assert "StarOS release: 19" in page(folder).text
    text = page(write_run(folder)).text
    assert "An older one" not in text
    assert "StarOS release: not named" in text


@pytest.mark.parametrize("name", ["staros.cfg", "command.txt"])
def test_a_damaged_file_of_the_run_is_named(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path)
    (folder / name).write_bytes(b"\xff\xfe\x00" * 9)
    with pytest.raises(InputError, match=f"{name}: cannot be read: is not UTF-8 text"):
        write_report(folder)
    assert not (folder / "report.html").exists()


def test_a_worse_setting_is_said_first(tmp_path: Path) -> None:
    found = page(write_run(tmp_path, never_worse=False))
    assert re.search(r"Recommended setting for lab-pcrf\s+Worse on a held-out storm", found.text)
    assert "refuses this setting" in found.text
    assert "network-overload-protection" not in found.text
    write(tmp_path, tmp_path, ["staros"], force=True)
    assert "WORSE THAN THE PRESENT SETTING" in page(tmp_path).text


@pytest.mark.parametrize("name", ["seeds.json", "trials.csv"])
def test_a_changed_file_of_the_search_is_shown(tmp_path: Path, name: str) -> None:
    """Storms and trials are evidence too: their hashes are in the record."""
    for file in ("seeds.json", "trials.csv"):
        (tmp_path / file).write_text("as the search wrote it", "utf-8")
    hashes = {file: hashlib.sha256(b"as the search wrote it").hexdigest() for file in ("seeds.json", "trials.csv")}
    record = Recommendation.model_validate(recommendation()).sealed(hashes)
    save(record, tmp_path)
    assert "Altered" not in page(tmp_path).text
    (tmp_path / name).write_text("otherwise", "utf-8")
    assert f"changed after the search had written it ({name})" in page(tmp_path).text
    with pytest.raises(InputError, match=f"but got changes in {name}"):
        write(tmp_path, tmp_path)


def test_what_was_changed_by_hand_is_said_first(tmp_path: Path) -> None:
    sealed = Recommendation.model_validate(recommendation()).sealed().model_dump(mode="json")
    sealed["nominal"]["lower_bound_s"] = 1.0
    found = page(write_run(tmp_path, **sealed))
    assert re.search(r"Recommended setting for lab-pcrf\s+Altered : changed after .*\(nominal\)", found.text)


def test_a_run_with_little_in_it_still_gives_a_page(tmp_path: Path) -> None:
    held_out = recommendation()["held_out"] | {"storms": [], "worst_ratio": None}
    changes: dict[str, Any] = {
        "held_out": held_out,
        "importance": None,
        "diagnosis": [],
        "safe_interval": {},
        "changed": False,
    }
    text = page(write_run(tmp_path, series=False, **changes)).text
    assert "No change" in text
    assert "This run has no series.csv" in text
    assert "This run kept no held-out storms" in text


def test_no_recommendation_no_page(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no recommendation\.json, so it is not"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_markup_escapes_all_but_itself() -> None:
    assert element("p", "a < b & c", title='"x"', data_a_b="1", hidden=True, open=False) == (
        '<p title="&quot;x&quot;" data-a-b="1" hidden>a &lt; b &amp; c</p>'
    )
    assert join(element("br"), "<br>") == "<br>&lt;br&gt;"
    with pytest.raises(ValueError, match="must not hold </script"):
        raw("script", "'</SCRIPT>'")
