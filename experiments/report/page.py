"""The page: tables and figures put into one self-contained HTML file that loads nothing."""

import base64
import hashlib
from collections.abc import Iterable
from importlib import resources

from signalstorm import __version__
from signalstorm.experiments.report.drawing import DARK, LIGHT
from signalstorm.experiments.report.drawings import drawings
from signalstorm.experiments.report.markup import Markup, element, raw
from signalstorm.experiments.report.parts import data
from signalstorm.experiments.report.sections import page_sections
from signalstorm.experiments.report.tables import Report


def render(report: Report) -> str:
    """Return the page of a run as HTML."""
    found = drawings(report)
    main = element("main", *page_sections(report, lambda group: [each for each in found if each.group == group]))
    return document(report.record.scenario.name, main)


def document(title: str, main: Markup) -> str:
    """Return a self-contained page as HTML: what is shown, with the scripts that draw its figures.

    Args:
        title: What the window is called.
        main: Everything that is shown.
    """
    # All of plotly.js takes a browser twice as long to open as the kinds of figures a report has.
    scripts = [_asset("plotly/plotly-cartesian.min.js"), _asset("page.js")]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"signalstorm {__version__}"),
        element("title", f"{title}: signalstorm report"),
        raw("style", _asset("page.css")),
    )
    colours = data("colours", {"light": LIGHT, "dark": DARK})
    body = element("body", main, colours, *(raw("script", script) for script in scripts))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _policy(scripts: Iterable[str]) -> str:
    """Allow these scripts by their hashes, and nothing from anywhere else."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    styles = "style-src 'unsafe-inline'"  # plotly.js sets styles of its own
    return (
        f"default-src 'none'; script-src {allowed}; {styles}; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
