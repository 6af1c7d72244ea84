"""Rows of a running batch that begin another storm, as environments need it: each ends in a step of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import WIDE_TILE, Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.kernels.columns import renew
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import storm

Floats = npt.NDArray[np.float64]

_KEPT = 20_000
"""Storms whose images are kept; the oldest go first."""


@dataclass(frozen=True)
class Image:
    """What a storm's column of a tile holds before its first step, zeros left out."""

    rows: npt.NDArray[np.int32]
    """Rows that hold something."""
    values: Floats
    """What they hold."""


class Storms:
    """Rows of a batch and the storms that they play, one after another."""

    def __init__(
        self,
        scenario: Scenario,
        size: int,
        setting: Floats,
        *,
        vary: bool,
        longest: Mapping[str, float] | None = None,
        threads: int | None = None,
        tile: int | None = None,
    ) -> None:
        """Lay out a batch whose rows wait for their first storm.

        Args:
            scenario: The nominal scenario.
            size: Rows.
            setting: The setting with which every storm begins, see ``parameters.setting_vector``.
            vary: Whether storms draw the scenario's variation.
            longest: As for `Batch`.
            threads: As for `Batch`.
            tile: As for `Batch`.
        """
        self.scenario = scenario
        self.vary = vary
        self._setting = setting
        self._longest = dict(longest or {})
        self._span = corners(scenario) if vary else []
        self.batch = Batch(
            [scenario],
            [0],
            setting,
            rows=(np.zeros(size), np.zeros(size)),
            longest=self._longest,
            span=self._span,
            threads=threads,
            tile=tile,
        )
        self.horizon = self.batch.end
        """Steps from a storm's beginning to its horizon."""
        self.began = np.zeros(size, np.int64)
        """Steps of the batch in which the rows' storms began."""
        self.numbers = np.full(size, -1, np.int64)
        """The rows' storms."""
        self._images: dict[int, Image] = {}
        self._emptied = self._ranges()
        self.batch.begun = True

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """Steps that each row's storm has made."""
        return self.batch.step - self.began

    def start(self, rows: Sequence[int], numbers: Sequence[int]) -> None:
        """Let rows begin a storm in the batch's present step.

        Args:
            rows: Rows of the batch.
            numbers: The storm that each begins.
        """
        self.prepare(numbers)
        batch, width = self.batch, self.batch.plan.tile
        memory = batch._memory.reshape(batch._memory.shape[0], -1, width)
        table = batch.plan.table
        storm_row = int(table[layout.P_STORM]) // width
        pointers = [p // width for p in self._pointers()]
        ranges = self._emptied
        for row, number in zip(rows, numbers, strict=True):
            tile = memory[row // width]
            image = self._images[number]
            sends = tile[storm_row + layout.S_SENDS, 0]
            renew(tile, row % width, ranges, image.rows, image.values)
            column = tile[:, row % width]
            column[storm_row + layout.S_OFFSET] = batch.step
            column[pointers] = batch.step
            # How far any storm of the tile has come is kept for all in the first column.
            tile[storm_row + layout.S_SENDS, 0] = sends
            self.began[row] = batch.step
            self.numbers[row] = number
        batch.settings[np.asarray(rows, np.intp)] = self._setting
        youngest = int(self.began.max())
        table[layout.P_YOUNGEST] = youngest
        table[layout.P_END] = youngest + self.horizon

    def prepare(self, numbers: Sequence[int]) -> None:
        """Work out the first steps of storms ahead of time, which takes about a millisecond each."""
        missing = list(dict.fromkeys(number for number in numbers if number not in self._images))
        if missing:
            self._draw(missing)

    def scenario_of(self, number: int) -> Scenario:
        """Return the scenario of one storm, with its drawn fields."""
        return storm(self.scenario, number, vary=self.vary)

    def _pointers(self) -> list[int]:
        """Return the offsets of rows that name a step of the batch."""
        plan = self.batch.plan
        queues = [name for name in plan.queues if plan.queue_offset(name) >= 0]
        found = [plan.queue_offset(name) + layout.Q_POINTER * plan.tile for name in queues]
        links = range(int(plan.table[layout.P_LINKS]))
        return found + [plan.link_offset(link) + layout.L_POINTER * plan.tile for link in links]

    def _ranges(self) -> npt.NDArray[np.int64]:
        """Return the rows to be emptied, all but lines and the log: first, and first beyond; shape (ranges, 2)."""
        table, width = self.batch.plan.table, self.batch.plan.tile
        share = int(table[layout.P_COHORTS]) + 1
        lines = []
        if self.batch.plan.has_gate:
            lines.append((int(table[layout.P_GATE_LINES]), (int(table[layout.P_GATE_MASK]) + 1) * share))
        for server in range(int(table[layout.P_SERVERS])):
            entry = self.batch.plan.server_entry
            slots = entry(server, layout.PS_MASK) + 1
            lines.append((entry(server, layout.PS_LINES), slots * entry(server, layout.PS_WIDTH)))
        if table[layout.P_LINKS] > 0:
            slots = int(table[layout.P_LINK_MASK]) + 1
            lines.append((int(table[layout.P_LINK_LINES]), slots * int(table[layout.P_LINE_ROWS])))
        if table[layout.P_ALARMS] > 0:
            lines.append((int(table[layout.P_ALARMS]), layout.A_COUNT * layout.ALARM_LOG))
        edges = [0]
        for offset, rows in sorted(lines):
            edges += [offset // width, offset // width + rows]
        edges.append(int(table[layout.P_SIZE]) // width)
        return np.array(edges, np.int64).reshape(-1, 2)

    def _draw(self, numbers: Sequence[int]) -> None:
        """Work out the images of storms."""
        while len(self._images) + len(numbers) > _KEPT:
            del self._images[next(iter(self._images))]
        for first in range(0, len(numbers), WIDE_TILE):
            part = numbers[first : first + WIDE_TILE]
            drawn = Batch(
                [self.scenario_of(number) for number in part],
                part,
                self._setting,
                longest=self._longest,
                span=self._span,
                threads=1,
                tile=self.batch.plan.tile,
            )
            width = drawn.plan.tile
            for t, tile in enumerate(drawn._memory.reshape(drawn._memory.shape[0], -1, width)):
                rows, columns = np.nonzero(tile)
                for column, number in enumerate(part[t * width : (t + 1) * width]):
                    own = rows[columns == column].astype(np.int32)
                    self._images[number] = Image(own, tile[own, column])


def corners(scenario: Scenario) -> list[Scenario]:
    """Return the storms with all drawn fields at their lowest, and at their highest: no timer lies outside theirs."""
    spans = scenario.variation_or_default()
    return [scenario.with_fields({path: span[end] for path, span in spans.items()}, drawn=True) for end in (0, 1)]
