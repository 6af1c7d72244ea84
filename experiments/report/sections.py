"""The sections of the page, from the headline to where everything comes from."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from signalstorm import __version__
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.clock import start_of_day_s, time_of_day
from signalstorm.experiments.recommendation import Figures, ScenarioName, StormRow
from signalstorm.experiments.report.alarm_times import AlarmTimes
from signalstorm.experiments.report.curves import SETTINGS
from signalstorm.experiments.report.drawings import Drawing
from signalstorm.experiments.report.knob_figures import OBJECTIVES, is_among, objective
from signalstorm.experiments.report.markup import Markup, element, join
from signalstorm.experiments.report.parts import duration, figure, fold, in_words, section, table
from signalstorm.experiments.report.tables import KnobRow, Measure, Report

Drawn = Callable[[str], list[Drawing]]
"""Returns the drawings of a part of the page."""

_LINES = (
    "Lines: median over the storms; bands: 10th to 90th percentile. Present dashed with a hatched band, recommended "
    "solid. A curve ends when the last of its storms is over."
)
_MOST_ROWS = 100
"""Rows of the table of the Pareto set at most; the others are in trials.csv."""


def sections(report: Report, drawn: Drawn) -> Iterator[tuple[str, str, list[Markup]]]:
    """Yield name, title and content of each section."""
    yield "change", "What changes for the storm", list(_measures(report))
    yield "setting", "What to set", list(_setting(report, drawn))
    yield "storm", "How the storm runs", list(_charts(report, drawn))
    if drawn("congestion") or drawn("links"):
        yield "link-state", "How the links fare", list(_links(drawn))
    if report.curves.alarms:
        yield "alarms", "Which alarms come up", list(_alarms(report))
    yield "grid", "Held-out storms, one by one", list(_storms(report, drawn))
    yield "diagnosis", "Diagnosis", list(_diagnosis(report))
    if report.importance:
        yield "knobs", "Which knobs matter", list(_importance(report, drawn))
    if report.record.interaction is not None:
        yield "two-knobs", "How the two most important knobs work together", list(_interaction(report, drawn))
    if len(report.pareto) > 1:
        yield "choices", "What else could be had", list(_pareto(report, drawn))
    yield "origin", "Where this comes from", [element("dl", *_provenance(report))]


def header(report: Report, drawn: Drawn) -> Markup:
    """Return the headline: the verdict, and the figures that carry it."""
    record = report.record
    good = report.never_worse and not report.altered
    word = "No change" if not record.changed else "Never worse" if report.never_worse else "Worse on a held-out storm"
    lines = [element("p", element("strong", word), ": ", record.verdict)]
    if report.altered:
        parts = ", ".join(report.altered)
        warning = f"changed after the search had written it ({parts}), so the figures may not be those of this setting."
        lines.insert(0, element("p", element("strong", "Altered"), ": ", warning))
    box = element("div", *lines, class_="verdict" if good else "verdict bad")
    cards = element("div", *_cards(report), class_="cards")
    note = element("p", report.counted, class_="note")
    title = element("h1", f"Recommended setting for {record.scenario.name}")
    return element("header", title, box, cards, *map(figure, drawn("headline")), note)


def _cards(report: Report) -> Iterator[Markup]:
    record, nominal, held_out = report.record, report.record.nominal, report.record.held_out
    pair = nominal.present, nominal.recommended
    yield _card(
        f"T, median of {len(nominal.seeds)} storms as they are", *(_median(report, figures) for figures in pair)
    )
    bound = "none within the horizon" if nominal.lower_bound_s is None else duration(nominal.lower_bound_s)
    yield _card("Lower bound of T", bound, None, "the fluid limit: only chance is quicker")
    if held_out.storms:
        means = (duration(figures.rmst_s) for figures in (held_out.present, held_out.recommended))
        yield _card(f"Restricted mean of T, {len(held_out.storms)} held-out storms", *means)
        ratio = "-" if held_out.worst_ratio is None else f"{held_out.worst_ratio:.3g}"
        worse = f"{sum(row.worse for row in held_out.storms)} of {len(held_out.storms)}"
        yield _card("Held-out storms that get worse", worse, None, f"worst ratio to the present setting {ratio}")
    lost = held_out.present.subscriber_hours_lost, held_out.recommended.subscriber_hours_lost
    if lost[0] is not None and lost[1] is not None:
        yield _card("Service lost, subscriber-hours per held-out storm", amount(lost[0]), amount(lost[1]))
    if record.gate_room is not None:
        held = f"seen to hold while that load grows by up to {record.gate_room.holds_to_share:.0%}"
        yield _card("Room of the gate above the calm load", f"{record.gate_room.room_share:.0%}", None, held)
    changes = sum(row.exportable for row in record.diff)
    yield _card("Knobs to change", str(changes), None, ", ".join(dict.fromkeys(row.change for row in record.diff)))


def _card(title: str, first: str, second: str | None, note: str = "") -> Markup:
    if second is None:
        values = [element("p", first, class_="value")]
    else:
        values = [
            element(
                "p", element("span", name, class_=f"key {name}"), " ", text, class_="value" if i else "value before"
            )
            for i, (name, text) in enumerate((("present", first), ("recommended", second)))
        ]
    below = (element("p", note, class_="note"),) if note else ()
    return element("div", element("p", title, class_="what"), *values, *below, class_="card")


def _median(report: Report, figures: Figures) -> str:
    """Return the median of T, and the time of day at which the storm is over then."""
    median_s, scenario = figures.convergence_time_s.median, report.record.scenario
    if median_s is None:
        return f"beyond the horizon of {duration(report.record.nominal.horizon_s)}"
    start_s = start_of_day_s(scenario.clock_start)
    over = "" if start_s is None else f", over at {time_of_day(start_s + scenario.count_from_s + median_s)}"
    return f"{duration(median_s)}{over}"


def _measures(report: Report) -> Iterator[Markup]:
    heads = ["", "present", "recommended"]
    caption = f"{len(report.record.nominal.seeds)} storms of the scenario as given, which differ by chance only"
    yield table(heads, map(_measure, report.nominal), caption, "measures")
    caption = f"{len(report.record.held_out.storms)} storms that the search never saw, varied as the scenario says"
    yield table(heads, map(_measure, report.held_out), caption, "measures")
    rows = [
        [join(row.label, element("div", row.note, class_="note")), in_words(row.value, row.unit)]
        for row in report.comparisons
    ]
    yield table(["", "recommended against present"], rows, "The same storms, one by one", "measures")
    yield element("p", report.counted, class_="note")


def _measure(row: Measure) -> list[str]:
    label = join(row.label, *((element("div", row.note, class_="note"),) if row.note else ()))
    return [label, in_words(row.present, row.unit), in_words(row.recommended, row.unit)]


def _setting(report: Report, drawn: Drawn) -> Iterator[Markup]:
    first = [row for row in report.knobs if row.changed or row.safe]
    others = [row for row in report.knobs if not (row.changed or row.safe)]
    heads = ["knob", "present", "recommended", "safe interval", "how it is changed"]
    note = "Safe interval: where storms cost at most 10 % more while this knob alone moves. Changes are in bold."
    yield table(heads, map(_knob, first), note, "stack knobs")
    yield from map(figure, drawn("ranges"))
    if others:
        words = f"{len(others)} other knobs of this network, unchanged"
        yield fold(words, table(heads, map(_knob, others), kind="stack knobs"))
    if not report.files:
        yield element("p", "There are no commands here: `signalstorm export` refuses this setting unless it is forced.")
    for i, (name, text) in enumerate(report.files.items()):
        button = element("button", f"Copy {name}", type="button", data_copy=f"file{i}", hidden=True)
        yield element("div", element("h3", name), button, class_="file")
        yield element("pre", text, id=f"file{i}", tabindex="0", aria_label=name)


def _knob(row: KnobRow) -> list[str]:
    return [
        join(element("code", row.name), element("div", row.meaning, class_="note")),
        row.present,
        row.recommended if not row.changed else element("strong", row.recommended),
        row.safe or "-",
        row.how,
    ]


def _charts(report: Report, drawn: Drawn) -> Iterator[Markup]:
    if not report.curves.charts:
        yield element("p", "This run has no series.csv, so there are no curves to show.")
        return
    bands = report.curves.charts[0].bands
    seeds = ", ".join(dict.fromkeys(f"{band.seeds} storms {band.setting}" for band in bands))
    mark = " The dotted line is where T starts to count." if report.record.scenario.count_from_s > 0 else ""
    words = f"{_LINES}{mark} {seeds}; each point is a mean over {bands[0].mean_over_s:g} s."
    yield element("p", words, class_="note")
    yield element("div", *map(figure, drawn("charts")), class_="charts")
    yield element("noscript", element("p", "The curves need JavaScript; the tables do not."))


def _links(drawn: Drawn) -> Iterator[Markup]:
    yield element("p", "Shade: the share of the storms in which a link is congested at that time.", class_="note")
    yield element("div", *map(figure, drawn("congestion")), class_="charts")
    if links := drawn("links"):
        yield fold("Each link: what it sends, gets answered, and has waiting",
                   element("div", *map(figure, links), class_="charts"))  # fmt: skip


def _alarms(report: Report) -> Iterator[Markup]:
    counted = "from the scenario's start" if report.record.scenario.clock_start is None else "times of day"
    note = f"Times are {counted}, medians over the storms in which the alarm is set."
    rows = [
        [join(element("code", row.element), f" {row.kind}"), *(_alarm(report, row.times.get(s)) for s in SETTINGS)]
        for row in report.curves.alarms
    ]
    yield table(["alarm", *SETTINGS], rows, note, "stack")


def _alarm(report: Report, times: AlarmTimes | None) -> Markup | str:
    if times is None:
        return "never"
    scenario = report.record.scenario
    first, last = (None if at is None else _moment(scenario, at) for at in (times.first_s, times.last_s))
    often = "once" if times.sets == 1 else f"{amount(times.sets)} times"
    until = "still up at the end" if last is None else f"last cleared {last}"
    words = element("div", f"in {times.storms} of {times.of} storms, set {often}", class_="note")
    return join(f"first set {first}, {until}", words)


def _moment(scenario: ScenarioName, time_s: float) -> str:
    """Return a time as the axes of the curves show it, to the second."""
    start_s = start_of_day_s(scenario.clock_start)
    return f"at {amount(time_s)} s" if start_s is None else f"at {time_of_day(start_s + time_s, to_seconds=True)}"


def _storms(report: Report, drawn: Drawn) -> Iterator[Markup]:
    storms = report.record.held_out.storms
    if not storms:
        yield element("p", "This run kept no held-out storms.")
        return
    worse = sum(storm.worse for storm in storms)
    notes = {
        "survival": "The share that lasts longer than T; storms not over at the horizon are censored there. Bands: "
        "95 % intervals (Wilson). A storm in which health is never lost has T = 0.",
        "storms": "A mark per storm; below the diagonal the recommended setting is better. "
        f"Worse: {worse} of {len(storms)}.",
    }
    yield element("div", *(figure(found, notes[found.name]) for found in drawn("held-out")), class_="charts")
    fields = list(dict.fromkeys(path for storm in storms for path in storm.fields))
    heads = ["storm", "present", "recommended", "lower bound", "ratio", *fields]
    yield fold("All held-out storms as a table", table(heads, [_storm(storm, fields) for storm in storms]))


def _storm(storm: StormRow, fields: Iterable[str]) -> list[str]:
    times = [in_words(t, "s") for t in (storm.present_s, storm.recommended_s, storm.lower_bound_s)]
    ratio = "-" if storm.ratio is None else in_words(storm.ratio, "ratio")
    drawn = (_plain(storm.fields.get(name)) for name in fields)
    return [str(storm.number), *times, f"{ratio}, worse" if storm.worse else ratio, *drawn]


def _plain(value: Any) -> str:
    return amount(value) if isinstance(value, float) else str(value)


def _diagnosis(report: Report) -> Iterator[Markup]:
    if not report.diagnosis:
        yield element("p", "Nothing stands out.")
    for about, sentences in report.diagnosis.items():
        yield element("h3", about.capitalize())
        yield element("ul", *(element("li", sentence) for sentence in sentences))
    if report.record.passed_over is not None:
        yield element("h3", "Quicker on the storm as it is, but passed over")
        yield element("p", f"{report.record.passed_over.words}.")


def _importance(report: Report, drawn: Drawn) -> Iterator[Markup]:
    compared = any(row.ped_anova is not None for row in report.importance)
    yield element(
        "p", "What turning it changes: each knob is turned over its legal range, the others as recommended; what "
        "storms then cost at most, less what they cost at least, is its share; less than 1 % of the cost is nothing. "
        "This is what a knob is worth at the recommended setting.", class_="note",
    )  # fmt: skip
    if compared:
        yield element(
            "p", "How good trials differ (PED-ANOVA): how unlike all trials of the search the tenth that cost least "
            "are in this knob. It tells where the search found good settings; a knob that changes nothing can rank "
            "high, because the best trials are few and often lie close together in every knob.", class_="note",
        )  # fmt: skip
    yield from map(figure, drawn("importance"))
    rows = []
    for row in report.importance:
        profile = report.record.profiles.get(row.name)
        costs = ["-", "-"] if profile is None else [f"{amount(f(profile.value_s))} s" for f in (min, max)]
        shares = [row.share, *([row.ped_anova] if compared else [])]
        rows.append([element("code", row.name), *(_percent(share) for share in shares), *costs])
    heads = ["what turning it changes", *(["how good trials differ (PED-ANOVA)"] if compared else [])]
    yield table(["knob", *heads, "least cost of a storm", "largest cost"], rows)
    if profiles := drawn("profiles"):
        yield element(
            "p", "Mean cost of a storm as one knob moves; the dotted line is 10 % above the recommended value. A storm "
            "that is not over by the horizon costs the horizon and more.", class_="note",
        )  # fmt: skip
        yield element("div", *map(figure, profiles), class_="charts")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _interaction(report: Report, drawn: Drawn) -> Iterator[Markup]:
    storms = report.record.interaction.storms if report.record.interaction else 0
    marks = "Solid frame: recommended; dashed frame: the present values of these two knobs."
    note = f"Mean cost of {storms} storms, the other knobs as recommended. Dark is quick; empty cells are not legal."
    yield element("p", f"{note} {marks}", class_="note")
    yield from map(figure, drawn("map"))


def _pareto(report: Report, drawn: Drawn) -> Iterator[Markup]:
    names = list(dict.fromkeys(name for point in report.pareto for name in point.values))
    rows = [
        [
            ", ".join(f"{knob}={value}" for knob, value in point.override.items()) or "present setting",
            *(
                amount(point.values[name] * (OBJECTIVES[name][2] if name in OBJECTIVES else 1.0))
                if name in point.values else "-"
                for name in names
            ),
        ]
        for point in report.pareto[:_MOST_ROWS]
    ]  # fmt: skip
    caption = "Settings tried of which none is better than another in every column, over the storms of the search."
    yield from map(figure, drawn("pareto"))
    if not is_among({**report.recommended, **report.record.override}, report.pareto):
        words = (
            "The recommended setting is not among them: of those that did well here it did best on further storms, "
            "where changes that bring nothing were left out of it."
        )
        yield element("p", words, class_="note")
    shown = "" if len(rows) == len(report.pareto) else f", the {len(rows)} quickest"
    whole = table(["setting", *map(objective, names)], rows, caption, "stack")
    yield fold(f"{len(report.pareto)} settings on the Pareto front{shown}", whole)


def _provenance(report: Report) -> Iterator[Markup]:
    for name, text in (*report.provenance, ("report", f"signalstorm {__version__}")):
        yield element("dt", name)
        yield element("dd", text)


def contents(named: Iterable[tuple[str, str]]) -> Markup:
    """Return the table of contents."""
    links = (element("li", element("a", title, href=f"#{name}")) for name, title in named)
    return element("nav", element("ul", *links), aria_label="Contents")


def page_sections(report: Report, drawn: Drawn) -> Iterator[Markup]:
    """Yield the headline, the contents, and the sections."""
    found = list(sections(report, drawn))
    yield header(report, drawn)
    yield contents((name, title) for name, title, _ in found)
    for name, title, children in found:
        yield section(name, title, *children)
