"""Every law by its name, and laws from names and parameters."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from signalstorm.agents.laws.base import Law
from signalstorm.agents.laws.queues import AdaptiveLifo, Breakwater, CoDel, Dagor, PidOnDelay
from signalstorm.agents.laws.rates import (
    Aimd,
    ConstantGain,
    DoicLoss,
    DoicRate,
    RateMatching,
    SipRate,
    StagedRelease,
)
from signalstorm.agents.laws.throttles import DdnAdditive, DraBands
from signalstorm.envs.model.errors import ABSENT, Fault, InputError, wrong_input
from signalstorm.envs.model.wording import nearest

LAWS: dict[str, type[Law]] = {
    law.name: law
    for law in (
        StagedRelease,
        Aimd,
        DraBands,
        DdnAdditive,
        DoicLoss,
        DoicRate,
        SipRate,
        CoDel,
        AdaptiveLifo,
        Dagor,
        Breakwater,
        PidOnDelay,
        ConstantGain,
        RateMatching,
    )
}
"""The classes, in the order of tables."""


def law_of(name: str, parameters: Mapping[str, Any] | None = None, file: str | None = None) -> Law:
    """Return a law.

    Args:
        name: A key of `LAWS`.
        parameters: Values of some of its parameters; the others have their defaults.
        file: What messages name as the place of the values.

    Raises:
        InputError: If there is no such law or parameter, or a value is no number.
    """
    if name not in LAWS:
        raise wrong_input("there is no such law", name, nearest(name, LAWS), file=file)
    known = [field.name for field in fields(LAWS[name])]
    given = parameters or {}
    faults = [
        Fault(file, None, f"{name}.{key}", "there is no such parameter", ABSENT, nearest(key, known))
        for key in given
        if key not in known
    ]
    faults += [
        Fault(file, None, f"{name}.{key}", "must be a number", str(value), "give one")
        for key, value in given.items()
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value)
    ]
    if faults:
        raise InputError(faults)
    return LAWS[name](**given)
