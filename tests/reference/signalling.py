"""Builds the links of a scenario."""

from collections.abc import Callable

import numpy as np
import simpy

from tests.reference.fields import Fields, value
from tests.reference.knobs import Knobs
from tests.reference.links import Link, Marks, Signalling
from tests.reference.rate import Rate

RateOf = Callable[[float, str], Rate]
MS = 1000.0


def marks(fields: Fields, knobs: Knobs) -> Marks:
    """What all links of a scenario have, under a setting."""
    return Marks(
        window=fields["window"],
        start=value(fields, "start", Marks.start),
        stop=value(fields, "stop", Marks.stop),
        queue=value(fields, "queue", Marks.queue),
        trickle_per_s=value(fields, "trickle_per_s", 0.0),
        rto_min_s=knobs.links("rto_min_ms", Marks.rto_min_s * MS) / MS,
        rto_initial_s=knobs.links("rto_initial_ms", Marks.rto_initial_s * MS) / MS,
        rto_max_s=knobs.links("rto_max_ms", Marks.rto_max_s * MS) / MS,
        max_assoc_retx=int(knobs.links("max_assoc_retx", Marks.max_assoc_retx)),
        ack_delay_s=knobs.links("sack_period_ms", Marks.ack_delay_s * MS) / MS,
        map_timer_s=value(fields, "map_timer_s", Marks.map_timer_s),
        answer_loss_share=value(fields, "answer_loss_share", 0.0),
    )


def signalling(
    env: simpy.Environment,
    rng: np.random.Generator,
    fields: Fields,
    knobs: Knobs,
    alarmed: Callable[[bool], None],
    rate_of: RateOf,
) -> Signalling:
    """The links of all STPs; `rate_of` gives the rate that a link of a name starts with, from its base [1/s]."""
    common = marks(fields, knobs)
    stps, links = value(fields, "stps", 2), value(fields, "links_per_stp", 4)
    shares = list(fields.get("stp_rate_shares") or [1.0] * stps)
    updates = fields.get("window_updates") or ()

    def link(stp: int, slc: int) -> Link:
        name = f"stp{stp + 1}/slc{slc + 1}"
        rate = rate_of(fields["rate_per_s"] * shares[stp], name)
        return Link(env, rng, common, rate, name in updates, alarmed)

    return Signalling(env, rng, common, [[link(stp, slc) for slc in range(links)] for stp in range(stps)])


def chosen(links: Signalling, target: str) -> list[Link]:
    """The links of an event's target: one such as `stp2/slc1`, an STP such as `stp2`, or `*` for all."""
    stps = enumerate(links.stps, start=1)
    named = {f"stp{stp}/slc{slc}": link for stp, each in stps for slc, link in enumerate(each, start=1)}
    return [link for name, link in named.items() if target in ("*", name, name.partition("/")[0])]
