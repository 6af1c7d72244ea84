"""Training files: what PPO is told, on which environment, for how long; the default is what most families want."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from signalstorm.agents.catalogue import LAWS
from signalstorm.envs.arguments import LARGEST_ROWS
from signalstorm.envs.model.errors import Finding, Shown
from signalstorm.envs.model.faults import several
from signalstorm.envs.model.scenario_parts import Between, Number, Part, Whole, is_number
from signalstorm.envs.model.storms import CHOICE, HELD_OUT
from signalstorm.envs.model.typed_files import Kind, Look
from signalstorm.envs.model.wording import nearest

Steps = Annotated[int, Between(1, 1_000_000_000)]
"""Steps of a training, or updates."""
Units = Annotated[int, Between(1, 2048)]
"""Units of a layer; with the most layers both networks take some 1 GB with gradients and optimiser."""
MOST_LAYERS = 8
"""Hidden layers at most."""
MOST_GATHERED = 4_000_000
"""Steps of all rows between two updates at most; they are held in memory, 1 kB each or less."""
MOST_SHOWN = 20_000
"""Storms of a warm start at most, of all its rounds; they are held in memory, 100 kB each in 240 intervals."""
_LARGEST_COUNT = 65_536
"""Rows, and steps of each, beyond which nothing follows: they are refused."""
Share = Annotated[Number, Field(ge=0, le=1)]
Positive = Annotated[Number, Field(gt=0)]


class Learning(Part):
    """What the algorithm is told (Schulman et al. 2017)."""

    algorithm: Literal["ppo", "recurrent-ppo"] = "ppo"
    """PPO, or PPO with a recurrent layer."""
    steps: Annotated[int, Between(1, 65_536)] = 64
    """Steps of each row between two updates."""
    batch_size: Annotated[int, Between(2, MOST_GATHERED)] = 2048
    """Steps of a minibatch, at least 2; must divide steps x rows; by default the largest up to 2,048 that does."""
    epochs: Annotated[int, Between(1, 1000)] = 6
    """Passes over the steps of an update."""
    learning_rate: Annotated[Number, Field(gt=0, le=1)] = 5e-4
    """Learning rate at the start; it falls linearly."""
    learning_rate_end: Annotated[Number, Field(ge=0, le=1)] = 0.0
    """Learning rate at the end."""
    gamma: Share = 0.99
    """Discount per step."""
    gae_lambda: Share = 0.95
    """Lambda of generalised advantage estimation."""
    clip_range: Positive = 0.2
    """How far the policy may move in an update."""
    entropy: Annotated[Number, Field(ge=0)] = 0.0
    """Weight of the entropy bonus."""
    value: Annotated[Number, Field(ge=0)] = 0.5
    """Weight of the critic's error."""
    largest_gradient: Positive = 0.5
    """Norm at which gradients are clipped."""
    hidden: Annotated[tuple[Units, ...], Field(max_length=MOST_LAYERS)] = (64, 64)
    """Units of the hidden layers, of policy and critic alike; there may be none."""
    log_std: Annotated[Number, Field(ge=-20, le=5)] = -0.7
    """Logarithm of the exploration's deviation at the start."""
    lstm: Units = 64
    """Units of the recurrent layer."""
    reward_scale: Positive = 0.1
    """Factor on rewards for the critic's sake; what is reported is not scaled."""


class WarmStart(Part):
    """A control law that the policy is fitted to before it learns by itself.

    First the law plays, then the policy does and the law says what it would have done (DAgger: Ross, Gordon and Bagnell
    2011), so that the policy has been told what to do where it goes itself.
    """

    law: str
    """The law, with the parameters that are tuned for the scenario where there are any; it must move the same knob."""
    rounds: Annotated[int, Between(1, 100)] = 3
    """How often storms are played; the law plays in the first."""
    storms: Annotated[int, Between(1, CHOICE)] = 256
    """Storms of each round, from those that are for training."""
    epochs: Annotated[int, Between(1, 10_000)] = 40
    """Passes over everything seen so far, after each round."""

    @field_validator("law")
    @classmethod
    def _is_known(cls, law: str) -> str:
        if law not in LAWS:
            raise several([Finding((), "there is no such law", law, nearest(law, LAWS))])
        return law

    @model_validator(mode="after")
    def _fits_the_memory(self) -> "WarmStart":
        shown = self.rounds * self.storms
        if shown > MOST_SHOWN:
            way_out = f"such as storms: {MOST_SHOWN // self.rounds}"
            rule = f"rounds x storms must be at most {MOST_SHOWN:,}"
            raise several([Finding(("storms",), rule, Shown(f"{shown:,}"), way_out)])
        return self


class Evaluation(Part):
    """How the policy is judged while it learns, and which is kept."""

    every: Steps = 8
    """Updates between two evaluations."""
    storms: Annotated[int, Between(1, 1000)] = 64
    """Storms, the first so many from 10,000 on; the search never sees them."""


def fitting_batch(gathered: int, most: int) -> int | None:
    """Return the largest size of minibatches, from 2 to `most`, that divides what rows gather; None: there is none."""
    return max((size for size in range(2, min(most, gathered) + 1) if gathered % size == 0), default=None)


class TrainingFile(Part):
    """A training."""

    description: str = ""
    """What it is for."""
    environment: str | None = None
    """An environment's id, or a scenario's name or path; by default what the command names."""
    options: Mapping[str, Any] = {}
    """Arguments of the environment, see docs/environments.md."""
    timesteps: Steps = 400_000
    """Steps in all."""
    rows: Annotated[int, Between(1, LARGEST_ROWS)] = 128
    """Storms that are played side by side."""
    seed: Annotated[int, Between(0, 4_000_000_000)] = 0
    """Seed of networks, exploration and storms."""
    storms: tuple[Whole, Whole] = (0, 4096)
    """Storms that are drawn: the first number, and the first beyond; at most 10,000."""
    learning: Learning = Learning()
    """What the algorithm is told."""
    warm_start: WarmStart | None = None
    """What the policy is shown before it learns; None: it begins with nothing."""
    evaluation: Evaluation = Evaluation()
    """How the policy is judged."""

    @model_validator(mode="before")
    @classmethod
    def _follows(cls, data: Any) -> Any:
        """Let a batch size that nobody gave follow what is gathered, where the default does not divide it."""
        learning = data.get("learning", {}) if isinstance(data, Mapping) else None
        if not isinstance(learning, Mapping) or "batch_size" in learning:
            return data
        usual = Learning()
        counts = (data.get("rows", cls.model_fields["rows"].default), learning.get("steps", usual.steps))
        if not all(is_number(count) and 1 <= count <= _LARGEST_COUNT and count == int(count) for count in counts):
            return data
        size = fitting_batch(int(counts[0]) * int(counts[1]), usual.batch_size)
        return data if size in (None, usual.batch_size) else {**data, "learning": {**learning, "batch_size": size}}

    @model_validator(mode="after")
    def _agrees(self) -> "TrainingFile":
        found = []
        if not self.storms[0] < self.storms[1] <= CHOICE:
            rule = f"must be [first, beyond] with first < beyond <= {CHOICE}"
            found.append(Finding(("storms",), rule, list(self.storms), "such as [0, 4096]"))
        steps = self.learning.steps * self.rows
        if steps > MOST_GATHERED:
            rule = f"steps x rows must be at most {MOST_GATHERED:,}"
            fewer = f"such as {max(MOST_GATHERED // self.rows, 1)}"
            found.append(Finding(("learning", "steps"), rule, Shown(f"{steps:,}"), fewer))
        elif steps < 2:
            rule = "steps x rows must be at least 2, or there is nothing to learn from"
            found.append(Finding(("learning", "steps"), rule, Shown(f"{steps}"), "raise rows, or the steps of each"))
        elif steps % self.learning.batch_size:
            size = fitting_batch(steps, self.learning.batch_size)
            fewer = f"take another number of rows or steps, or a batch_size of {steps}"
            way_out = f"such as {size}" if size else fewer
            rule = f"batch_size must divide steps x rows, which is {steps}"
            found.append(Finding(("learning", "batch_size"), rule, self.learning.batch_size, way_out))
        if self.warm_start is not None and self.learning.algorithm != "ppo":
            rule = "a warm start is for policies without a memory"
            found.append(
                Finding(("learning", "algorithm"), rule, self.learning.algorithm, "take ppo, or no warm_start")
            )
        if found:
            raise several(found)
        return self

    @property
    def judged_on(self) -> range:
        """Storms of the evaluations, from those that serve for choices."""
        return range(CHOICE, min(CHOICE + self.evaluation.storms, HELD_OUT))


_KIND = Kind(TrainingFile, "training", "docs/training.md", "training")


def list_trainings() -> list[str]:
    """Return the names of the packaged training files, sorted."""
    return _KIND.names()


def load_training(name_or_path: str | os.PathLike[str], look: Look | None = None) -> TrainingFile:
    """Load a training by its name, or from a file.

    Args:
        name_or_path: The name, or the file.
        look: Looks for what the file alone does not tell to be wrong, to be reported together.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.load(name_or_path, look)


def parse_training(text: str, file: str) -> TrainingFile:
    """Read a training from the content of a file.

    Raises:
        InputError: With every fault found.
    """
    return _KIND.parse(text, file)
