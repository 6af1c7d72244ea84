"""A distilled rule as a page of Markdown: the table, how it is followed, and what it costs."""

from collections.abc import Mapping
from typing import Any

from signalstorm.agents.laws.table import Table
from signalstorm.agents.rule_file import RuleFile, column_lines, table_lines


def page(rule: RuleFile) -> str:
    """Return a rule as a page of Markdown."""
    law = rule.law
    lines = [
        f"# {rule.name}: {rule.knob}",
        "",
        f"{rule.description[:1].upper()}{rule.description[1:]}.",
        "",
        *table_lines(law),
        "",
        *column_lines(law),
        "",
        f"The first row that holds counts. At least {law.floor_per_s:g} per s; changes of {law.dead_band_share:.0%} or",
        f"less are not entered, and none is larger than by a factor of {1.0 + law.step_share:g}.",
        *_pause_lines(law),
    ]
    if rule.evidence:
        lines += ["", *_evidence_lines(rule.evidence)]
    return "\n".join(lines) + "\n"


def _pause_lines(law: Table) -> list[str]:
    """Return what is to be said of the pause after a change; nothing where there is none."""
    lines = []
    if law.cool_down:
        lines += [
            f"After a change the rate is not raised for {law.cool_down:g} interval{'s' if law.cool_down != 1 else ''}; "
            "it may be lowered at any time."
        ]
    if law.most_per_hour:
        lines += [f"It is changed at most {law.most_per_hour} times in any 60 minutes."]
    return lines


def _evidence_lines(evidence: Mapping[str, Any]) -> list[str]:
    first, beyond = evidence["storms"]
    rows = [
        f"| {name} | {one['rmst_s'] / 60.0:.1f} min | {one['lost_h']:.4f} h | {one['changes_per_hour']:.1f} "
        f"| {one.get('most_changes_in_an_hour', '')} |"
        for name, one in (
            ("best static setting", evidence["best_static"]),
            ("policy", evidence["policy"]),
            ("this rule", evidence["rule"]),
        )
    ]
    return [
        f"On storms {first} to {beyond - 1}, which chose nothing of it. {_kept_in_words(evidence)}",
        "",
        "| | restricted mean time | service lost per subscriber | changes per hour | most in any hour |",
        "|---|---|---|---|---|",
        *rows,
    ]


def _kept_in_words(evidence: Mapping[str, Any]) -> str:
    """Say what share of the policy's gain over the best static setting a rule keeps, in time and in service."""
    said = []
    for name, what in (("rmst_s", "restricted mean time"), ("lost_h", "service")):
        policy, static, rule = (evidence[who][name] for who in ("policy", "best_static", "rule"))
        if static > policy:
            said.append(f"{(static - rule) / (static - policy):.0%} in {what}")
    return f"Of what the policy gains it keeps {' and '.join(said)}." if said else "The policy gains nothing here."
