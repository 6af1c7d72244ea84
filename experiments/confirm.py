"""The confirmation: present and recommended setting on the nominal storm and on storms that no choice has seen."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.envs.model.knobs import Setting
from signalstorm.envs.model.metrics import cvar, percentile, restricted, watched_s
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import drawn_fields
from signalstorm.experiments.engines import Engine
from signalstorm.experiments.evaluate import Evaluation, StormSet, ratios_to_bound
from signalstorm.experiments.recommendation import DiffRow, Figures, HeldOut, Nominal, Spread, StormRow
from signalstorm.experiments.search_space import SearchSpace
from signalstorm.experiments.storm_sets import Budget, Progress, is_worse, meet, plain_times

Floats = npt.NDArray[np.float64]


def nominal(evaluation: Evaluation) -> Nominal:
    """Return the record of the nominal storm.

    Args:
        evaluation: The present setting and the recommended one.
    """
    bounds = evaluation.storms.lower_bounds_s
    return Nominal(
        seeds=evaluation.storms.numbers,
        lower_bound_s=_finite(float(bounds[0])),
        horizon_s=watched_s(evaluation.storms.scenario),
        present=_figures(evaluation, 0, bounds),
        recommended=_figures(evaluation, 1, bounds),
    )


def held_out(evaluation: Evaluation) -> HeldOut:
    """Return the record of the held-out storms.

    Args:
        evaluation: The present setting and the recommended one.
    """
    bounds = evaluation.storms.lower_bounds_s
    rows = tuple(_rows(evaluation, bounds))
    ratios = [row.ratio for row in rows]
    known = [ratio for ratio in ratios if ratio is not None]
    return HeldOut(
        storms=rows,
        worse=tuple(row.number for row in rows if row.worse),
        worst_ratio=max(known) if len(known) == len(ratios) else None,
        horizon_s=watched_s(evaluation.storms.scenario),
        present=_figures(evaluation, 0, bounds),
        recommended=_figures(evaluation, 1, bounds),
    )


def confirm(
    scenario: Scenario, setting: Setting, budget: Budget, engine: Engine, progress: Progress | None = None
) -> tuple[Evaluation, Evaluation]:
    """Run present and recommended setting on the nominal and on the held-out storms.

    Returns:
        The nominal evaluation and the held-out one.
    """
    pair: list[Mapping[str, Any]] = [{}, setting]
    as_it_is = meet(
        pair, StormSet(scenario, tuple(budget.nominal_range), vary=False), engine, "nominal storm", progress
    )
    drawn = StormSet(scenario, tuple(budget.held_out_range), vary=True)
    return as_it_is, meet(pair, drawn, engine, "held-out storms", progress)


def complete(space: SearchSpace, setting: Setting) -> dict[str, KnobValue]:
    """Return a setting with all knobs of the network that a command can set."""
    return {name: value for name, value in space.identity(setting).items() if KNOBS[name].exportable}


def diff(present: Mapping[str, KnobValue], recommended: Mapping[str, KnobValue]) -> tuple[DiffRow, ...]:
    """Return the knobs that differ between two complete settings."""
    return tuple(
        DiffRow(
            knob=name,
            unit=knob.unit,
            present=present.get(name),
            recommended=recommended.get(name),
            change=knob.change,
            exportable=knob.exportable,
        )
        for name, knob in KNOBS.items()
        if present.get(name) != recommended.get(name)
    )


def _figures(evaluation: Evaluation, i: int, bounds: Floats) -> Figures:
    times, restricted_s = evaluation.outcomes.convergence_time_s[i], evaluation.restricted_s[i]
    ratios = ratios_to_bound(restricted_s, bounds)
    return Figures(
        convergence_time_s=Spread(
            median=_rounded(percentile(times, 0.5)),
            p10=_rounded(percentile(times, 0.1)),
            p90=_rounded(percentile(times, 0.9)),
        ),
        rmst_s=round(float(restricted_s.mean()), 6),
        converged_share=float(evaluation.converged_share[i]),
        ratio_to_lower_bound=round(float(np.median(ratios)), 6) if ratios.size else None,
        cvar_s=round(cvar(restricted_s), 6),
        worst_s=round(float(restricted_s.max()), 6),
        peak_request_rate_per_s=round(float(np.median(evaluation.outcomes.peak_request_rate_per_s[i])), 6),
        subscriber_hours_lost=round(float(evaluation.outcomes.subscriber_hours_lost[i].mean()), 3),
    )


def _rows(evaluation: Evaluation, bounds: Floats) -> Iterator[StormRow]:
    scenario = evaluation.storms.scenario
    times = [plain_times(row) for row in evaluation.outcomes.convergence_time_s]
    present, recommended = restricted(evaluation.outcomes.convergence_time_s, watched_s(scenario))
    worse = is_worse(recommended, present)
    for i, number in enumerate(evaluation.storms.numbers):
        alike = recommended[i] == present[i]
        yield StormRow(
            number=number,
            fields={path: round(value, 6) for path, value in drawn_fields(scenario, number).items()},
            lower_bound_s=_finite(float(bounds[i])),
            present_s=times[0][i],
            recommended_s=times[1][i],
            ratio=1.0 if alike else round(float(recommended[i] / present[i]), 6) if present[i] > 0 else None,
            worse=bool(worse[i]),
        )


def _finite(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
