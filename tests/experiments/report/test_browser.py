"""The report in a browser, opened from its file: nothing goes wrong, nothing is fetched, nothing is cut off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalstorm.experiments.report import write_report
from tests.experiments.report.run_folder import write_run

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
    folder = write_run(tmp_path_factory.mktemp("run"), scenario={"name": "<script>alert(1)</script>", "hash": "0f1e"})
    return write_report(folder).as_uri()


class Visit:
    """An opened page and what went wrong on it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_function("document.querySelectorAll('.plot .main-svg').length > 5")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark"), (1920, "light")])
def test_report_opens_from_its_file(browser: Any, report: str, width: int, scheme: str) -> None:
    visit = Visit(browser, report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert visit.troubles == []
    assert visit.requests == [report]
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "<script>alert(1)</script>" in visit.page.inner_text("h1")
    for plot in visit.page.query_selector_all(".plot"):
        outer, inner = plot.bounding_box(), plot.query_selector(".main-svg").bounding_box()
        assert inner["x"] >= outer["x"] - 1
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
    visit.context.close()


def test_legends_cover_no_curve(browser: Any, report: str) -> None:
    visit = Visit(browser, report, viewport={"width": 390, "height": 900})
    legend_above = "p => p.querySelector('.legend').getBoundingClientRect().bottom - p.getBoundingClientRect().top"
    for plot in visit.page.query_selector_all(".plot"):
        assert plot.evaluate(legend_above) <= plot.evaluate("p => p._fullLayout._size.t") + 1
        assert plot.evaluate("p => p._fullLayout._size.h") >= 120
        assert plot.evaluate("p => p._fullLayout._size.w") >= 240
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
    dark = visit.page.evaluate(colour)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate(colour) == "rgb(27, 31, 36)" != dark
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.evaluate(colour) == dark
    assert visit.page.pdf(format="A4").startswith(b"%PDF")
    visit.context.close()
