"""The page: tables and figures put into one self-contained HTML file that loads nothing."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from plotly.offline import get_plotlyjs

from signalstorm import __version__
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.recommendation import Interaction, Spread, StormRow
from signalstorm.experiments.report.figures import DARK, LIGHT, interaction_map, pareto_front, storm_chart, storm_grid
from signalstorm.experiments.report.markup import Markup, element, join, raw
from signalstorm.experiments.report.tables import Measure, Report, Value

_LINES = (
    "Lines: median over the storms; bands: 10th to 90th percentile. Present dashed, recommended solid. "
    "A curve ends when the last of its storms is over."
)


def render(report: Report) -> str:
    """Return the page as HTML."""
    scripts = [get_plotlyjs(), _asset("page.js")]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"signalstorm {__version__}"),
        element("title", f"{report.scenario}: signalstorm report"),
        raw("style", _asset("page.css")),
    )
    colours = _data("colours", {"light": LIGHT, "dark": DARK})
    main = element("main", *_sections(report))
    body = element("body", main, colours, *(raw("script", script) for script in scripts))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _sections(report: Report) -> Iterable[Markup]:
    yield _verdict(report)
    yield _section("What changes for the storm", *_measures(report))
    yield _section("What to set", *_setting(report))
    yield _section("How the storm runs", *_charts(report))
    yield _section("Held-out storms, one by one", *_storms(report), id="grid")
    if report.diagnosis:
        yield _section("Diagnosis", *_diagnosis(report))
    if report.importance:
        rows = [[element("code", name), f"{100 * share:.0f} %"] for name, share in report.importance]
        yield _section("Which knobs matter", _table(["knob", "how much it matters for being among the best"], rows))
    if report.interaction:
        yield _section("How the two most important knobs work together", *_interaction(report.interaction))
    if len(report.pareto) > 1:
        yield _section("What else could be had", *_pareto(report))
    yield _section("Where this comes from", element("dl", *_provenance(report)))


def _verdict(report: Report) -> Markup:
    good = report.never_worse and not report.altered
    word = "No change" if not report.changed else "Never worse" if report.never_worse else "Worse on a held-out storm"
    lines = [element("p", element("strong", word), ": ", report.verdict)]
    if report.altered:
        parts = ", ".join(report.altered)
        warning = f"changed after the search had written it ({parts}), so the figures may not be those of this setting."
        lines.insert(0, element("p", element("strong", "Altered"), ": ", warning))
    box = element("div", *lines, class_="verdict" if good else "verdict bad")
    return element("header", element("h1", f"Recommended setting for {report.scenario}"), box)


def _measures(report: Report) -> Iterable[Markup]:
    heads = ["", "present", "recommended"]
    caption = f"{report.nominal_storms} storms of the scenario as given, which differ by chance only"
    yield _table(heads, map(_measure, report.nominal), caption, "measures")
    caption = f"{len(report.storms)} storms that the search never saw, varied as the scenario says"
    yield _table(heads, map(_measure, report.held_out), caption, "measures")
    rows = [
        [join(row.label, element("div", row.note, class_="note")), _value(row.value, row.unit)]
        for row in report.comparisons
    ]
    yield _table(["", "recommended against present"], rows, "The same storms, one by one", "measures")


def _measure(row: Measure) -> list[str]:
    label = join(row.label, *((element("div", row.note, class_="note"),) if row.note else ()))
    return [label, _value(row.present, row.unit), _value(row.recommended, row.unit)]


def _value(value: Value, unit: str) -> str:
    match value:
        case None:
            return "not reached" if unit == "s" else "-"
        case bool():
            return "yes" if value else "no"
        case Spread():
            low, median, high = (_value(number, unit) for number in (value.p10, value.median, value.p90))
            return median if low == median == high else f"{median} ({low} to {high})"
    match unit:
        case "share":
            return f"{100 * value:.3g} %"
        case "ratio":
            return f"{value:.3g} ×"
        case _:
            return f"{amount(value)} {unit}"


def _setting(report: Report) -> Iterable[Markup]:
    rows = [
        [
            join(element("code", row.name), element("div", row.meaning, class_="note")),
            row.present,
            row.recommended if not row.changed else element("strong", row.recommended),
            row.safe or "-",
            row.how,
        ]
        for row in report.knobs
    ]
    heads = ["knob", "present", "recommended", "safe interval", "how it is changed"]
    yield _table(heads, rows, "Safe interval: where T stays within 10 % of the best. Changes are in bold.", "stack")
    if not report.files:
        yield element("p", "There are no commands here: `signalstorm export` refuses this setting unless it is forced.")
    for i, (name, text) in enumerate(report.files.items()):
        button = element("button", f"Copy {name}", type="button", data_copy=f"file{i}", hidden=True)
        yield element("div", element("h3", name), button, class_="file")
        yield element("pre", text, id=f"file{i}", tabindex="0", aria_label=name)


def _charts(report: Report) -> Iterable[Markup]:
    if not report.charts:
        yield element("p", "This run has no series.csv, so there are no curves to show.")
        return
    band = report.charts[0].bands[0]
    seeds = ", ".join(dict.fromkeys(f"{b.seeds} storms {b.setting}" for b in report.charts[0].bands))
    yield element("p", f"{_LINES} {seeds}; each point is a mean over {band.mean_over_s:g} s.", class_="note")
    figures = [_figure(f"chart{i}", chart.title, storm_chart(chart)) for i, chart in enumerate(report.charts)]
    yield element("div", *figures, class_="charts")
    yield element("noscript", element("p", "The curves need JavaScript; the tables do not."))


def _storms(report: Report) -> Iterable[Markup]:
    if not report.storms:
        yield element("p", "This run kept no held-out storms.")
        return
    worse = sum(storm.worse for storm in report.storms)
    count = f"Worse: {worse} of {len(report.storms)}."
    yield element("p", f"A mark per storm; below the diagonal the recommended setting is better. {count}")
    yield _figure("storms", "T under both settings", storm_grid(report.storms, report.horizon_s))
    fields = list(dict.fromkeys(path for storm in report.storms for path in storm.fields))
    heads = ["storm", "present", "recommended", "lower bound", "ratio", *fields]
    rows = [_storm(storm, fields) for storm in report.storms]
    yield element("details", element("summary", "All held-out storms as a table"), _table(heads, rows))


def _storm(storm: StormRow, fields: Iterable[str]) -> list[str]:
    times = [_value(t, "s") for t in (storm.present_s, storm.recommended_s, storm.lower_bound_s)]
    ratio = "-" if storm.ratio is None else _value(storm.ratio, "ratio")
    return [
        str(storm.number),
        *times,
        f"{ratio}, worse" if storm.worse else ratio,
        *(_plain(storm.fields.get(f)) for f in fields),
    ]


def _plain(value: Any) -> str:
    return amount(value) if isinstance(value, float) else str(value)


def _interaction(found: Interaction) -> Iterable[Markup]:
    yield element(
        "p", f"Mean cost of {found.storms} storms, the other knobs as recommended. Dark is quick.", class_="note"
    )
    yield _figure("interaction", " and ".join(found.knobs), interaction_map(found))


def _pareto(report: Report) -> Iterable[Markup]:
    names = list(dict.fromkeys(name for point in report.pareto for name in point.values))
    rows = [
        [
            ", ".join(f"{knob}={value}" for knob, value in point.override.items()) or "present setting",
            *(amount(point.values[name]) if name in point.values else "-" for name in names),
        ]
        for point in report.pareto
    ]
    caption = "Settings tried of which none is better than another in every column, over the storms of the search."
    yield _figure("pareto", "time and refusals", pareto_front(report.pareto))
    table = _table(["setting", *(name.replace("_", " ") for name in names)], rows, caption)
    yield element("details", element("summary", f"{len(rows)} settings on the Pareto front"), table)


def _diagnosis(report: Report) -> Iterable[Markup]:
    for about, sentences in report.diagnosis.items():
        yield element("h3", about.capitalize())
        yield element("ul", *(element("li", sentence) for sentence in sentences))


def _provenance(report: Report) -> Iterable[Markup]:
    for name, text in (*report.provenance, ("report", f"signalstorm {__version__}")):
        yield element("dt", name)
        yield element("dd", text)


def _section(title: str, *children: str, **attributes: str) -> Markup:
    return element("section", element("h2", title), *children, **attributes)


def _table(heads: Sequence[str], rows: Iterable[list[str]], caption: str = "", kind: str = "plain") -> Markup:
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
    table = element("table", *above, head, element("tbody", *body), class_=kind)
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption or heads[0])


def _figure(name: str, title: str, figure: dict[str, Any]) -> Markup:
    plot = element("div", class_="plot", data_figure=name, role="img", aria_label=title)
    return element("figure", element("h3", title), plot, _data(name, figure))


def _data(name: str, value: Any) -> Markup:
    """Return JSON that a script reads, with no character that could end its element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return raw("script", text, type="application/json", id=name)


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
