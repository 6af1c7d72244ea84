"""The runbook: one page of Markdown for the night shift, from a recommended setting.

Everything on it comes from the recommendation: what to do when, by which counter, how long it takes to work, how to go
back, and where no setting helps.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from signalstorm import __version__
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.export import rule_page, staros
from signalstorm.experiments.export.command import Command
from signalstorm.experiments.export.commands import BACK_OFF, NAMES, PSP_MODES, not_exported, on_box
from signalstorm.experiments.export.releases import Release
from signalstorm.experiments.export.rule_page import Followed
from signalstorm.experiments.export.source import ALTERED, WORSE, Source
from signalstorm.experiments.imports.present import LINK_KNOBS
from signalstorm.experiments.intervals import beyond, span
from signalstorm.experiments.recommendation import Figures

FILE = "runbook.md"
"""The file's name."""

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|])")
_BOXES = {"mme": "the SGSN or MME", "gateway": "the gateway"}
_EFFECTS = {
    "live": "takes effect at once and disturbs nothing that runs",
    "association restart": "takes the association down and up again, which will most likely end all sessions on its "
    "peer server: one at a time, and wait until it is in service",
    "reload": "needs a save and a reload of the box: not during a storm",
}


def files(source: Source, release: Release, names: Mapping[str, str], rule: Followed | None = None) -> dict[str, str]:
    """Return the file by its name.

    Args:
        source: The recommendation.
        release: The release of the box.
        names: Names of its objects.
        rule: The rule that is offered first, if any.

    Raises:
        InputError: If the release has no command for a value, a name is not legal, or there is no gate for a rule.
    """
    staros.check_names(names)
    rule_page.check(rule, source)
    return {FILE: "\n".join(_page(source, release, names, rule)) + "\n"}


def _page(source: Source, release: Release, names: Mapping[str, str], rule: Followed | None) -> Iterator[str]:
    record = source.record
    yield f"# Signalling storm: {_plain(record.scenario.name)}"
    yield ""
    if not source.never_worse:
        yield f"**{WORSE}**"
        yield ""
    if source.altered:
        yield f"**{ALTERED}: {_plain(', '.join(source.altered))}.**"
        yield ""
    for sentence in source.differs:
        yield f"**THE BOX DIFFERS from the setting that was compared: {_plain(sentence)}.**"
        yield ""
    yield _plain(record.verdict)
    yield ""
    yield f"Written by signalstorm {__version__} from recommendation `{source.sha256[:12]}`, for StarOS "
    yield f"{release.number or '17 and later'}. One page; review it by day, use it by night."
    plan = staros.plan(source, release)
    yield from _when(source)
    if rule is not None:
        yield from rule_page.section(rule, source, release, names)
    yield from _what(source, plan, names)
    yield from _works(source)
    yield from _back(source, plan, names)
    yield from _limits(source)


def _when(source: Source) -> Iterator[str]:
    """By which counter a storm is known, and when it is not one."""
    present, nominal = source.present, source.record.nominal
    rate = present.get("nop_rate")
    yield from ("", "## When", "")
    peak = nominal.present.peak_request_rate_per_s
    if not source.record.changed:
        yield "- The present setting is the best one known: leave it, and see *Where no setting helps*."
        return
    changes = {KNOBS[row.knob].change for row in source.record.diff if row.exportable}
    if changes <= {"live"}:
        yield "- Best before any storm: the setting is meant to stay. Every line may also be entered during one."
    else:
        yield "- Before any storm, in a maintenance window: some line takes associations down or needs a reload."
        yield "  What it comes to if it is entered in the middle of a storm was not simulated."
    if rate is None or isinstance(rate, str):
        yield f"- A storm is: attach requests above their daily peak, towards {peak:,.0f} per s, and failures too."
    else:
        yield f"- A storm is: attach requests above the gate's {rate:g} per s for minutes, towards {peak:,.0f} per s."
        yield "- The counter of the gate that tells: requests it drops or refuses, and its queue full."
    if "rto_max_ms" in present:
        yield "- Or: a signalling link's congestion alarm up for a minute, and fewer answers than requests on it."
    yield "- Not a storm: requests high, nearly all of them accepted, no alarm. Change nothing."


def _what(source: Source, plan: Mapping[str, Sequence[Command]], names: Mapping[str, str]) -> Iterator[str]:
    yield from ("", "## What to do", "")
    yield "| setting | now | then | how it takes effect |"
    yield "|---|---|---|---|"
    for row in source.record.diff:
        if source.associations and row.knob in LINK_KNOBS:
            continue
        knob = KNOBS[row.knob]
        now, then = (_value(row.knob, value) for value in (row.present, row.recommended))
        effect = _EFFECTS[row.change] if row.exportable else "a what-if: no command sets it"
        yield f"| {_plain(row.knob)}: {_plain(knob.meaning)} | {now} | **{then}** | {effect} |"
    before, after = on_box(source.present, source.recommended, source.t3346_s)
    if before.get(BACK_OFF) != after.get(BACK_OFF) and all(row.knob != BACK_OFF for row in source.record.diff):
        now, then = (_plain(staros.text(BACK_OFF, values.get(BACK_OFF))) for values in (before, after))
        yield f"| {_plain(BACK_OFF)}: {_plain(KNOBS[BACK_OFF].meaning)} | {now} | **{then}** | {_EFFECTS['live']} |"
    for name, where, now_value, then_value in staros.link_changes(source):
        now, then = (_value(name, value) for value in (now_value, then_value))
        yield f"| {_plain(name)} on {_plain(where)} | {now} | **{then}** | {_EFFECTS[KNOBS[name].change]} |"
    number = 1
    yield ""
    yield "1. Save the configuration in force: `save configuration <file>`."
    for name in (staros.SETTING, staros.GATEWAY):
        todo = plan.get(name, ())
        if not todo:
            continue
        number += 1
        yield f"{number}. On {_BOXES[todo[0].box]}, from `{name}`:"
        yield ""
        yield from _block(todo, names)
        for of, doubt in dict.fromkeys((_words(command), doubt) for command in todo for doubt in command.confirm):
            yield f"   - Confirm on the box first, for `{of}`: {_plain(doubt)}."
        for of in (_words(command) for command in todo if staros.changes_nothing(command)):
            yield f"   - `{of}`: this is in force already, and may be left out."
    if _at_agent(source):
        number += 1
        yield f"{number}. At the Diameter agent: `vdra.zip` of the target vdra, as `vdra-plugin.txt` beside it says."
    missing = [NAMES[key] for key in staros.needed(c for todo in plan.values() for c in todo) if key not in names]
    if missing:
        yield f"   - Fill in at `< >`: {_plain(', '.join(missing))}."
    for sentence in not_exported(source.recommended, source.present):
        yield f"   - {_plain(sentence)}."
    yield f"{number + 1}. Read it back with `show configuration` and compare: `signalstorm import staros FILE`."


def _works(source: Source) -> Iterator[str]:
    """How long it takes, by the held-out and the nominal storms."""
    nominal, held_out = source.record.nominal, source.record.held_out
    yield from ("", "## How to tell that it works", "")
    yield f"- As the scenario is: {_time(nominal.recommended)} until it is over, instead of {_time(nominal.present)}."
    if nominal.lower_bound_s:
        yield f"- Nothing can end it sooner than {nominal.lower_bound_s:,.0f} s: do not expect more."
    unseen, share, of = held_out.recommended, held_out.recommended.converged_share, len(held_out.storms)
    if share < 1.0:
        left = f"{1.0 - share:.0%} were not over within {held_out.horizon_s:,.0f} s"
        yield f"- Of {of} storms that the search had not seen, {left}."
    else:
        yield f"- Worst of {of} storms that the search had not seen: {unseen.worst_s:,.0f} s."
    yield "- Within a few intervals accepts rise and failures fall; then requests fall, and alarms clear."
    median = unseen.convergence_time_s.median
    usual_s = unseen.worst_s if share == 1.0 else median if median is not None else held_out.horizon_s
    usual = "" if share == 1.0 or median is None else ", in which half of those storms were over"
    yield f"- If nothing has changed after {usual_s:,.0f} s{usual}, the storm is of another kind:"
    yield "  go back, call the second line."
    if rule_page.GATE in source.recommended:
        yield f"- To move the gate with the storm, an interval at a time: {rule_page.advice(source)}"


def _back(source: Source, plan: Mapping[str, Sequence[Command]], names: Mapping[str, str]) -> Iterator[str]:
    yield from ("", "## The way back", "")
    for name in (staros.ROLLBACK, staros.GATEWAY_ROLLBACK):
        todo = plan.get(name, ())
        if todo:
            yield f"On {_BOXES[todo[0].box]}, from `{name}`:"
            yield ""
            yield from _block(todo, names)
    if _at_agent(source):
        yield "At the Diameter agent: `vdra-rollback.zip`, and the numbers that `vdra-plugin.txt` gives as before."
    elif not any(plan.get(name) for name in (staros.ROLLBACK, staros.GATEWAY_ROLLBACK)):
        yield "Nothing was changed."


def _limits(source: Source) -> Iterator[str]:
    yield from ("", "## Where no setting helps", "")
    for sentence in source.record.diagnosis:
        yield f"- {_plain(sentence)}"
    for name, interval in source.record.safe_interval.items():
        yield f"- {_plain(name)} is safe from {span(interval)}; {beyond(interval)}."


def _block(todo: Sequence[Command], names: Mapping[str, str]) -> Iterator[str]:
    links = list(dict.fromkeys(command.modes for command in todo if staros.is_link(command)))
    if links:
        each = "the block of `psp instance` once for each PSP" if links == [PSP_MODES] else "a block for each PSP"
        yield f"Block by block, not as a whole: {each}, and go on only once its association is in service."
        yield ""
    yield "```"
    yield from staros.lines(todo, names)
    yield "```"


def _at_agent(source: Source) -> bool:
    """Tell whether something changes at a Diameter agent, which has no commands."""
    then, now = source.recommended, source.present
    return any(KNOBS[name].element == "dra" and then.get(name) != now.get(name) for name in then)


def _words(command: Command) -> str:
    """Return what a command is called: its words up to the first number or choice."""
    words = command.line.split()
    return " ".join(words[: 1 if words[0].startswith("sctp-") else 2])


def _value(name: str, value: KnobValue | None) -> str:
    return "not set" if value is None else _plain(KNOBS[name].text(value))


def _time(figures: Figures) -> str:
    median = figures.convergence_time_s.median
    return "longer than the horizon" if median is None else f"{median:,.0f} s"


def _plain(text: str) -> str:
    """Return text of which nothing can become Markdown or HTML."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
