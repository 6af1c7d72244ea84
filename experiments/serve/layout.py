"""Layout: the parts of the page as Dash components; everything that is text is escaped by the browser's framework."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import dcc, html

from signalstorm import __version__
from signalstorm.experiments.clock import counted_of
from signalstorm.experiments.report.drawing import DARK, LIGHT
from signalstorm.experiments.serve.answers import Row
from signalstorm.experiments.serve.controls import Control, event_kinds
from signalstorm.experiments.serve.sources import Opened, Sources

FILES = (
    "setting.yaml", "setting.json", "scenario.yaml", "staros.cfg", "staros-rollback.cfg", "staros-gateway.cfg",
    "staros-gateway-rollback.cfg",
)  # fmt: skip
"""What can be downloaded; the files for the gateway where something changes there."""
_LINES = (
    "Lines: median over the storms; bands: 10th to 90th percentile. Present dashed, changed solid. "
    "A curve ends when the last of its storms is over."
)
_LONGEST_NUMBER = 30
"""Characters of a number that is written into the form of an event."""


def page(sources: Sources) -> html.Div:
    """Return the whole page as it is before a source is opened."""
    stores: dict[str, Any] = {
        "base": None,
        "move": None,
        "answer": None,
        "events-added": [],
        "scheme": "light",
        "best": None,
    }
    return html.Div(
        [
            html.Header([html.H1("What if?"), html.P(_ABOUT)]),
            html.Div(
                [html.Div([_source(sources), _knobs(), _events(), _downloads()], id="controls"), _results()],
                id="columns",
            ),
            html.Footer(f"signalstorm {__version__}"),
            *(dcc.Store(id=name, data=data) for name, data in stores.items()),
            dcc.Store(id="colours", data={"light": LIGHT, "dark": DARK}),
            dcc.Store(id="kinds", data=event_kinds()),
            *(
                html.Div(id=name, hidden=True)
                for name in ("announcement", "opened", "sent", "said", "reset-done", "used")
            ),
            dcc.Interval(id="poll", interval=700, disabled=True),
        ],
        lang="en",
        id="page",
    )


_ABOUT = "Change knobs and events of a storm and see at once what becomes of it."


def _source(sources: Sources) -> html.Section:
    options = [{"label": name, "value": source} for source, name in sources.offered().items()]
    return html.Section(
        [
            html.H2("Storm"),
            *_field(
                "Scenario or run", dcc.Dropdown(options, sources.first, id="source", clearable=False, maxHeight=320)
            ),
            html.Div(id="about"),
            html.Div(id="sweep"),
            html.Div(
                html.Button("Show the best so far", id="use-best", type="button", hidden=True), className="buttons"
            ),
            dcc.Interval(id="watch", interval=2000, disabled=True),
        ]
    )


def _knobs() -> html.Section:
    return html.Section(
        [
            html.H2("Knobs"),
            html.Div(html.Button("Back to the present setting", id="reset", type="button"), className="buttons"),
            html.Div(id={"kind": "message", "of": ""}, className="message", **{"aria-live": "polite"}),
            html.Div(id="knobs"),
        ]
    )


def _events() -> html.Section:
    kinds = [{"label": kind.replace("_", " "), "value": kind} for kind in event_kinds()]
    return html.Section(
        [
            html.H2("Events"),
            html.Fieldset(
                [
                    html.Legend("What happens; untick what is not to happen"),
                    dcc.Checklist([], [], id="events"),
                    html.Div(id="added", className="buttons"),
                    html.P("Nothing happens beside the trigger.", id="no-events", className="note"),
                ]
            ),
            html.Fieldset(
                [
                    html.Legend("Another event"),
                    *_field("Kind", dcc.Dropdown(kinds, "capacity", id="event-kind", clearable=False)),
                    *_field("What it concerns", dcc.Dropdown([], id="event-target", clearable=False)),
                    html.Label("Time from the scenario's start [s]", htmlFor="event-time"),
                    _number("event-time", "60"),
                    html.Label("Value", htmlFor="event-value", id="event-value-label"),
                    _number("event-value", ""),
                    html.Div(html.Button("Add the event", id="event-add", type="button"), className="buttons"),
                ]
            ),
            html.Div(id="event-refused", className="message", **{"aria-live": "polite"}),
            html.Div(id={"kind": "message", "of": "events"}, className="message", **{"aria-live": "polite"}),
        ]
    )


def _downloads() -> html.Section:
    links = [
        html.Li(html.A(name, id={"kind": "get", "of": name}, download=name, href=f"/setting/{name}")) for name in FILES
    ]
    return html.Section(
        [html.H2("Take it with you"), html.Ul(links, className="files"), html.P(_take(), className="note")]
    )


def _take() -> list[Any]:
    tune, validate = (html.Code(f"signalstorm {command}") for command in ("tune", "validate"))
    return ["The setting as shown. Nobody has checked it on other storms: ", tune, " finds settings and ", validate,
            " checks them."]  # fmt: skip


def _results() -> html.Main:
    return html.Main(
        [
            html.P("", id="status", role="status"),
            html.Div(id="table"),
            html.P(_LINES, className="note"),
            html.Div(id="charts"),
            html.Div(id="diagnosis"),
        ]
    )


def _field(label: str, choice: dcc.Dropdown) -> tuple[html.Label, html.Div]:
    """Return a list of choices with its label, which also names it for those who hear the page."""
    name = f"{choice.id}-label"
    group = html.Div(choice, role="group", **{"aria-labelledby": name})
    return html.Label(label, id=name, htmlFor=choice.id), group


def _number(name: str, value: str) -> dcc.Input:
    return dcc.Input(id=name, type="text", value=value, autoComplete="off", debounce=True, maxLength=_LONGEST_NUMBER)


def knob_list(found: Sequence[Control]) -> list[Any]:
    """Return the controls of knobs: those that a search moves, and the others behind a heading that opens."""
    first = [control for control in found if control.tunable] or list(found)
    rest = [control for control in found if control not in first]
    parts: list[Any] = [_knob(control) for control in first]
    if rest:
        parts.append(html.Details([html.Summary(f"{len(rest)} more knobs"), *map(_knob, rest)]))
    return parts


def _knob(control: Control) -> html.Div:
    knob = control.knob
    message = html.Div(id={"kind": "message", "of": knob.name}, className="message", **{"aria-live": "polite"})
    about = [html.Code(knob.name), html.Span(knob.meaning, className="note")]
    if knob.choices:
        options = [{"label": word, "value": word} for word in knob.choices]
        choice = dcc.RadioItems(options, control.start or None, id={"kind": "choice", "of": knob.name})
        return html.Div([html.Fieldset([html.Legend(about), choice]), message], className="knob")
    field, slider = {"kind": "knob", "of": knob.name}, {"kind": "slider", "of": knob.name}
    return html.Div(
        [
            html.Label(about, htmlFor=dom_id(field)),
            html.Div(
                [
                    dcc.Input(id=field, type="text", value=control.start, debounce=0.3, autoComplete="off"),
                    html.Span(knob.unit, className="unit"),
                ],
                className="value",
            ),
            html.Label(
                [
                    html.Span(f"{knob.name}, slider", className="unseen"),
                    dcc.Input(id=slider, type="range", min=0, max=len(control.positions) - 1, step=1, value=0),
                ],
                className="slider",
            ),
            html.Div(f"{knob.range_text}{_how(control)}", className="note"),
            message,
        ],
        className="knob",
    )


def _how(control: Control) -> str:
    change = "" if control.knob.exportable else "; a what-if, no command sets it"
    return f"; change: {control.knob.change}" if control.knob.change != "live" else change


def dom_id(name: Mapping[str, str]) -> str:
    """Return the id that an element gets in the browser."""
    return json.dumps(name, sort_keys=True, separators=(",", ":"))


def chart_list(titles: Mapping[str, str]) -> list[Any]:
    """Return the places of charts."""
    return [
        html.Figure(
            [
                html.H3(title),
                dcc.Graph(
                    id={"kind": "chart", "of": key},
                    figure={"data": [], "layout": {"height": 300}},
                    config={"displaylogo": False, "displayModeBar": False},
                    responsive=True,
                    style={"height": "300px"},
                ),
            ],
            **{"aria-label": f"{title}, over time"},
        )
        for key, title in titles.items()
    ]


def table(rows: Iterable[Row]) -> html.Div:
    """Return the table of figures; changed ones are in bold."""
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("", "present", "changed")]))
    body = [
        html.Tr(
            [
                html.Th(name, scope="row"),
                html.Td(before),
                html.Td(html.Strong(after) if after != before else after),
            ]
        )
        for name, before, after in rows
    ]
    return html.Div(html.Table([head, html.Tbody(body)]), className="scroll", tabIndex="0")


def sentences(title: str, found: Sequence[str]) -> list[Any]:
    """Return a diagnosis; nothing where there is nothing to be said."""
    return [html.H3(title), html.Ul([html.Li(sentence) for sentence in found])] if found else []


def about(opened: Opened) -> list[Any]:
    """Return what is to be said of a source."""
    counted = counted_of(opened.scenario)
    if opened.scenario.convergence.count_from_s > 0:
        counted += " The dotted line in the curves is where it begins."
    parts: list[Any] = [html.P(opened.scenario.description), html.P(counted, className="note")]
    if opened.run is not None:
        words = "setting that it recommends" if opened.override else "present setting"
        parts.append(html.P(f"A run of {opened.scenario.name}. The page opened it with the {words}."))
    if opened.note:
        parts.append(html.P(opened.note, className="message"))
    return parts


def problem(text: str) -> list[Any]:
    """Return what is wrong with a source, a line for each fault."""
    return [html.P(line, className="message") for line in text.splitlines()]
