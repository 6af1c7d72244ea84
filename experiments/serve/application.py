"""The application: what the server answers to each move of the page."""

import functools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from dash import ALL, MATCH, ClientsideFunction, Dash, Input, Output, State, no_update
from flask import Response, request
from werkzeug.exceptions import BadRequest, HTTPException, NotFound

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.serve import answers, layout
from signalstorm.experiments.serve.announcements import Announcements
from signalstorm.experiments.serve.controls import controls, targets, timeline
from signalstorm.experiments.serve.downloads import content, names
from signalstorm.experiments.serve.events import EventForm, RefusedEventError, read_event
from signalstorm.experiments.serve.guard import MistakeError, guard
from signalstorm.experiments.serve.moves import ELSEWHERE, RefusedMoveError, changed, knob_text, read_move
from signalstorm.experiments.serve.sources import Opened, Sources
from signalstorm.experiments.serve.storms import Storms
from signalstorm.experiments.serve.sweep_view import sweep_view
from signalstorm.experiments.what_if import EVENT_VALUES

P = ParamSpec("P")
R = TypeVar("R")

_ASSETS = Path(__file__).parent / "assets"
_NO_EVENT = "This is not an event of the what-if page."
_PAGE = "signalstorm"
"""The name of the page's own functions in the browser, see assets/page.js."""

_INDEX = """<!DOCTYPE html>
<html lang="en">
  <head>{%metas%}<title>{%title%}</title>{%favicon%}{%css%}</head>
  <body>{%app_entry%}<div hidden>{%config%}{%scripts%}{%renderer%}</div></body>
</html>
"""


def create_app(sources: Sources, hosts: Collection[str] = ()) -> Dash:
    """Return the page as a Dash application; its ``server`` is a WSGI application.

    Args:
        sources: The scenarios and runs that it offers.
        hosts: Names under which it may be asked for, beside addresses and those of this machine.
    """
    app = Dash(
        __name__,
        title="signalstorm: what if?",
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        assets_folder=str(_ASSETS),
        update_title="",
        suppress_callback_exceptions=True,
        serve_locally=True,
        add_log_handler=False,
        include_pages_meta=False,
        index_string=_INDEX,
    )
    app.layout = _or_mistake(functools.partial(layout.page, sources))
    answerer = _Answerer(sources)
    _in_browser(app)
    _on_server(app, answerer)
    app.server.add_url_rule("/setting/<name>", view_func=_or_mistake(answerer.download), methods=["GET"])
    guard(app.server, hosts, ["'self'", *app.csp_hashes()])
    return app


@dataclass
class _Answerer:
    """Answers moves."""

    sources: Sources
    storms: Storms = field(default_factory=Storms)
    announcements: Announcements = field(default_factory=Announcements)

    def open(self, source: Any) -> tuple[Any, ...]:
        """Open a source: its controls, the places of its charts, and what the page begins with."""
        try:
            opened = self._opened(source)
            found = controls(opened)
        except InputError as error:
            return {"source": source, "broken": True}, [], [], layout.problem(str(error)), [], [], [], None, True
        scenario = opened.scenario
        base = {
            "source": source,
            "present": {control.knob.name: control.present for control in found},
            "start": {control.knob.name: control.start for control in found},
            "positions": {control.knob.name: control.positions for control in found if control.positions},
            "units": {control.knob.name: control.knob.unit for control in found},
        }
        events = [{"label": words, "value": str(i)} for i, words in enumerate(timeline(scenario))]
        about = targets(scenario)
        titles = answers.titles(self.storms.of(scenario, {}))
        return (
            base, layout.knob_list(found), layout.chart_list(titles), layout.about(opened), events,
            [event["value"] for event in events], about, about[0], opened.run is None,
        )  # fmt: skip

    def answer(self, data: Any) -> tuple[Any, ...]:
        """Answer a move: the changed storm beside the present one, or what is wrong with the move."""
        if data is None:
            return no_update, no_update, no_update
        move = read_move(data)
        try:
            scenario = self._opened(move.source).scenario
            now = changed(scenario, move)
            # The present setting meets the scenario's own events: what is added or removed is part of the change.
            before, after = self.storms.of(scenario, {}), self.storms.of(now.scenario, now.override)
        except RefusedMoveError as refused:
            return {"move": data, "messages": refused.messages}, no_update, no_update
        except InputError as error:
            return {"move": data, "messages": {ELSEWHERE: str(error)}}, no_update, no_update
        rows = answers.rows(before, after)
        found: dict[str, Any] = {
            "move": data,
            "headline": answers.headline(rows),
            "messages": {},
            "setting": {name: knob_text(value) for name, value in now.setting.items()},
            "charts": answers.charts(before, after),
            "storms": len(after.result.storms.numbers),
            "files": names(now),
        }
        said = [
            *layout.sentences("At present", before.record["diagnosis"]),
            *layout.sentences("Changed", after.record["diagnosis"]),
        ]
        return found, layout.table(rows), said

    def add(
        self, _clicks: Any, kind: Any, target: Any, time: Any, value: Any, options: Any, kept: Any, source: Any
    ) -> tuple[Any, ...]:
        """Add an event to those listed, ticked, or say why not."""
        fields = ["" if text is None else text for text in (kind, target, time, value)]
        try:
            known = [option["value"] for option in options]
            removed = [int(each) for each in known if "@" not in each and each not in kept]
            ticked = read_move({"source": source, "removed": removed, "added": [each for each in kept if "@" in each]})
        except (TypeError, ValueError, KeyError):
            raise BadRequest(_NO_EVENT) from None
        if kind not in EVENT_VALUES or not all(isinstance(text, str) for text in fields):
            raise BadRequest(_NO_EVENT)
        try:
            text, words = read_event(self._opened(source).scenario, ticked, EventForm(*fields))
        except RefusedEventError as refused:
            return no_update, no_update, f"Not added. {refused}"
        listed = options if text in known else [*options, {"label": words, "value": text}]
        return listed, kept if text in kept else [*kept, text], ""

    def announce(self, _ticks: Any) -> str:
        """Return what the model says while somebody waits: that it is compiled."""
        return self.announcements.latest

    def watch(self, _ticks: Any, source: Any) -> tuple[Any, ...]:
        """Return how the search of a run stands, its best setting so far, and whether there is none to show."""
        try:
            said, best = sweep_view(self._opened(source))
        except InputError:
            said, best = [], {}
        return said, best, not best

    def download(self, name: str) -> Response:
        """Return a file of the setting that a move describes."""
        move = read_move(request.args.get("move", ""))
        try:
            text = content(changed(self._opened(move.source).scenario, move), name)
        except RefusedMoveError as refused:
            raise BadRequest(" ".join(refused.messages.values())) from None
        except InputError as error:
            raise BadRequest(str(error)) from None
        if text is None:
            raise NotFound("There is no such file of this setting.")
        return Response(
            text,
            mimetype="application/json" if name.endswith(".json") else "text/plain",
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )

    def _opened(self, source: Any) -> Opened:
        if not isinstance(source, str):
            raise BadRequest("A source must be a word.")
        try:
            return self.sources.open(source)
        except KeyError:
            raise BadRequest("There is no such scenario or run.") from None


def _on_server(app: Dash, answerer: _Answerer) -> None:
    """Connect what the server answers."""
    app.callback(
        Output("base", "data"), Output("knobs", "children"), Output("charts", "children"), Output("about", "children"),
        Output("events", "options"), Output("events", "value"), Output("event-target", "options"),
        Output("event-target", "value"), Output("watch", "disabled"), Input("source", "value"),
    )(_or_mistake(answerer.open))  # fmt: skip
    app.callback(
        Output("answer", "data"), Output("table", "children"), Output("diagnosis", "children"), Input("move", "data")
    )(_or_mistake(answerer.answer))
    app.callback(
        Output("events", "options", allow_duplicate=True), Output("events", "value", allow_duplicate=True),
        Output("event-refused", "children"), Input("event-add", "n_clicks"), State("event-kind", "value"),
        State("event-target", "value"), State("event-time", "value"), State("event-value", "value"),
        State("events", "options"), State("events", "value"), State("source", "value"), prevent_initial_call=True,
    )(_or_mistake(answerer.add))  # fmt: skip
    app.callback(Output("announcement", "children"), Input("poll", "n_intervals"))(_or_mistake(answerer.announce))
    app.callback(
        Output("sweep", "children"), Output("best", "data"), Output("use-best", "hidden"),
        Input("watch", "n_intervals"), Input("source", "value"),
    )(_or_mistake(answerer.watch))  # fmt: skip


def _in_browser(app: Dash) -> None:
    """Connect what the browser does by itself, see assets/page.js."""

    def connect(function: str, *wires: Any, **options: Any) -> None:
        app.clientside_callback(ClientsideFunction(_PAGE, function), *wires, **options)

    knob, choice = {"kind": "knob", "of": ALL}, {"kind": "choice", "of": ALL}
    mine, my_slider = {"kind": "knob", "of": MATCH}, {"kind": "slider", "of": MATCH}
    connect(
        "slide", Output(mine, "value"), Output(my_slider, "value"), Input(mine, "value"), Input(my_slider, "value"),
        State("base", "data"), State(mine, "id"),
    )  # fmt: skip
    connect(
        "gather", Output("sent", "title"), Input(knob, "value"), Input(choice, "value"), Input("events", "value"),
        Input("base", "data"), State(knob, "id"), State(choice, "id"), State("events", "options"),
    )  # fmt: skip
    connect(
        "draw", Output({"kind": "chart", "of": ALL}, "figure"), Output({"kind": "message", "of": ALL}, "children"),
        Output({"kind": "get", "of": ALL}, "href"), Output({"kind": "get", "of": ALL}, "hidden"),
        Input("answer", "data"), Input("scheme", "data"), State("colours", "data"),
        State({"kind": "chart", "of": ALL}, "id"), State({"kind": "message", "of": ALL}, "id"),
        State({"kind": "get", "of": ALL}, "id"),
    )  # fmt: skip
    connect("reset", Output("reset-done", "title"), Input("reset", "n_clicks"), State("base", "data"))
    connect("use", Output("used", "title"), Input("use-best", "n_clicks"), State("best", "data"))
    connect("say", Output("said", "title"), Input("announcement", "children"))
    connect("open", Output("opened", "title"), Input("source", "value"))
    connect("unit", Output("event-value-label", "children"), Input("event-kind", "value"), State("kinds", "data"))
    connect(
        "away", Output("events", "options", allow_duplicate=True), Output("events", "value", allow_duplicate=True),
        Input({"kind": "away", "of": ALL}, "n_clicks"), State("events", "options"), State("events", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    connect("buttons", Output("added", "children"), Input("events", "options"))
    connect("nothing", Output("no-events", "hidden"), Input("events", "options"))


def _or_mistake(answer: Callable[P, R]) -> Callable[P, R]:
    """Let an answer fail as a mistake of the program, so that it is never taken for a malformed request."""

    @functools.wraps(answer)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return answer(*arguments, **options)
        except HTTPException:
            raise
        except Exception as error:
            raise MistakeError(str(error)) from error

    return wrapped
