"""The substep, and the loop over substeps: one call per tile and control interval, or per whole horizon."""

from numba import njit

from signalstorm.envs.model.kernels.counters import all_over, count, record
from signalstorm.envs.model.kernels.exchange import exchange
from signalstorm.envs.model.kernels.gate import pace
from signalstorm.envs.model.kernels.imsimgr import manage
from signalstorm.envs.model.kernels.layout import P_RECORD, P_SERVERS
from signalstorm.envs.model.kernels.memory import table
from signalstorm.envs.model.kernels.servers import serve
from signalstorm.envs.model.kernels.subscribers import conclude, refresh, request
from signalstorm.envs.model.kernels.timeline import happen

_LOOK = 64
"""[steps] between two looks whether a tile is over."""


@njit(inline="always")
def substep(base, plan, step, linked, tile):
    """Advance every storm of a tile by one step, in the order of the model's page.

    ``linked`` is None for a network without signalling links: what belongs to them is then not even compiled.
    """
    happen(base, plan, step, linked, tile)
    request(base, plan, step, linked, tile)
    if linked is not None:
        refresh(base, plan, step, tile)
        manage(base, plan, step, tile)
    pace(base, plan, step, linked, tile)
    if linked is not None:
        exchange(base, plan, step, tile)
    for server in range(plan[P_SERVERS]):
        serve(base, plan, server, step, tile)
    conclude(base, plan, step, linked, tile)
    count(base, plan, step, linked, tile)


@njit(nogil=True, cache=True, error_model="numpy")
def run(base, plan, first, count_of_steps, records, linked, tile):
    """Advance a tile from step ``first`` on.

    Args:
        base: Address of the tile's array.
        plan: The table of offsets and counts, see ``layout``.
        first: First step.
        count_of_steps: Number of steps.
        records: Where records go; shape (records of the whole run, quantities, storms of the tile).
        linked: None for a network without signalling links, else anything.
        tile: A `memory.Tile`.
    """
    plan = table(plan)
    every = plan[P_RECORD]
    last = first + count_of_steps
    step = first
    while step < last:
        if (step - first) % _LOOK == 0 and all_over(base, plan, tile):
            break
        substep(base, plan, step, linked, tile)
        if every > 0 and (step + 1) % every == 0:
            record(base, plan, records[(step + 1) // every - 1], tile)
        step += 1
    while every > 0 and step < last:
        if (step + 1) % every == 0:
            record(base, plan, records[(step + 1) // every - 1], tile)
        step += 1
