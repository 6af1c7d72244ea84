"""A token bucket: full at the start, filled at a rate, never above its depth."""

import simpy

EPSILON = 1e-9  # a sum of parts that ends a rounding error below one is one


class Bucket:
    """A limit [messages/s].

    Args:
        per_s: The limit.
        depth: What it can save; without one, what it gets in a second.
    """

    def __init__(self, env: simpy.Environment, per_s: float, depth: float | None = None) -> None:
        self._env, self._per_s, self._depth = env, per_s, depth
        self._tokens = depth or per_s
        self._since_s = env.now

    def holds_one(self) -> bool:
        self._fill()
        return self._tokens >= 1.0 - EPSILON

    def take(self) -> None:
        self._fill()
        self._tokens -= 1.0

    def turn(self, per_s: float) -> None:
        """Another limit from now on."""
        self._fill()
        self._per_s = per_s

    def _fill(self) -> None:
        gained = (self._env.now - self._since_s) * self._per_s
        self._tokens = min(self._tokens + gained, self._depth or max(self._per_s, 1.0))
        self._since_s = self._env.now
