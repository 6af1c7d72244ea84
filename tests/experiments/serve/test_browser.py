"""The page in a browser: nothing goes wrong, a knob moves the curve, everything works without a mouse."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

pytest.importorskip("dash", reason="pip install 'signalstorm[web]'")
pytest.importorskip("waitress", reason="pip install 'signalstorm[web]'")

from signalstorm.envs.model import scenario_file
from signalstorm.experiments.run_folder import RunFolder
from tests.experiments.serve.runs import SCRIPT, write_run, write_sweep
from tests.experiments.serve.served import Served, served

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
ANSWERED = re.compile(r"storms each, answered in \d+ ms")
DESCRIPTION = "<script>alert(1)</script>"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no browser at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api.expect.set_options(timeout=60_000)
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(OPTIONS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    """What most visits share, so that the browser loads the page's scripts once."""
    shared = browser.new_context()
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder / SCRIPT)
    write_sweep(folder / "going-on", [120.0, 90.0])
    return folder


@pytest.fixture(scope="module")
def server(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("files") / "<script>alert(1)" / "script>.yaml"
    path.parent.mkdir()
    text = scenario_file.load("lab-pcrf").with_fields({"name": "mine", "description": DESCRIPTION})
    path.write_text(scenario_file.dump(text), "utf-8")
    with served(runs, [path]) as found:
        yield found


class Visit:
    """An opened page, and what went wrong on it."""

    def __init__(self, context: Any, server: Served) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(120_000)  # the machine may be busy
        self.troubles: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("response", lambda r: self.troubles.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        self.page.on("request", lambda r: self.foreign.append(r.url) if not _is_of(r.url, server) else None)
        self.page.goto(server.address)
        self.settled()

    def settled(self) -> None:
        """Wait until the last move is answered and drawn."""
        self.page.get_by_text(ANSWERED).wait_for(timeout=120_000)
        self.page.locator("#charts .js-plotly-plot .scatterlayer path").first.wait_for(state="attached")

    def field(self, name: str) -> Any:
        """Return the field of a knob."""
        return self.page.locator(f"input[id='{json.dumps({'kind': 'knob', 'of': name}, separators=(',', ':'))}']")

    def choose(self, source: str) -> None:
        """Choose a source with the mouse."""
        self.page.locator("#source").click()
        self.page.locator(".dash-dropdown-content").get_by_text(source, exact=True).click()

    def curve(self, chart: str = "requests", name: str = "changed") -> list[float]:
        """Return the values of a curve as it is drawn."""
        place = json.dumps({"kind": "chart", "of": chart}, separators=(",", ":"))
        script = "([id, name]) => document.getElementById(id).querySelector('.js-plotly-plot').data"
        found: list[float] = self.page.evaluate(f"{script}.find(t => t.name === name).y", [place, name])
        return found

    def changed_from(self, before: list[float]) -> list[float]:
        """Wait until the changed curve is another one, and return it."""
        end = time.monotonic() + 60.0
        while (now := self.curve()) == before:
            assert time.monotonic() < end, "the curve did not change"
            self.page.wait_for_timeout(50)
        return now

    def close(self) -> None:
        """Leave, after a look whether anything went wrong."""
        assert self.troubles == []
        assert self.foreign == []
        self.page.close()


def _is_of(url: str, server: Served) -> bool:
    return url.startswith((server.address, "data:", "blob:"))


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark"), (1920, "light")])
def test_nothing_is_cut_off_and_every_axis_has_a_title(browser: Any, server: Served, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    visit = Visit(context, server)
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plots = visit.page.query_selector_all("#charts .js-plotly-plot")
    assert len(plots) >= 5
    for plot in plots:
        outer, inner = plot.bounding_box(), plot.query_selector(".main-svg").bounding_box()
        assert inner["width"] <= outer["width"] + 1
        assert plot.query_selector(".xtitle").text_content().startswith("time from the scenario's start [")
        assert plot.query_selector(".ytitle").text_content()
        for label in plot.query_selector_all(".xtitle, .ytitle, .legendtext, .xtick text, .ytick text"):
            box = label.bounding_box()
            assert box["x"] >= outer["x"] - 1
            assert box["x"] + box["width"] <= outer["x"] + outer["width"] + 1
    visit.close()
    context.close()


def test_the_colours_are_those_of_the_scheme(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    ink = "getComputedStyle(document.querySelector('.xtitle')).fill"
    for scheme, colour in (("dark", "rgb(232, 235, 238)"), ("light", "rgb(27, 31, 36)")):
        visit.page.emulate_media(color_scheme=scheme)
        end = time.monotonic() + 20.0
        while visit.page.evaluate(ink) != colour:
            assert time.monotonic() < end
            visit.page.wait_for_timeout(50)
    visit.close()


def test_a_moved_knob_changes_the_curve_and_leaves_the_present_one(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    present, before = visit.curve(name="present"), visit.curve()
    assert before == present
    visit.field("nop_rate").fill("60")
    after = visit.changed_from(before)
    assert visit.curve(name="present") == present
    assert len(after) < len(before)
    assert visit.page.get_by_label("nop_rate, slider").input_value() == "8"
    visit.page.get_by_label("nop_rate, slider").fill("100")
    visit.changed_from(after)
    assert visit.field("nop_rate").input_value() == "500"
    visit.page.get_by_role("button", name="Back to the present setting").click()
    sync_api.expect(visit.field("nop_rate")).to_have_value("off")
    visit.settled()
    assert visit.changed_from(after) == present
    visit.close()


def test_a_slider_asks_once_per_move_and_all_charts_follow(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    asked: list[str] = []
    visit.page.on("request", lambda r: asked.append(r.post_data) if "answer.data" in (r.post_data or "") else None)
    charts = ("requests", "admitted", "registered", "gate", "queue-pcrf")
    before = {chart: visit.curve(chart) for chart in charts}
    slider = visit.page.get_by_label("nop_rate, slider")
    slider.focus()
    visit.page.keyboard.press("Home")
    visit.changed_from(before["requests"])
    slider.fill("8")
    end = time.monotonic() + 60.0
    while any(visit.curve(chart) == before[chart] for chart in charts):
        assert time.monotonic() < end, "a chart did not follow"
        visit.page.wait_for_timeout(50)
    sync_api.expect(visit.field("nop_rate")).to_have_value("60")
    visit.page.wait_for_timeout(500)
    assert len(asked) == 2
    visit.close()


def test_enter_need_not_wait_for_another_key(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    asked: list[str] = []
    visit.page.on("request", lambda r: asked.append(r.url) if "answer.data" in (r.post_data or "") else None)
    visit.field("nop_rate").focus()
    visit.field("nop_rate").fill("61")
    visit.page.keyboard.press("Enter")
    visit.changed_from(before)
    visit.page.wait_for_timeout(500)
    assert len(asked) == 1
    visit.close()


def test_a_wrong_value_shows_the_message_of_the_knob_table(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    visit.field("nop_rate").fill("7")
    message = visit.page.get_by_text("must be a whole number, 50 to 5000 per s, or off")
    message.wait_for()
    assert visit.field("nop_rate").get_attribute("aria-invalid") == "true"
    assert visit.page.locator("#status").inner_text().startswith("Not simulated")
    assert visit.page.get_by_role("link", name="setting.yaml").count() == 0
    assert visit.curve() == before
    visit.field("nop_rate").fill("70")
    message.wait_for(state="detached")
    visit.changed_from(before)
    visit.close()


def test_the_downloaded_setting_equals_the_shown_one(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    visit.field("nop_rate").fill("61")
    visit.field("nop_wait_s").fill("15")
    visit.changed_from(before)
    sync_api.expect(visit.field("nop_queue")).to_have_value("915")
    visit.settled()
    with visit.page.expect_download() as waited:
        visit.page.get_by_role("link", name="setting.yaml").click()
    setting = yaml.safe_load(Path(waited.value.path()).read_text("utf-8"))
    visit.page.get_by_text("more knobs").click()
    for name, value in setting.items():
        if visit.field(name).count():
            assert visit.field(name).input_value() == str(value), name
        else:
            assert visit.page.get_by_label(str(value), exact=True).is_checked(), name
    with visit.page.expect_download() as waited:
        visit.page.get_by_role("link", name="staros.cfg", exact=True).click()
    assert "mme-new-connections-per-second 61 " in Path(waited.value.path()).read_text("utf-8")
    visit.close()


def test_names_that_look_like_scripts_are_text(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    assert visit.page.locator("#about p").first.inner_text() == DESCRIPTION
    assert "<script>alert(1)" in visit.page.locator("#source").inner_text()
    visit.choose(f"run {SCRIPT}")
    sync_api.expect(visit.field("nop_rate")).to_have_value("60")
    visit.settled()
    assert visit.page.locator("#source").inner_text().strip() == f"run {SCRIPT}"
    assert visit.page.locator("img").count() == 0
    visit.close()


def test_another_scenario_begins_with_its_own_setting(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    visit.field("nop_rate").fill("61")
    visit.page.wait_for_timeout(350)  # the move is on its way, or just answered
    visit.choose("lab-pcrf-nop50")
    visit.page.get_by_text("lab-pcrf-nop50", exact=True).wait_for()
    sync_api.expect(visit.field("nop_rate")).to_have_value("50")
    visit.page.get_by_text("T as at present").wait_for()
    assert visit.changed_from(before) == visit.curve(name="present")
    href = visit.page.get_by_role("link", name="setting.yaml").get_attribute("href")
    assert '"knobs":{}' in unquote(href)
    visit.close()


def test_events_are_added_and_taken_away(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    visit.page.locator("#event-target").click()
    visit.page.locator(".dash-dropdown-content").get_by_text("pcrf", exact=True).click()
    visit.page.get_by_label("Time from the scenario's start [s]").fill("5")
    visit.page.get_by_label("Value: new rate [per s]").fill("200")
    visit.page.get_by_role("button", name="Add the event").click()
    after = visit.changed_from(before)
    visit.page.get_by_label("capacity of pcrf at 5 s: 200").uncheck()
    assert visit.changed_from(after) == before
    visit.page.get_by_label("capacity of pcrf at 5 s: 200").check()
    assert visit.changed_from(before) == after
    visit.page.get_by_role("button", name="Take away: capacity of pcrf at 5 s: 200").focus()
    visit.page.keyboard.press("Enter")
    assert visit.changed_from(after) == before
    assert visit.page.locator("#events input").count() == 0
    assert visit.page.get_by_role("button", name="Take away").count() == 0
    assert visit.page.evaluate("document.activeElement.id") == "event-add"
    visit.close()


@pytest.mark.parametrize(
    ("time_s", "value", "message"),
    [
        ("abc", "20", "Not added. The time must be a number, but is 'abc'."),
        ("-5", "20", "Not added. capacity:gateway@-5=20: must be at least 0 s"),
        ("5", "-1", "Not added. capacity:gateway@5=-1: must be at least 0 per s"),
    ],
)
def test_an_event_that_cannot_be_is_not_listed(
    context: Any, server: Served, time_s: str, value: str, message: str
) -> None:
    visit = Visit(context, server)
    before = visit.curve()
    visit.page.get_by_label("Time from the scenario's start [s]").fill(time_s)
    visit.page.get_by_label("Value: new rate [per s]").fill(value)
    visit.page.get_by_role("button", name="Add the event").click()
    visit.page.get_by_text(message).wait_for()
    assert visit.page.locator("#events input").count() == 0
    visit.field("nop_rate").fill("60")  # what comes afterwards is simulated
    visit.changed_from(before)
    visit.settled()
    visit.page.get_by_label("Time from the scenario's start [s]").fill("5")
    visit.page.get_by_label("Value: new rate [per s]").fill("20")
    visit.page.get_by_role("button", name="Add the event").click()
    visit.page.get_by_label("capacity of gateway at 5 s: 20").wait_for()
    assert visit.page.get_by_text("Not added").count() == 0
    visit.close()


def test_no_limit_is_at_the_lax_end_of_a_slider(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    slider, field = visit.page.get_by_label("nop_rate, slider"), visit.field("nop_rate")
    sync_api.expect(field).to_have_value("off")
    sync_api.expect(slider).to_have_value("201")
    sync_api.expect(slider).to_have_attribute("aria-valuetext", "off")
    slider.focus()
    for key, text, spoken in (
        ("ArrowLeft", "5000", "5000 per s"),
        ("ArrowRight", "off", "off"),
        ("Home", "50", "50 per s"),
        ("End", "off", "off"),
    ):
        visit.page.keyboard.press(key)
        sync_api.expect(field).to_have_value(text)
        sync_api.expect(slider).to_have_attribute("aria-valuetext", spoken)
    visit.settled()
    visit.close()


def test_a_running_sweep_is_watched(context: Any, server: Served, runs: Path) -> None:
    visit = Visit(context, server)
    with RunFolder(runs / "going-on"):
        visit.choose("run going-on")
        visit.page.get_by_text("2 trials of 40, running").wait_for()
        write_sweep(runs / "going-on", [40.0])
        visit.page.get_by_text("3 trials of 40, running. Best 40.0 s against 120.0 s at present").wait_for()
    visit.page.get_by_text("3 trials of 40, not finished, and no process on this machine is running it").wait_for()
    before = visit.curve()
    visit.page.get_by_role("button", name="Show the best so far").click()
    sync_api.expect(visit.field("nop_rate")).to_have_value("52")
    visit.changed_from(before)
    visit.page.get_by_text("The page opened it with the present setting.").wait_for()
    visit.close()


def test_everything_works_by_the_keyboard_alone(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    page = visit.page

    def focused() -> str:
        found: str = page.evaluate("document.activeElement.id || document.activeElement.value || ''")
        return found

    def tab_to(wanted: str, key: str = "Tab") -> None:
        for _ in range(80):
            if focused() == wanted:
                return
            here = page.evaluate_handle("document.activeElement")
            page.keyboard.press(key)
            page.wait_for_function("here => document.activeElement !== here", arg=here)  # a busy page takes a while
        raise AssertionError(f"{wanted} cannot be reached: at {focused()}")

    tab_to("source")
    page.keyboard.press("Enter")
    page.locator(".dash-dropdown-content :focus").wait_for()
    tab_to("scenario:lab-pcrf", "ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Vendor laboratory run C").wait_for()
    visit.settled()
    before = visit.curve()
    tab_to('{"kind":"knob","of":"nop_rate"}')
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("60")
    after = visit.changed_from(before)
    tab_to('{"kind":"slider","of":"nop_rate"}')
    page.keyboard.press("ArrowRight")
    moved = visit.changed_from(after)
    sync_api.expect(visit.field("nop_rate")).to_have_value("62")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "62 per s"
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    tab_to("drop")
    page.keyboard.press("ArrowDown")
    refused = visit.changed_from(moved)
    tab_to("event-time")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("5")
    page.keyboard.press("Tab")
    page.keyboard.type("20")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_label("capacity of gateway at 5 s: 20").wait_for()
    visit.changed_from(refused)
    tab_to("reset", "Shift+Tab")
    page.keyboard.press("Space")
    sync_api.expect(visit.field("nop_rate")).to_have_value("off")
    tab_to('{"kind":"get","of":"setting.yaml"}')
    with page.expect_download() as waited:
        page.keyboard.press("Enter")
    assert yaml.safe_load(Path(waited.value.path()).read_text("utf-8"))["nop_rate"] == "off"
    visit.close()


def test_a_knob_far_down_is_moved_with_the_curves_in_view(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    visit.page.set_viewport_size({"width": 1280, "height": 700})
    slider, curve = visit.page.get_by_label("diameter_tx_s, slider"), visit.page.locator("#charts figure").first
    slider.scroll_into_view_if_needed()
    sync_api.expect(slider).to_be_in_viewport()
    sync_api.expect(curve).to_be_in_viewport()
    visit.close()


def test_every_control_has_a_name(context: Any, server: Served) -> None:
    visit = Visit(context, server)
    nameless = """[...document.querySelectorAll('input:not([aria-hidden=true]), button, a, summary')].filter(
        e => !(e.labels && e.labels.length) && !e.innerText.trim() && !e.getAttribute('aria-label')).map(e => e.id)"""
    assert visit.page.evaluate(nameless) == []
    assert visit.page.evaluate("document.documentElement.lang") == "en"
    visit.close()
