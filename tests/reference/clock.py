"""One line around SimPy: call something later."""

from collections.abc import Callable

import simpy


def after(env: simpy.Environment, delay_s: float, call: Callable[[], None]) -> None:
    """Call once after a delay. Nothing is ever cancelled: who is called looks whether it still matters."""
    timeout = env.timeout(delay_s)
    assert timeout.callbacks is not None
    timeout.callbacks.append(lambda _: call())
