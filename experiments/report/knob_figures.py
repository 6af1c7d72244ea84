"""Drawings of knobs: where settings lie, what turning one does, how two work together, what else could be had."""

import math
from collections.abc import Iterator, Mapping, Sequence

from signalstorm.envs.model.knob_table import KNOBS, Knob, KnobValue
from signalstorm.envs.model.wording import amount
from signalstorm.experiments.recommendation import Interaction, ParetoPoint, Profile, SafeInterval
from signalstorm.experiments.report.drawing import LIGHT, SYMBOLS, Figure, axis, layout, log_axis, numbers
from signalstorm.experiments.report.tables import Worth

OBJECTIVES = {
    "time": ("mean cost of a storm", "s", 1.0),
    "subscriber_hours_lost": ("service lost", "subscriber-hours", 1.0),
    "refused_share": ("attempts turned away", "% of all", 100.0),
    "imsimgr_cpu_peak": ("peak CPU of the IMSI manager", "% of capacity", 100.0),
    "change_cost": ("cost of the change", "points", 1.0),
}
"""What settings are weighed by: in words, the unit, and what values are multiplied by."""
_CROSS = 4
"""How much larger the mark of the present setting is [px]."""


def objective(name: str) -> str:
    """Return the name of an objective in words, with its unit."""
    words, unit, _ = OBJECTIVES.get(name, (name.replace("_", " "), "", 1.0))
    return f"{words} [{unit}]" if unit else words


def knob_ranges(
    present: Mapping[str, KnobValue], recommended: Mapping[str, KnobValue], safe: Mapping[str, SafeInterval]
) -> Figure | None:
    """Draw where both settings lie within the legal ranges, and how far each knob alone is safe; None for no knob.

    Args:
        present: The present setting.
        recommended: The recommended setting.
        safe: Safe intervals by knob.
    """
    names = [n for n in KNOBS if n in safe and (_number(present.get(n)) or _number(recommended.get(n))) is not None]
    if not names:
        return None
    data: list[Figure] = [
        _bars("legal range", names, [(0.0, 100.0)] * len(names), LIGHT["grid"], 0.12),
        _bars(
            "safe interval",
            names,
            [(_place(n, safe[n].low), _place(n, safe[n].high)) for n in names],
            LIGHT["safe"],
            0.36,
        ),
    ]
    for setting, values in (("present", present), ("recommended", recommended)):
        own = {name: number for name in names if (number := _number(values.get(name))) is not None}
        data.append(
            {
                "type": "scatter", "mode": "markers", "name": setting, "y": list(own),
                "x": numbers([_place(name, number) for name, number in own.items()]),
                "text": [KNOBS[name].text(values[name]) for name in own],
                "hovertemplate": "%{y}: %{text}", "marker": _marker(setting, 11),
            }
        )  # fmt: skip
    x_axis = axis("place in the legal range [%]", range=[-3, 103])
    y_axis = axis("knob", type="category", autorange="reversed")
    height = 190 + 34 * len(names)
    return {"data": data, "layout": layout(x_axis, y_axis, height=height, barmode="overlay")}


def importance_bars(knobs: Sequence[Worth]) -> Figure:
    """Draw how much each knob matters, in the order given: what turning it changes, and PED-ANOVA where known."""
    hatched = {"shape": "/", "size": 6, "solidity": 0.3, "fgcolor": LIGHT["muted"]}
    kinds = {
        "what turning it changes": ([row.share for row in knobs], {"color": LIGHT["recommended"]}),
        "how good trials differ (PED-ANOVA)": (
            [row.ped_anova for row in knobs],
            {"color": LIGHT["grid"], "pattern": hatched, "line": {"color": LIGHT["muted"], "width": 1}},
        ),
    }
    known = {
        kind: {row.name: 100.0 * share for row, share in zip(knobs, shares, strict=True) if share is not None}
        for kind, (shares, _) in kinds.items()
    }
    data: list[Figure] = [
        {
            "type": "bar", "orientation": "h", "name": kind, "x": numbers(list(values.values())), "y": list(values),
            "marker": kinds[kind][1],
            "text": [f"{value:.0f} %" for value in values.values()], "textposition": "outside", "cliponaxis": False,
            "hovertemplate": "%{y}: %{x:.1f} %<extra></extra>",
        }
        for kind, values in known.items() if values
    ]  # fmt: skip
    most = max((value for values in known.values() for value in values.values()), default=0.0)
    x_axis = axis("share of all knobs [%]", range=[0, max(100.0, 1.15 * most)])
    order = {"categoryorder": "array", "categoryarray": [row.name for row in knobs]}
    y_axis = axis("knob", type="category", autorange="reversed", **order)
    several = len(data) > 1
    height = (140 if several else 110) + (44 if several else 30) * len(knobs)
    return {"data": data, "layout": layout(x_axis, y_axis, height=height, showlegend=several)}


def profile_chart(
    name: str, profile: Profile, present: KnobValue | None, recommended: KnobValue | None, least_s: float, most_s: float
) -> Figure:
    """Draw what storms cost as one knob moves, and the 10 % above the recommended value that count as safe.

    Args:
        name: The knob.
        profile: Values tried and what storms cost with each.
        present: Its present value; None where it is not known.
        recommended: Its recommended value.
        least_s: Least cost of all profiles, so that they share an axis [s].
        most_s: Largest cost [s].
    """
    knob, cost = KNOBS.get(name), dict(zip(profile.values, profile.value_s, strict=True))
    words = any(isinstance(value, str) for value in profile.values)
    x = [str(value) for value in profile.values] if words else numbers([float(value) for value in profile.values])
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "lines+markers", "name": "mean cost", "x": x, "y": numbers(profile.value_s),
            "hovertemplate": "%{x}: %{y:.4~g} s", "line": {"color": LIGHT["muted"], "width": 1.5},
            "marker": {"size": 5, "color": LIGHT["muted"]}, "showlegend": False,
        }
    ]  # fmt: skip
    here = cost.get(recommended) if recommended is not None else None
    for setting, value in (("present", present), ("recommended", recommended)):
        if value is not None and value in cost:
            at = [str(value)] if words else numbers([float(value)])
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": setting, "x": at, "y": numbers([cost[value]]),
                    "hovertemplate": f"{setting}: %{{x}}, %{{y:.4~g}} s", "marker": _marker(setting, 11),
                }
            )  # fmt: skip
    title = f"{name} [{profile.unit}]" if profile.unit else name
    positive = not words and all(float(value) > 0 for value in profile.values)
    if words:
        x_axis = axis(title, type="category", tickangle=0, tickvals=x, ticktext=[_broken(str(word)) for word in x])
    elif positive and knob is not None and knob.scale == "log":
        x_axis = log_axis(title, [float(value) for value in profile.values])
    else:
        x_axis = axis(title, rangemode="tozero")
    more: Figure = {}
    if here is not None:
        more = {"shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1.1 * here, "y1": 1.1 * here,
                            "line": {"color": LIGHT["muted"], "width": 1, "dash": "dot"}}]}  # fmt: skip
    y_axis = log_axis("mean cost of a storm [s]", [max(least_s, 1e-3), max(most_s, 1e-3)])
    return {"data": data, "layout": layout(x_axis, y_axis, height=290, **more)}


def interaction_map(found: Interaction) -> Figure:
    """Draw the cost of storms over two knobs as a map; no value where the two are not legal together."""
    # A value that is legal with none of the other knob's would be a blank line across the map.
    rows = [i for i, row in enumerate(found.value_s) if any(cost is not None for cost in row)]
    columns = [j for j in range(len(found.second)) if any(row[j] is not None for row in found.value_s)]
    first, second = [_plain(found.first[i]) for i in rows], [_plain(found.second[j]) for j in columns]
    cells = [[found.value_s[i][j] for j in columns] for i in rows]
    costs = [cost for row in cells for cost in row if cost is not None]
    text = [["" if cost is None else amount(cost) for cost in row] for row in cells]
    data: list[Figure] = [
        {
            "type": "heatmap", "x": second, "y": first, "z": cells,
            "text": text, "texttemplate": "%{text}", "colorscale": "Viridis", "hoverongaps": False,
            "zmin": min(costs, default=0.0), "zmax": max(costs, default=1.0),
            "showscale": False, "colorbar": {"title": {"text": "s"}}, "textfont": {"size": 11},
            "hovertemplate": f"{found.knobs[0]} %{{y}}, {found.knobs[1]} %{{x}}: %{{z:.4~g}} s<extra></extra>",
        }
    ]  # fmt: skip
    frames: list[Figure] = []
    for setting, place in (("present", found.present), ("recommended", found.recommended)):
        if place is not None and _plain(place[0]) in first and _plain(place[1]) in second:
            frames += _frame(setting, second.index(_plain(place[1])), first.index(_plain(place[0])))
    axes = [axis(f"{name} [{unit}]" if unit else name, type="category")
            for name, unit in zip(reversed(found.knobs), reversed(found.units), strict=True)]  # fmt: skip
    return {"data": data, "layout": layout(*axes, height=400, shapes=frames)}


def pareto_front(points: Sequence[ParetoPoint], recommended: Mapping[str, KnobValue] | None = None) -> Figure:
    """Draw settings by two objectives, time first; the others are told when pointed at.

    Args:
        points: The settings.
        recommended: The complete recommended one; marked if it is among them.
    """
    names = list(dict.fromkeys(name for point in points for name in point.values))
    second = next((name for name in ("refused_share", *names[1:]) if name in names), names[0])
    groups: dict[str, list[ParetoPoint]] = {"setting tried": [], "present": [], "recommended": []}
    for point in points:
        name = "present" if not point.override else "recommended" if _is(point, recommended) else "setting tried"
        groups[name].append(point)
    data: list[Figure] = [
        {
            "type": "scatter", "mode": "markers", "name": name, "hovertemplate": "%{text}<extra></extra>",
            "text": [_told(point) for point in group],
            "x": numbers([OBJECTIVES[names[0]][2] * point.values[names[0]] for point in group]),
            "y": numbers([_scaled(second, point) for point in group]),
            "marker": _marker(name, 11) if name in SYMBOLS else {
                "color": LIGHT["muted"], "symbol": "diamond-open", "size": 9, "line": {"width": 1.5}},
        }
        for name, group in groups.items() if group
    ]  # fmt: skip
    times = [point.values[names[0]] for point in points]
    x_axis = log_axis(objective(names[0]), times) if min(times) > 0 else axis(objective(names[0]))
    return {"data": data, "layout": layout(x_axis, axis(objective(second)), height=380)}


def is_among(recommended: Mapping[str, KnobValue], points: Sequence[ParetoPoint]) -> bool:
    """Tell whether a complete setting is one of some settings."""
    return any(_is(point, recommended) for point in points if point.override)


def _is(point: ParetoPoint, setting: Mapping[str, KnobValue] | None) -> bool:
    return setting is not None and all(setting.get(name) == value for name, value in point.override.items())


def _told(point: ParetoPoint) -> str:
    figures = [f"{OBJECTIVES[name][0]} {amount(_scaled(name, point))} {OBJECTIVES[name][1]}" if name in OBJECTIVES
               else f"{name} {amount(value)}" for name, value in point.values.items()]  # fmt: skip
    knobs = [f"{knob}={value}" for knob, value in point.override.items()] or ["present setting"]
    return "<br>".join([*figures, *knobs])


def _scaled(name: str, point: ParetoPoint) -> float:
    return point.values[name] * (OBJECTIVES[name][2] if name in OBJECTIVES else 1.0)


def _frame(setting: str, column: int, row: int) -> Iterator[Figure]:
    """Yield the frame of a cell of a map, white on a dark rim to show on all; solid for the recommended setting."""
    dash = "solid" if setting == "recommended" else "dash"
    for colour, width, dashed in (("black", 6.0, "solid"), ("white", 2.5, dash)):
        yield {
            "type": "rect", "x0": column - 0.46, "x1": column + 0.46, "y0": row - 0.46, "y1": row + 0.46,
            "line": {"color": colour, "width": width, "dash": dashed},
        }  # fmt: skip


def _marker(setting: str, size: int) -> Figure:
    line = {"width": 1.5, "color": LIGHT["paper"]} if setting == "recommended" else {"width": 0}
    # The cross is seen behind the dot where both settings have one value.
    size += _CROSS if setting == "present" else 0
    return {"symbol": SYMBOLS[setting], "size": size, "color": LIGHT[setting], "line": line}


def _bars(name: str, names: Sequence[str], spans: Sequence[tuple[float, float]], colour: str, width: float) -> Figure:
    return {
        "type": "bar", "orientation": "h", "name": name, "y": list(names), "base": numbers([low for low, _ in spans]),
        "x": numbers([max(high - low, 0.6) for low, high in spans]), "width": width, "marker": {"color": colour},
        "hoverinfo": "skip",
    }  # fmt: skip


def _number(value: KnobValue | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)


def _plain(value: KnobValue | None) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _broken(word: str) -> str:
    """Break a long word at its first hyphen, so that it fits below a narrow axis."""
    return word.replace("-", "-<br>", 1)


def _place(name: str, value: float) -> float:
    """Return where a value lies within a knob's legal range [%]."""
    knob: Knob = KNOBS[name]
    low, high, x = knob.low, knob.high, min(max(value, knob.low), knob.high)
    if knob.scale == "log" and low > 0:
        low, high, x = (math.log(v) for v in (low, high, x))
    return 100.0 * (x - low) / (high - low)
