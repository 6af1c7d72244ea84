"""Rows of a running batch that begin another storm, as environments need it: each ends in a step of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.kernels.columns import renew
from signalstorm.envs.model.plan import Plan
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.storms import storm

Floats = npt.NDArray[np.float64]

_KEPT = 20_000
"""Storms whose images are kept; the oldest go first."""
_DRAWN = 32
"""Storms that are worked out together."""


@dataclass(frozen=True)
class Image:
    """What a storm's column of a tile holds before its first step, zeros left out."""

    rows: npt.NDArray[np.int32]
    """Rows that hold something."""
    values: Floats
    """What they hold."""
    fields: Floats
    """The storm's own numbers that settings are merged with, those of ``Batch.fields`` that storms draw."""


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
        self._places = np.zeros(0, np.int32)
        self._drawn = self._drawn_fields()
        self._emptied = self._ranges()
        self._clocks = self._named_steps()
        self._sends = int(self.batch.plan.table[layout.P_STORM]) // self.batch.plan.tile + layout.S_SENDS
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
        if not len(rows):
            return
        self.prepare(numbers)
        batch = self.batch
        memory, width = batch.tiles
        index = np.asarray(rows, np.int64)
        images = [self._images[number] for _, number in zip(rows, numbers, strict=True)]
        firsts = np.cumsum([0, *(len(image.rows) for image in images)])
        entries, values = (np.concatenate(parts) for parts in zip(*((i.rows, i.values) for i in images), strict=True))
        renew(memory, width, index, self._emptied, firsts, entries, values, self._clocks, batch.step, self._sends)
        if len(self._drawn):
            fields = batch.fields
            own = np.array([image.fields for image in images])
            for place, values in zip(self._drawn, own.T, strict=True):
                fields[place][index] = values
        self.began[index] = batch.step
        self.numbers[index] = numbers
        batch.settings[index] = self._setting
        youngest = int(self.began.max())
        batch.plan.table[layout.P_YOUNGEST] = youngest
        batch.plan.table[layout.P_END] = youngest + self.horizon

    def prepare(self, numbers: Sequence[int]) -> None:
        """Work out the first steps of storms ahead of time, which takes about a millisecond each."""
        missing = list(dict.fromkeys(number for number in numbers if number not in self._images))
        if missing:
            self._draw(missing)

    def knows(self, numbers: Sequence[int]) -> bool:
        """Say whether the first steps of all these storms have been worked out."""
        return all(number in self._images for number in numbers)

    def scenario_of(self, number: int) -> Scenario:
        """Return the scenario of one storm, with its drawn fields."""
        return storm(self.scenario, number, vary=self.vary)

    def _drawn_fields(self) -> npt.NDArray[np.int64]:
        """Return which of ``Batch.fields`` differ from storm to storm."""
        if not self._span:
            return np.zeros(0, np.int64)
        lowest, highest = (np.array(self._batch_of([one], [0]).fields)[:, 0] for one in self._span)
        return np.flatnonzero(lowest != highest)

    def _batch_of(self, storms: Sequence[Scenario], numbers: Sequence[int]) -> Batch:
        """Lay out storms in tiles of one, where a storm's column lies in one piece."""
        return Batch(storms, numbers, self._setting, longest=self._longest, span=self._span, threads=1, tile=1)

    def _find_places(self, one: Plan) -> npt.NDArray[np.int32]:
        """Return where the rows of a tile of one lie in the batch's tiles: all but those of links in the same place."""
        plan = self.batch.plan
        places = np.arange(int(one.table[layout.P_SIZE]), dtype=np.int32)
        for link in range(int(one.table[layout.P_LINKS])):
            for row in range(layout.L_COUNT):
                places[one.link_offset(link, row)] = plan.link_offset(link, row) // plan.tile
        return places

    def _named_steps(self) -> npt.NDArray[np.int64]:
        """Return the rows that name a step of the batch, first of them the one in which the storm began."""
        plan = self.batch.plan
        queues = [name for name in plan.queues if plan.queue_offset(name) >= 0]
        found = [int(plan.table[layout.P_STORM]) + layout.S_OFFSET * plan.tile]
        found += [plan.queue_offset(name) + layout.Q_POINTER * plan.tile for name in queues]
        links = range(int(plan.table[layout.P_LINKS]))
        found += [plan.link_offset(link, layout.L_POINTER) for link in links]
        return np.array(found, np.int64) // plan.tile

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
        for first in range(0, len(numbers), _DRAWN):
            part = numbers[first : first + _DRAWN]
            drawn = self._batch_of([self.scenario_of(number) for number in part], part)
            if not len(self._places):
                self._places = self._find_places(drawn.plan)
            fields = np.array(drawn.fields)[self._drawn].T
            for number, column, own in zip(part, drawn.tiles[0], fields, strict=True):
                rows = np.flatnonzero(column)
                self._images[number] = Image(self._places[rows], column[rows], own)


def corners(scenario: Scenario) -> list[Scenario]:
    """Return the storms with all drawn fields at their lowest, and at their highest: no timer lies outside theirs."""
    spans = scenario.variation_or_default()
    return [scenario.with_fields({path: span[end] for path, span in spans.items()}, drawn=True) for end in (0, 1)]
