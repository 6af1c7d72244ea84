"""The substep, and the loop over substeps: one call per tile and control interval, or per whole horizon."""

from numba import njit

from signalstorm.envs.model.kernels.broadcast import ask
from signalstorm.envs.model.kernels.core_layout import X_BROKEN, X_DDN, X_DRA, X_PRIORITY, X_UNKNOWN
from signalstorm.envs.model.kernels.counters import all_over, count, record
from signalstorm.envs.model.kernels.crowd import bar, pulse, step_aside, step_in, turn_away
from signalstorm.envs.model.kernels.ddn import notify
from signalstorm.envs.model.kernels.dra import relay
from signalstorm.envs.model.kernels.exchange import exchange
from signalstorm.envs.model.kernels.failure import fall_back
from signalstorm.envs.model.kernels.gate import pace
from signalstorm.envs.model.kernels.imsimgr import manage
from signalstorm.envs.model.kernels.layout import (
    P_CORE,
    P_RECORD,
    P_SERVERS,
    P_STORM,
    S_APART,
    S_COUNT,
    S_OFFSET,
    S_STEP,
)
from signalstorm.envs.model.kernels.memory import area, table
from signalstorm.envs.model.kernels.processors import measure
from signalstorm.envs.model.kernels.servers import serve
from signalstorm.envs.model.kernels.subscribers import conclude, refresh, request
from signalstorm.envs.model.kernels.timeline import happen

_LOOK = 64
"""[steps] between two looks whether a tile is over."""


@njit(inline="always")
def substep(base, plan, step, linked, core, tile):
    """Advance every storm of a tile by one step, in the order of the model's page.

    ``linked`` is None for a network without signalling links, ``core`` for one without any element beyond the attach
    chain: what belongs to them is then not even compiled.
    """
    happen(base, plan, step, linked, core, tile)
    if core is not None:
        pulse(base, plan, tile)
    request(base, plan, step, linked, tile)
    if core is not None:
        bar(base, plan, step, tile)
    if linked is not None:
        refresh(base, plan, step, tile)
    if core is not None:
        if plan[plan[P_CORE] + X_UNKNOWN]:
            ask(base, plan, tile)
        manage(base, plan, step, tile)
        if plan[plan[P_CORE] + X_PRIORITY]:
            step_aside(base, plan, tile)
    elif linked is not None:
        manage(base, plan, step, tile)
    pace(base, plan, step, linked, tile)
    if core is not None:
        _prepare(base, plan, step, linked, tile)
    if linked is not None:
        exchange(base, plan, step, tile)
    for server in range(plan[P_SERVERS]):
        serve(base, plan, server, step, tile)
    if core is not None:
        fall_back(base, plan, tile)
        measure(base, plan, tile)
    conclude(base, plan, step, linked, tile)
    count(base, plan, step, linked, core, tile)
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    for b in range(len(tile)):
        storm[S_STEP, b] += 1.0


@njit(error_model="numpy")
def _set_clocks(base, plan, first, tile):
    """Set each storm's own step, and note whether they are the same."""
    storm = area(base, plan, P_STORM, 0, S_COUNT, tile)
    apart = 0.0
    for b in range(len(tile)):
        storm[S_STEP, b] = first - storm[S_OFFSET, b]
        apart = 1.0 if storm[S_OFFSET, b] != storm[S_OFFSET, 0] else apart
    storm[S_APART, 0] = apart


@njit(error_model="numpy")
def _prepare(base, plan, step, linked, tile):
    """Bring to the servers what does not come from the gate, and take away what they never see."""
    at = plan[P_CORE]
    if plan[at + X_PRIORITY]:
        step_in(base, plan, linked, tile)
    if plan[at + X_BROKEN]:
        turn_away(base, plan, tile)
    if plan[at + X_DRA]:
        relay(base, plan, step, tile)
    if plan[at + X_DDN]:
        notify(base, plan, tile)


@njit(nogil=True, cache=True, error_model="numpy")
def run(base, plan, first, count_of_steps, records, linked, core, tile):
    """Advance a tile from step ``first`` on.

    Args:
        base: Address of the tile's array.
        plan: The table of offsets and counts, see ``layout``.
        first: First step.
        count_of_steps: Number of steps.
        records: Where records go; shape (records of the whole run, quantities, storms of the tile).
        linked: None for a network without signalling links, else anything.
        core: None for a network without elements beyond the attach chain, else anything.
        tile: A `memory.Tile`.
    """
    plan = table(plan)
    every = plan[P_RECORD]
    _set_clocks(base, plan, first, tile)
    last = first + count_of_steps
    step = first
    while step < last:
        if (step - first) % _LOOK == 0 and all_over(base, plan, tile):
            break
        substep(base, plan, step, linked, core, tile)
        if every > 0 and (step + 1) % every == 0:
            record(base, plan, records[(step + 1) // every - 1], core, tile)
        step += 1
    while every > 0 and step < last:
        if (step + 1) % every == 0:
            record(base, plan, records[(step + 1) // every - 1], core, tile)
        step += 1
