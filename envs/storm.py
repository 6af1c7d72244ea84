"""The single environment: one storm, one agent, through Gymnasium's ``Env``."""

from collections.abc import Mapping
from typing import Any, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from signalstorm.envs.announce import announce_compiling
from signalstorm.envs.arguments import STORM, check_reset, faults_of_making
from signalstorm.envs.loop import EPISODE, Loop, Result
from signalstorm.envs.registry import options_of
from signalstorm.envs.render import RENDER_FPS, RENDER_MODES, Screen

Observation = npt.NDArray[np.float32]


class StormEnv(gym.Env[Observation, Any]):
    """A signalling storm whose knobs an agent moves, once per control interval.

    **Observation**: ``Box(0, 1, float32)``, what an operator sees of the last interval and nothing else. Its parts
    depend on the elements of the network; ``env.unwrapped.features`` lists them, here those every family has:

    | part | unit | scale to 0..1 |
    |---|---|---|
    | attach requests, admitted, attach accepts, attach failures | 1/s | fourth root; 1: everybody within a minute |
    | refused for congestion, refused for network failure, dropped by the gate, stale at the gate | 1/s | the same |
    | create-session requests, detaches by the network, detaches by subscribers | 1/s | the same |
    | registered | subscribers | share of all |
    | waiting at the gate | requests | fourth root; 1: one per subscriber |
    | completed of those admitted, admitted of those that asked, failed of those that ended | share | as it is |
    | completed against the mean of 5 and of 20 intervals | ratio | r / (r + mean) |
    | each knob | its unit | place in its range, on its scale |

    and with the elements: location refreshes, messages sent and answers on the links, their queue, links congested and
    down, utilisation of the processors, what the Diameter agent was offered, passed and limited, notifications sent and
    dropped.

    **Action**: ``Box(-1, 1, float32)``, one number per knob, or ``Discrete`` / ``MultiDiscrete``. ``absolute``: the
    place in the knob's range, on its scale. ``delta``: a factor of exp(0.7 a) on the present value, or a tenth of the
    range. ``ratio``: a rate becomes the completions of the last known interval times 4^a; the neutral action 0 never
    opens the gate and so never recovers, it is *not* safe. ``discrete``: factors of 0.5, 0.8, 1, 1.25, 2. Every setting
    is legal: on the knob table's grid, in its range, within its rules.

    **Reward**: the sum of the terms in ``info["reward_terms"]``, all costs, each at most about 1 per interval; see
    ``reward``.

    **Start**: a storm drawn by ``np_random`` from ``options["storms"]``, or storm n with ``reset(options={"storm":
    n})``, which is then exactly the storm n of ``signalstorm simulate``. **End**: terminated once the storm is over
    (service back to the steady level for 60 s, no alarm, nothing more to come), unless made with ``early_end=False``;
    truncated at the horizon.

    Sources: ``docs/environments.md``, ``docs/model.md``.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(
        self, family: str, variant: str = "", render_mode: str | None = None, threads: int = 1, **changes: Any
    ) -> None:
        """Build the environment.

        Args:
            family: A family's name, such as ``IncidentSgsn``, or a scenario's name or path.
            variant: A variant's name, such as ``Easy``; empty for the plain one.
            render_mode: ``rgb_array`` or ``ansi``; ``human`` comes from Gymnasium's wrapper.
            threads: Threads at most; one storm needs no more than one.
            **changes: What differs from the variant: ``scenario``, ``knobs``, ``action_mode``, ``control_interval_s``,
                ``delay``, ``vary``, ``early_end``, ``start``, ``storms``, ``largest_change``, ``cool_down_s``,
                ``weights``, ``shaping_gamma``.

        Raises:
            InputError: If an argument is not legal.
        """
        wrong = faults_of_making(RENDER_MODES, render_mode, threads, wrapped=("human",))
        self.options = options_of(family, variant, beside=wrong, **changes)
        announce_compiling()
        self._loop = Loop(self.options, 1, threads)
        self.observation_space = cast(gym.Space[Observation], self._loop.observation_space)
        self.action_space = self._loop.action_space
        self.render_mode = render_mode
        self._screen = Screen(self._loop) if render_mode is not None else None
        self._begun = False

    @property
    def features(self) -> tuple[str, ...]:
        """What each number of an observation is."""
        return tuple(feature.name for feature in self._loop.features.list)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a storm.

        Args:
            seed: Seeds ``np_random``, from which storm numbers are drawn.
            options: ``storm``: the number of the storm to play.

        Raises:
            InputError: If the options are wrong; the storm that is going on stays then.
        """
        check_reset(options)
        super().reset(seed=seed)
        self._begun = True
        number = storm_number(self.np_random, self.options.storms, options)
        self._loop.start([0], [number])
        if self._screen is not None:
            self._screen.clear()
        return self._loop.observe()[0], self._facts()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Set the knobs and advance one control interval.

        Args:
            action: A point of the action space.

        Raises:
            ResetNeeded: If no storm was begun.
            ValueError: If the action does not belong to the space; nothing has moved then.
        """
        if not self._begun:
            raise gym.error.ResetNeeded("call reset() before step()")
        result = self._loop.step(np.asarray(action)[np.newaxis])
        if self._screen is not None:
            self._screen.look()
        return (
            result.observation[0],
            float(result.reward[0]),
            bool(result.terminated[0]),
            bool(result.truncated[0]),
            self._info(result),
        )

    def _info(self, result: Result) -> dict[str, Any]:
        terms = dict(zip(self._loop.terms, result.terms[:, 0].tolist(), strict=True))
        return {**self._facts(), "reward_terms": terms, "knobs": self._loop.actuator.named(self._loop.values[0])}

    def _facts(self) -> dict[str, Any]:
        """Return the KPIs of the storm so far, None where not reached."""
        kpis = dict(zip(EPISODE, self._loop.kpis([0])[:, 0].tolist(), strict=True))
        facts: dict[str, Any] = {name: None if value != value else value for name, value in kpis.items()}
        return facts | {name: int(kpis[name]) for name in ("storm", "changes", "stormed", "converged")}

    def render(self) -> Any:
        """Return the storm so far: an image of shape (height, width, 3), or lines of text."""
        if self._screen is None:
            gym.logger.warn('render() needs a mode, such as gym.make(..., render_mode="ansi")')
            return None
        return self._screen.text() if self.render_mode == "ansi" else self._screen.image()


def storm_number(
    rng: np.random.Generator, storms: tuple[int, int], options: Mapping[str, Any] | None, row: int | None = None
) -> int:
    """Return the storm to play: the one asked for, or one that is drawn.

    Args:
        rng: Draws it.
        storms: The first number, and the first beyond.
        options: ``storm``: a number, or one per row, checked by `check_reset`.
        row: Which of them.
    """
    asked = None if options is None else options.get(STORM)
    if asked is None:
        return int(rng.integers(*storms))
    return int(asked if row is None or np.ndim(asked) == 0 else asked[row])
