"""The report in a browser, opened from its file: nothing goes wrong, nothing is fetched, nothing is cut off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalstorm.experiments.report import write_report
from tests.experiments.recommendation_data import MORE
from tests.experiments.report.run_folder import write_links, write_run

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no browser at {CHROMIUM}"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(OPTIONS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    scenario = {"name": "<script>alert(1)</script>", "hash": "0f1e", "clock_start": "06:25", "count_from_s": 10.0}
    folder = write_run(tmp_path_factory.mktemp("run"), scenario=scenario, **MORE)
    write_links(folder / "series.csv")
    return write_report(folder).as_uri()


DRAW_ALL = """async () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const plot of document.querySelectorAll(".plot")) {
    plot.scrollIntoView();
    while (!plot.querySelector(".main-svg")) await new Promise((next) => setTimeout(next, 20));
  }
}"""


class Visit:
    """An opened page and what went wrong on it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a machine may have other work
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.evaluate("document.querySelector('.plot').scrollIntoView()")
        self.page.wait_for_selector(".plot .main-svg")

    def plots(self) -> list[Any]:
        """Open every fold, go down the page until each figure is drawn, and return the figures."""
        self.page.evaluate(DRAW_ALL)
        found: list[Any] = self.page.query_selector_all(".plot")
        return found


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark"), (1920, "light")])
def test_report_opens_from_its_file(browser: Any, report: str, width: int, scheme: str) -> None:
    visit = Visit(browser, report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert "<script>alert(1)</script>" in visit.page.inner_text("h1")
    plots = 0
    for plot in visit.plots():
        outer, inner = plot.bounding_box(), plot.query_selector(".main-svg").bounding_box()
        assert inner["x"] >= outer["x"] - 1
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        plots += 1
    assert plots >= 20
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visit.troubles == []
    assert visit.requests == [report]
    visit.context.close()


def test_no_label_is_cut_off_on_a_phone(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 390, "height": 900})
    texts = ".xtitle, .ytitle, .xtick text, .ytick text, .legendtext, .annotation-text, .cbtitle text"
    beyond = f"""(plot) => {{
      const box = plot.getBoundingClientRect();
      return [...plot.querySelectorAll("{texts}")].filter((text) => {{
        const at = text.getBoundingClientRect();
        return at.width > 0 && (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1);
      }}).map((text) => text.textContent);
    }}"""
    for plot in visit.plots():
        assert plot.evaluate(beyond) == [], plot.get_attribute("data-figure")
    visit.context.close()


def test_nothing_is_cut_off_on_paper(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 688, "height": 990})  # A4 less its margins, at 96 dpi
    visit.plots()
    visit.page.emulate_media(media="print")
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visit.page.wait_for_timeout(500)
    beyond = """[...document.querySelectorAll("main *")].filter((e) => !e.closest("svg")
      && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + " " + e.className)"""
    assert visit.page.evaluate(beyond) == []
    visit.context.close()


def test_legends_cover_no_curve(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 390, "height": 900})
    legend_above = "p => p.querySelector('.legend').getBoundingClientRect().bottom - p.getBoundingClientRect().top"
    for plot in visit.plots():
        if plot.query_selector(".legend") is not None:
            assert plot.evaluate(legend_above) <= plot.evaluate("p => p._fullLayout._size.t") + 1
        assert plot.evaluate("p => p._fullLayout._size.h") >= 100
        assert plot.evaluate("p => p._fullLayout._size.w") >= 160
    visit.context.close()


def test_figures_further_down_wait_until_they_come_near(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    drawn = "document.querySelectorAll('.plot .plot-container').length"
    before = visit.page.evaluate(drawn)
    assert before < visit.page.evaluate("document.querySelectorAll('.plot').length")
    visit.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    # Not `wait_for_function`: from its second look on the page's own policy forbids it to evaluate anything.
    sync_api.expect(visit.page.locator(".plot .plot-container")).not_to_have_count(before, timeout=30_000)
    assert visit.page.evaluate(drawn) > before
    visit.context.close()


def test_the_keyboard_reaches_contents_buttons_and_folds(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "What changes for the storm"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.url.endswith("#change")
    page.get_by_role("button", name="Copy staros.cfg").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    fold = page.locator("details", has_text="Each link")
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    fold.locator(".plot .main-svg").first.wait_for()
    assert visit.troubles == []
    visit.context.close()


def test_copy_button_copies_the_commands(browser: Any, report: str) -> None:
    visit = Visit(browser, report)
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = visit.page.get_by_role("button", name="Copy staros.cfg")
    button.click()
    visit.page.get_by_role("button", name="Copied").wait_for()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("# signalstorm")
    assert "\nconfig\n  network-overload-protection mme-new-connections-per-second 60 " in copied
    assert visit.troubles == []
    visit.context.close()


def test_copy_works_without_the_clipboard_interface(browser: Any, report: str) -> None:
    visit = Visit(browser, report)
    visit.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    visit.page.get_by_role("button", name="Copy staros-rollback.cfg").click()
    visit.page.get_by_role("button", name="Copied").wait_for()
    visit.context.close()


def test_a_dark_page_turns_light_for_print(browser: Any, report: str) -> None:
    visit = Visit(browser, report, color_scheme="dark")
    colour = "getComputedStyle(document.querySelector('.plot .xtitle')).fill"
    folded = "document.querySelector('details .plot').querySelector('.main-svg') === null"
    dark = visit.page.evaluate(colour)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate(colour) == "rgb(27, 31, 36)" != dark
    shown = "[...document.querySelectorAll('.plot')].filter((plot) => plot.checkVisibility())"
    assert visit.page.evaluate(f"{shown}.every((plot) => plot.querySelector('.main-svg'))")
    assert visit.page.evaluate(folded)
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.evaluate(colour) == dark
    assert visit.page.pdf(format="A4").startswith(b"%PDF")
    visit.context.close()
