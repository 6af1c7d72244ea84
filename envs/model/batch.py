"""A batch: many storms, each under its own setting, advanced together by the compiled kernel."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from signalstorm.envs.model import core_parameters, parameters
from signalstorm.envs.model.cache import compiling, prepare_cache
from signalstorm.envs.model.event_rows import event_column, last_step
from signalstorm.envs.model.glance import fit_queue, set_gate
from signalstorm.envs.model.kernels import core_layout, layout
from signalstorm.envs.model.kernels.columns import gather
from signalstorm.envs.model.kernels.memory import Tile
from signalstorm.envs.model.kernels.run import run as run_tile
from signalstorm.envs.model.plan import Plan, Reach, make_plan, queued_servers
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_core_events import CrowdEvent, NodeEvent, StagedReleaseEvent
from signalstorm.envs.model.scenario_events import LatencyEvent, MassDetachEvent
from signalstorm.envs.model.storms import storm_key
from signalstorm.envs.model.workers import available_cores, share_out

_log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]

WIDE_TILE = 32
"""Storms per tile in a batch; a trial of 8, 16, 32 and 64 found 32 fastest."""
_FEW = 4
"""Up to so many storms run one by one: a wide tile would cost more than it saves."""


class Batch:
    """Storms with their state; rows are storms in the order given."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        storms: Sequence[int],
        settings: npt.ArrayLike,
        *,
        rows: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        record_s: float | None = None,
        threads: int | None = None,
        tile: int | None = None,
        check: bool = False,
        longest: Mapping[str, float] | None = None,
        span: Sequence[Scenario] = (),
    ) -> None:
        """Lay out and fill the tiles.

        Args:
            scenarios: One scenario per storm; all of one structure (classes, elements, events, step).
            storms: The storm number of each, which keys its draws.
            settings: Setting vectors, shape (settings, fields), see ``parameters.SETTING_FIELDS``.
            rows: For each row of the batch the index of its storm and of its setting; by default row i has storm i
                and setting i (or the only one).
            record_s: Time between two records [s]; none by default.
            threads: Threads at most; by default one per available core.
            tile: Storms per tile; by default chosen by the number of rows.
            check: Whether to check conservation in every step.
            longest: Largest values that knobs which set a time (``nop_wait_s``, ``gtpc_retries``) will take in mid-run,
                where larger than those in ``settings``.
            span: Storms whose timers are as short and as long as those of any storm that a row will be given later, see
                ``renewal``.
        """
        self.scenario = scenarios[0]
        self.dt = self.scenario.dt
        matrix = np.atleast_2d(np.asarray(settings, np.float64))
        storm_index, setting_index = rows if rows is not None else _pairs(len(scenarios), len(matrix))
        self.storm_index = np.asarray(storm_index, np.intp)
        self.settings = matrix[np.asarray(setting_index, np.intp)]
        self.size = len(self.storm_index)
        self.threads = threads or available_cores()
        self.step, self.begun, self._compiled = 0, False, False
        width = tile or (1 if self.size <= _FEW else WIDE_TILE)
        self._storms, self._span = list(scenarios), list(span)
        self._known = [*self._storms, *span]
        record_every = 0 if record_s is None else max(round(record_s / self.dt), 1)
        self._servers = {
            name: self._column([parameters.server_columns(s, name) for s in scenarios])
            for name in queued_servers(self.scenario)
        }
        topology = self.scenario.topology
        links = topology.links.stps * topology.links.links_per_stp if topology.links else 0
        self._links = [
            self._column([parameters.link_columns(s, s.topology.links, link) for s in scenarios if s.topology.links])
            for link in range(links)
        ]
        self._parts = parameters.kernel_classes(self._known)
        self.core = core_parameters.uses_core(self.scenario, self.settings, parameters.SETTING_FIELDS)
        self._core = self._column([core_parameters.core_columns(s) for s in scenarios]) if self.core else {}
        self._manager = self._column([parameters.imsimgr_columns(s, self.dt) for s in scenarios])
        self.plan: Plan = make_plan(
            self.scenario,
            self._parts,
            self._reach(longest or {}),
            width,
            record_every=record_every,
            check=check,
            core=self.core,
        )
        self._tile = Tile(width)
        tiles = -(-self.size // width)
        self._memory = np.zeros((tiles, int(self.plan.table[layout.P_SIZE])))
        count = int(self.plan.table[layout.P_END]) // record_every if record_every else 0
        self._records = np.zeros((tiles, count, int(self.plan.table[layout.P_RECORD_WIDTH]), width))
        self._fill(storms)

    def _column(self, columns: Sequence[Mapping[Any, float]]) -> dict[Any, Floats]:
        """Stack per-storm values into one array per name, one number per row."""
        return {key: np.array([column[key] for column in columns])[self.storm_index] for key in columns[0]}

    def _reach(self, longest: Mapping[str, float]) -> Reach:
        """Find the longest delays of the batch [steps]."""
        end = round(self.scenario.horizon_s / self.dt)
        classes = [parameters.class_columns(s, part) for s in self._known for part in self._parts]
        short = max(max(rows[layout.C_REFUSED_HIGH], rows[layout.C_SILENT_HIGH]) for rows in classes)
        long = [1.0]
        for rows in classes:
            long += [] if self.scenario.topology.links is None else [rows[layout.C_REATTACH] + 1.0]
            long += [rows[layout.C_POWER_HIGH]] if rows[layout.C_POWER_SHARE] > 0.0 else []
            long += [v for v in (rows[layout.C_REFUSED_LONG_HIGH], rows[layout.C_SILENT_LONG_HIGH]) if v < layout.NEVER]
        settings = self.settings.copy()
        for name, value in longest.items():
            at = parameters.SETTING_FIELDS.index(name)
            settings[:, at] = np.fmax(settings[:, at], value)
        long.append(float(parameters.back_off_s(settings)[1].max()) / self.dt + 1.0)
        long.append(longest.get("t3346_s", 0.0) * (1.0 + parameters.T3346_SPREAD) / self.dt + 1.0)
        long.append(longest.get("t3346_high_min", 0.0) * 60.0 / self.dt + 1.0)
        long += [
            event.spread_s / self.dt + 2.0
            for storm in self._known
            for event in storm.timeline
            if isinstance(event, MassDetachEvent | CrowdEvent | NodeEvent | StagedReleaseEvent)
        ]
        wait = float(np.nan_to_num(parameters.column(settings, "nop_wait_s")).max())
        return Reach(
            gate=round(wait / self.dt) + 1,
            short=min(int(short), end),
            long=min(int(max(long)), end),
            server={name: self._server_reach(name, settings) for name in self._servers},
            link=int(max((s.topology.links.map_timer_s for s in self._known if s.topology.links), default=0) / self.dt)
            + 1,
            put_off=parameters.longest_put_off(self._known, settings),
        )

    def _server_reach(self, name: str, settings: Floats) -> int:
        """Find the longest timer or latency of a server [steps]."""
        fields = dict(self._servers[name])
        if self._span:
            others = [parameters.server_columns(s, name) for s in self._span]
            fields = {key: np.append(own, [other[key] for other in others]) for key, own in fields.items()}
            settings = np.vstack([settings, np.repeat(settings[:1], len(others), axis=0)])
        parameters.merge_knobs(name, fields, settings)
        rows = parameters.server_rows(fields, self.dt)
        seconds = [
            event.value_s
            for s in self._known
            for event in s.timeline
            if isinstance(event, LatencyEvent) and event.target == name
        ]
        steps = [float(np.max(rows[layout.Q_TIMER])), float(np.max(rows[layout.Q_LATENCY]))]
        return int(max([*steps, *(round(s / self.dt) for s in seconds)]))

    # -- filling and reading tiles ------------------------------------------------------------------------------

    def _rows(self, offset: int, count: int) -> Floats:
        """View ``count`` rows of all tiles; shape (tiles, count, storms per tile)."""
        width = self.plan.tile
        return self._memory[:, offset : offset + count * width].reshape(-1, count, width)

    def _put(self, offset: int, row: int, values: npt.ArrayLike) -> None:
        """Write one number per row of the batch; rows beyond the batch get the last one's."""
        padded = np.empty(self._memory.shape[0] * self.plan.tile)
        padded[: self.size] = values
        padded[self.size :] = padded[self.size - 1]
        self._rows(offset, row + 1)[:, row, :] = padded.reshape(-1, self.plan.tile)

    def _take(self, block: Floats) -> Floats:
        """Turn (tiles, quantities, storms per tile) into (quantities, rows of the batch)."""
        return np.moveaxis(block, 1, 0).reshape(block.shape[1], -1)[:, : self.size].copy()

    def _fill(self, storms: Sequence[int]) -> None:
        table = self.plan.table
        keys = np.array([storm_key(number) for number in storms], np.float64)[self.storm_index]
        storm = int(table[layout.P_STORM])
        self._put(storm, layout.S_SEED_LOW, keys[:, 0])
        self._put(storm, layout.S_SEED_HIGH, keys[:, 1])
        self._put(storm, layout.S_SENDS, 1.0)
        for row, values in self._column([parameters.storm_columns(s) for s in self._storms]).items():
            self._put(storm, row, values)
        self._fill_classes()
        self._fill_links()
        table[layout.P_UNIFORM] = self._uniform()
        if self.core:
            self._fill_core()
        self._fill_events()
        self.set_settings(self.settings)
        kpi = int(table[layout.P_KPI])
        for row in (layout.K_T50, layout.K_T75, layout.K_T95, layout.K_T, layout.K_HEALTHY_SINCE, layout.K_OVER):
            self._put(kpi, row, -1.0)
        over = self._rows(kpi, layout.K_COUNT)[:, layout.K_OVER, :]
        over.reshape(-1)[self.size :] = 0.0
        self._rows(kpi, layout.K_COUNT)[:, layout.K_OVER, :] = over

    def _uniform(self) -> bool:
        """Whether the handsets and links of all storms have the same timers."""

        def timers(storm: Scenario) -> tuple[Any, ...]:
            links = storm.topology.links
            return (links and links.map_timer_s, *((group.ladder, group.power_cycle_s) for group in storm.subscribers))

        return all(timers(storm) == timers(self._known[0]) for storm in self._known)

    def _fill_classes(self) -> None:
        table = self.plan.table
        classes = len(self._parts)
        registered = self._rows(int(table[layout.P_REGISTERED]), classes)
        idle = self._rows(int(table[layout.P_IDLE]), classes)
        steady = np.zeros(self.size)
        for c, part in enumerate(self._parts):
            offset = int(table[layout.P_CLASS]) + c * layout.C_COUNT * self.plan.tile
            for row, values in self._column([parameters.class_columns(s, part) for s in self._storms]).items():
                self._put(offset, row, values)
            share = self._column([{0: s.subscribers[part.group].registered_share} for s in self._storms])[0]
            size = self._column([{0: part.size(s)} for s in self._storms])[0]
            flat = np.zeros(self._memory.shape[0] * self.plan.tile)
            flat[: self.size] = share * size
            registered[:, c, :] = flat.reshape(-1, self.plan.tile)
            flat[: self.size] = size - share * size
            idle[:, c, :] = flat.reshape(-1, self.plan.tile)
            steady += size - share * size
        self._put(int(table[layout.P_KPI]), layout.K_STEADY, steady)
        self._put(int(table[layout.P_KPI]), layout.K_WITHOUT, steady)

    def _fill_links(self) -> None:
        """Fill the IMSI manager, the activity profile and the links' state."""
        table, topology = self.plan.table, self.scenario.topology
        if topology.links is None:
            return
        points = int(table[layout.P_PROFILE_POINTS])
        profiles = [s.activity.points if s.activity else ((0.0, 0.0), (1.0, 0.0)) for s in self._storms]
        for i in range(points):
            at = self._column([{0: float(round(p[i][0] / self.dt)), 1: p[i][1] * self.dt} for p in profiles])
            self._put(int(table[layout.P_PROFILE]), i, at[0])
            self._put(int(table[layout.P_PROFILE]), points + i, at[1])
        self._put_links()
        for link in range(int(table[layout.P_LINKS])):
            rows = parameters.link_rows(self._links[link], self.settings, self.dt)
            initial = np.clip(rows[layout.L_RTO_INITIAL], rows[layout.L_RTO_MIN], rows[layout.L_RTO_MAX])
            self._put(self.plan.link_offset(link, layout.L_RTO), 0, initial)

    def _put_links(self) -> None:
        """Write the links' parameters and knobs; rates only before the first step."""
        longest = int(self.plan.table[layout.P_PUT_OFF_MASK])
        for row, values in parameters.put_off_rows(self._links, self.settings, self.dt, longest).items():
            self._put(int(self.plan.table[layout.P_STORM]), row, values)
        for link, fields in enumerate(self._links):
            for row, values in parameters.link_rows(fields, self.settings, self.dt).items():
                if not self.begun or row != layout.L_MEAN:
                    self._put(self.plan.link_offset(link, row), 0, values)

    def _fill_core(self) -> None:
        """Fill buckets, clocks and peers of the elements beyond the attach chain, and the profile of power-cycles."""
        table = self.plan.table
        at = int(table[layout.P_CORE])
        for row, values in core_parameters.start_rows(self._core, self.dt).items():
            self._put(int(table[at + core_layout.X_BLOCK]), row, values)
        for p in range(int(table[at + core_layout.X_PEERS])):
            peers = [s.topology.dra.peers[p] for s in self._storms if s.topology.dra]
            columns = self._column([core_parameters.peer_columns(peer, self.dt) for peer in peers])
            for row, values in columns.items():
                self._put(self.plan.peer_offset(p), row, values)
        for c, part in enumerate(self._parts):
            churn = [{0: s.churn_per_s(s.subscribers[part.group]) * self.dt} for s in self._storms]
            self._put(int(table[at + core_layout.X_CHURN]), c, self._column(churn)[0])
        points = int(table[at + core_layout.X_POINTS])
        profiles = [s.churn_profile.points for s in self._storms if s.churn_profile]
        for i in range(points):
            column = self._column([{0: float(round(p[i][0] / self.dt)), 1: p[i][1]} for p in profiles])
            self._put(int(table[at + core_layout.X_PROFILE]), i, column[0])
            self._put(int(table[at + core_layout.X_PROFILE]), points + i, column[1])

    def _put_core(self) -> None:
        """Write the parameters and knobs of the elements beyond the attach chain, and what knobs change elsewhere."""
        if self.core:
            at = int(self.plan.table[int(self.plan.table[layout.P_CORE]) + core_layout.X_BLOCK])
            rows = core_parameters.core_rows(self._core, self.settings, parameters.SETTING_FIELDS, self.dt)
            for row, values in rows.items():
                self._put(at, row, values)
        manager = self.scenario.topology.imsimgr
        if manager is not None:
            for row, values in parameters.imsimgr_rows(self._manager, self.settings).items():
                self._put(int(self.plan.table[layout.P_IMSIMGR]), row, values)

    def _fill_events(self) -> None:
        for e in range(len(self.scenario.timeline)):
            offset = int(self.plan.table[layout.P_EVENT]) + e * layout.E_COUNT * self.plan.tile
            columns = self._column([event_column(s, e, self.plan) for s in self._storms])
            for row, values in columns.items():
                self._put(offset, row, values)
            last = max(last_step(event_column(s, e, self.plan)) for s in self._known)
            self.plan.table[layout.P_LAST_EVENT] = max(int(self.plan.table[layout.P_LAST_EVENT]), last)

    def set_settings(self, settings: npt.ArrayLike, moved: Collection[str] | None = None) -> None:
        """Change the knobs of every row from the next step on.

        Args:
            settings: Setting vectors, shape (rows, fields). A changed rate of a server holds until an event changes it.
            moved: Names of the fields that may differ from those in force; None: look.
        """
        before, self.settings = self.settings, np.array(settings, np.float64)  # a copy: callers go on with theirs
        self._put_settings(before, self._moved(before) if moved is None or not self.begun else set(moved))

    def _moved(self, before: Floats) -> set[str]:
        """Return the knobs that any row changes; before the first step all count as changed."""
        if not self.begun:
            return set(parameters.SETTING_FIELDS)
        differs = (before != self.settings) & ~(np.isnan(before) & np.isnan(self.settings))
        return {name for name, any_row in zip(parameters.SETTING_FIELDS, differs.any(axis=0), strict=True) if any_row}

    def _put_settings(self, before: Floats, moved: set[str]) -> None:
        """Write what the knobs that have moved change."""
        if self.plan.has_gate and moved & parameters.GATE_KNOBS:
            self._set_gate()
            if not moved <= parameters.GATE_RATE_KNOBS:
                for row, values in parameters.gate_storm_rows(self.settings, self.dt).items():
                    self._put(int(self.plan.table[layout.P_STORM]), row, values)
        if moved <= parameters.GATE_KNOBS:
            return
        self._put_links()
        self._put_core()
        changed = np.not_equal(
            *(np.nan_to_num(parameters.column(matrix, "pcrf_rate_per_s")) for matrix in (before, self.settings))
        )
        for name, own in self._servers.items():
            fields = dict(own)
            parameters.merge_knobs(name, fields, self.settings)
            rows = parameters.server_rows(fields, self.dt)
            if self.begun:
                now = self._take(self._rows(self.plan.queue_offset(name), layout.Q_COUNT))
                base = np.where(changed & (name == "pcrf"), rows[layout.Q_BASE], now[layout.Q_BASE])
                rows = {
                    layout.Q_TIMER: rows[layout.Q_TIMER],
                    layout.Q_PATIENCE: np.maximum(rows[layout.Q_TIMER] - now[layout.Q_LATENCY], 0.0),
                    layout.Q_REPEAT: rows[layout.Q_REPEAT],
                    layout.Q_REPEATS: rows[layout.Q_REPEATS],
                    layout.Q_BASE: base,
                    layout.Q_MEAN: base * now[layout.Q_UP],
                }
            for row, values in rows.items():
                self._put(self.plan.queue_offset(name), row, values)

    def _set_gate(self) -> None:
        """Write rate, queue and patience of the gate as the settings have them."""
        gate, width = self.plan.queue_offset("gate"), self.plan.tile
        rows = gate + np.array([layout.Q_MEAN, layout.Q_CAPACITY, layout.Q_PATIENCE]) * width
        set_gate(self._memory, width, rows, self.settings, parameters.GATE_FIELDS, self.dt)

    def retune(self, lowest: float, highest: float, held_s: Floats) -> None:
        """Let the gate follow a rate or wait that was changed in `settings` itself; nothing else may differ there.

        Args:
            lowest: Shortest legal queue.
            highest: Longest.
            held_s: How long a full queue waits, NaN for the default length; shape (rows,) [s].
        """
        fit_queue(self.settings, parameters.GATE_FIELDS, held_s, lowest, highest)
        self._set_gate()

    # -- running ------------------------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """Last step of the horizon."""
        return int(self.plan.table[layout.P_END])

    def run(self, steps: int | None = None) -> None:
        """Advance every row, by default to the end of the horizon."""
        count = self.end - self.step if steps is None else min(steps, self.end - self.step)
        if not self._compiled:
            _compile(self)
        share_out(lambda t: self.run_tile(t, count), len(self._memory), self.threads)
        self.step += count
        self.begun = True

    def run_tile(self, t: int, count: int) -> None:
        """Advance one tile; threads may call it for different tiles at once."""
        address = self._memory.ctypes.data + t * self._memory.strides[0]
        linked = None if self.scenario.topology.links is None else np.uint8(1)
        core = np.uint8(1) if self.core else None
        run_tile(address, self.plan.table, self.step, count, self._records[t], linked, core, self._tile)

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Which rows cannot change any more."""
        return np.asarray(self.counters()[layout.K_OVER] >= 0)

    def counters(self) -> Floats:
        """Return the counters, final ones where a storm is over; shape (``layout.K_COUNT``, rows)."""
        live = self._take(self._rows(int(self.plan.table[layout.P_KPI]), layout.K_COUNT))
        final = self._take(self._rows(int(self.plan.table[layout.P_FINAL]), layout.K_COUNT))
        return np.where(live[layout.K_OVER] >= 0, final, live)

    def queue(self, name: str) -> Floats:
        """Return a queue's block, final where a storm is over; shape (``layout.Q_COUNT``, rows)."""
        live = self._take(self._rows(self.plan.queue_offset(name), layout.Q_COUNT))
        at = int(self.plan.table[layout.P_FINAL])
        at += (layout.K_COUNT + self.plan.queues.index(name) * layout.Q_COUNT) * self.plan.tile
        final = self._take(self._rows(at, layout.Q_COUNT))
        return np.where(self.over, final, live)

    @property
    def fields(self) -> list[Floats]:
        """What settings are merged with when knobs move: the storms' own numbers, each of shape (rows,)."""
        parts = [*self._servers.values(), *self._links, self._core, self._manager]
        return [values for part in parts for values in part.values()]

    @property
    def tiles(self) -> tuple[Floats, int]:
        """The memory of all tiles, for compiled functions that read it: shape (tiles, numbers); storms per tile."""
        return self._memory, self.plan.tile

    def read(self, offsets: npt.ArrayLike) -> Floats:
        """Return rows of blocks by their offsets in a tile, as they stand; shape (offsets, rows)."""
        at = np.asarray(offsets, np.int64)
        out = np.empty((len(at), len(self._memory) * self.plan.tile))
        gather(self._memory, at, self.plan.tile, out)
        return out[:, : self.size]

    def imsimgr_peak(self) -> Floats:
        """Return the largest smoothed utilisation of the IMSI manager per row, NaN without one."""
        offset = int(self.plan.table[layout.P_IMSIMGR])
        if offset < 0:
            return np.full(self.size, np.nan)
        return np.asarray(self._take(self._rows(offset, layout.I_COUNT))[layout.I_PEAK])

    def core_block(self) -> Floats:
        """Return the core block; shape (``core_layout.N_COUNT``, rows); NaN without one."""
        if not self.core:
            return np.full((core_layout.N_COUNT, self.size), np.nan)
        at = int(self.plan.table[int(self.plan.table[layout.P_CORE]) + core_layout.X_BLOCK])
        return self._take(self._rows(at, core_layout.N_COUNT))

    def peer_block(self, p: int) -> Floats:
        """Return the block of a peer of the Diameter agent; shape (``core_layout.B_COUNT``, rows)."""
        return self._take(self._rows(self.plan.peer_offset(p), core_layout.B_COUNT))

    def links(self) -> Floats:
        """Return the links' blocks; shape (links, ``layout.L_COUNT``, rows)."""
        count = int(self.plan.table[layout.P_LINKS])
        offsets = [self.plan.link_offset(link, row) for link in range(count) for row in range(layout.L_COUNT)]
        return self.read(offsets).reshape(count, layout.L_COUNT, self.size)

    def alarms(self) -> list[list[tuple[float, int, bool]]]:
        """Return per row the alarms logged: time [s], element, whether set.

        Elements are link numbers for congestion, ALARM_DOWN + link number for a link out of service, ALARM_IMSIMGR.
        """
        if self.scenario.topology.links is None and not (self.core and self.scenario.topology.imsimgr):
            return [[] for _ in range(self.size)]
        storm = self._take(self._rows(int(self.plan.table[layout.P_STORM]), layout.S_COUNT))
        log = self._take(self._rows(int(self.plan.table[layout.P_ALARMS]), layout.A_COUNT * layout.ALARM_LOG))
        log = log.reshape(layout.ALARM_LOG, layout.A_COUNT, self.size)
        kept = np.minimum(storm[layout.S_ALARMS], layout.ALARM_LOG).astype(int)
        return [
            [(float(step) * self.dt, int(element), edge > 0) for step, element, edge in log[: kept[b], :, b]]
            for b in range(self.size)
        ]

    def records(self) -> Floats:
        """Return the records; shape (records, quantities, rows)."""
        stacked = np.moveaxis(self._records, 0, 2)
        return stacked.reshape(stacked.shape[0], stacked.shape[1], -1)[:, :, : self.size].copy()


def _pairs(storms: int, settings: int) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    return np.arange(storms), np.zeros(storms) if settings == 1 else np.arange(settings)


def _compile(batch: Batch) -> None:
    """Say so, and do it, if the kernel was never compiled for this tile width on this machine."""
    width = batch.plan.tile
    linked = batch.scenario.topology.links is not None
    kind = f"{'-linked' if linked else ''}{'-core' if batch.core else ''}"
    mark = prepare_cache() / f"compiled-{width}{kind}"
    batch._compiled = True
    if mark.exists():
        return
    about_s = 45 if batch.core else 35 if linked else 30
    _log.info("compiling the model for this machine (storms in tiles of %d); once, about %d s ...", width, about_s)
    with compiling() as elapsed_s:
        batch.run_tile(0, 0)
    mark.parent.mkdir(parents=True, exist_ok=True)  # another version may have tidied up meanwhile
    mark.touch()
    _log.info("compiled in %.0f s", elapsed_s())
