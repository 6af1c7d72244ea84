"""A small regression tree, grown best first, as an ordered list of rows.

Breiman et al. 1984 for the splits; the leaf whose split takes away most of the squares is split next, so that a tree of
few leaves spends them where they count. Thresholds are rounded before a split is judged: what is judged is what a
person will read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.agents.laws.table import Condition, Row

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

_CANDIDATES = 40
"""Thresholds tried in a column, at equal steps of its ranks."""


@dataclass(eq=False)
class _Node:
    """A part of the data, and how it is split."""

    members: Index
    column: str = ""
    threshold: float = 0.0
    gain: float = 0.0
    above: "_Node | None" = None
    below: "_Node | None" = None

    @property
    def leaves(self) -> int:
        return 1 if self.above is None or self.below is None else self.above.leaves + self.below.leaves


def grow(columns: Mapping[str, Floats], target: Floats, weight: Floats, rows: int, least_share: float) -> list[Row]:
    """Fit the logarithm of a factor and return the rows, the last without a condition.

    Args:
        columns: What rows may look at, by name, each of shape (samples,).
        target: Logarithm of the factor, shape (samples,).
        weight: Weight of each sample, shape (samples,).
        rows: Rows at most.
        least_share: Smallest part of the weight that a row may stand for.
    """
    data = _Data(columns, target, weight, least_share * float(weight.sum()))
    root = data.node(np.arange(len(target)))
    leaves = [root]
    while len(leaves) < rows:
        best = max(leaves, key=lambda leaf: leaf.gain)
        if best.gain <= 0.0:
            break
        inside = columns[best.column][best.members] > best.threshold
        best.above, best.below = data.node(best.members[inside]), data.node(best.members[~inside])
        leaves.remove(best)
        leaves += [best.above, best.below]
    return _merged(list(_rows(root, (), data)))


@dataclass(frozen=True)
class _Data:
    columns: Mapping[str, Floats]
    target: Floats
    weight: Floats
    least: float

    def node(self, members: Index) -> _Node:
        """Return a leaf, with the best way to split it."""
        node = _Node(members)
        y, w = self.target[members], self.weight[members]
        for name, column in self.columns.items():
            x = column[members]
            for threshold in _thresholds(x):
                gain = _gain(x > threshold, y, w, self.least)
                if gain > node.gain:
                    node.column, node.threshold, node.gain = name, threshold, gain
        return node

    def factor(self, members: Index) -> float:
        return two_digits(float(np.exp(np.average(self.target[members], weights=self.weight[members]))))


def _gain(above: npt.NDArray[np.bool_], y: Floats, w: Floats, least: float) -> float:
    """Return the weighted squares that a split takes away; 0 where a side is too small."""
    all_w, all_s = float(w.sum()), float((w * y).sum())
    part_w, part_s = float(w[above].sum()), float((w * y)[above].sum())
    rest_w, rest_s = all_w - part_w, all_s - part_s
    if min(part_w, rest_w) < max(least, 1e-12):
        return 0.0
    return part_s**2 / part_w + rest_s**2 / rest_w - all_s**2 / all_w


def _thresholds(x: Floats) -> list[float]:
    """Return rounded values within the range of a column."""
    seen = x[np.isfinite(x)]
    if not len(seen):
        return []
    ranks = np.quantile(seen, np.linspace(0.0, 1.0, _CANDIDATES + 2)[1:-1])
    return sorted({two_digits(float(rank)) for rank in ranks})


def _rows(node: _Node, path: tuple[Condition, ...], data: _Data) -> "list[Row]":
    """Return the rows of a part, the smaller side first.

    That side's rows cover all for which its condition holds, so those of the other side need not say that it does not.
    """
    if node.above is None or node.below is None:
        return [Row(_shortest(path), data.factor(node.members))]
    if node.leaves == 2 and data.factor(node.above.members) == data.factor(node.below.members):
        return [Row(_shortest(path), data.factor(node.members))]
    above_first = node.above.leaves <= node.below.leaves
    first, second = (node.above, node.below) if above_first else (node.below, node.above)
    condition = Condition(node.column, above_first, node.threshold)
    return [*_rows(first, (*path, condition), data), *_rows(second, path, data)]


def _shortest(path: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Keep the narrowest of several conditions of one kind."""
    kept: dict[tuple[str, bool], Condition] = {}
    for condition in path:
        before = kept.get((condition.column, condition.above))
        narrower = before is None or (condition.value > before.value) == condition.above
        if narrower:
            kept[condition.column, condition.above] = condition
    return tuple(kept.values())


def _merged(rows: list[Row]) -> list[Row]:
    """Leave out rows at the end that say what the last one says anyway."""
    while len(rows) > 1 and rows[-2].factor == rows[-1].factor:
        del rows[-2]
    return rows


def two_digits(value: float) -> float:
    """Round to two significant digits."""
    return float(f"{value:.2g}")
