"""Pieces of the page: sections, tables, figures, and values as people read them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from signalstorm.envs.model.wording import amount
from signalstorm.experiments.recommendation import Spread
from signalstorm.experiments.report.drawings import Drawing
from signalstorm.experiments.report.markup import Markup, element, raw
from signalstorm.experiments.report.survival import Interval
from signalstorm.experiments.report.tables import Value

_LONG_S = 600.0
"""From here on a time is also given in hours and minutes."""


def section(name: str, title: str, *children: str) -> Markup:
    """Return a section that the table of contents can lead to."""
    return element("section", element("h2", title), *children, id=name)


def table(heads: Sequence[str], rows: Iterable[list[str]], caption: str = "", kind: str = "plain") -> Markup:
    """Return a table whose first column names the rows; of the kind ``stack`` rows become lists on a narrow screen."""
    body = (
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", cell, data_head=name) for name, cell in zip(heads[1:], rest, strict=True)),
        )
        for first, *rest in rows
    )
    head = element("thead", element("tr", *(element("th", text, scope="col") for text in heads)))
    above = (element("caption", caption),) if caption else ()
    whole = element("table", *above, head, element("tbody", *body), class_=kind)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption or heads[0])


def figure(drawing: Drawing, note: str = "") -> Markup:
    """Return a figure; a script draws it when it comes into view."""
    height = f"min-height: {drawing.figure['layout']['height']}px"
    plot = element("div", class_="plot", data_figure=drawing.name, role="img", aria_label=drawing.title, style=height)
    below = (element("figcaption", note),) if note else ()
    return element("figure", element("h3", drawing.title), plot, *below, data(drawing.name, drawing.figure))


def data(name: str, content: Any) -> Markup:
    """Return JSON that a script reads, with no character that could end its element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return raw("script", text, type="application/json", id=name)


def fold(title: str, *children: str) -> Markup:
    """Return a part that opens when asked to."""
    return element("details", element("summary", title), *children)


def in_words(value: Value, unit: str) -> str:
    """Return a value with its unit, and with its interval where it has one."""
    match value:
        case None:
            return "not reached" if unit == "s" else "-"
        case bool():
            return "yes" if value else "no"
        case Spread():
            low, middle, high = (in_words(number, unit) for number in (value.p10, value.median, value.p90))
            return middle if low == middle == high else f"{middle} ({low} to {high})"
        case Interval():
            low, middle, high = (in_words(number, unit) for number in (value.low, value.mean, value.high))
            return middle if low == middle == high else f"{middle} ({low} to {high})"
    match unit:
        case "share":
            return f"{100 * value:.3g} %"
        case "ratio":
            return f"{value:.3g} ×"
        case _:
            return f"{amount(value)} {unit}"


def duration(seconds: float) -> str:
    """Return a time in seconds, a long one also in hours and minutes: 5,791 s (1 h 37 min)."""
    text = f"{amount(seconds)} s"
    if seconds < _LONG_S:
        return text
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{text} ({f'{hours} h ' if hours else ''}{minutes} min)"
