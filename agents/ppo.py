"""Learning with PPO: Stable-Baselines3 does the learning; here is what goes in, what comes out, and what is kept."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor

from signalstorm.agents.policy import ActionKind, Policy, Shape
from signalstorm.envs.model.errors import RunError
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.sb3 import KPIS, StormVecEnv

_CHECKPOINT, _STATE = "checkpoint.safetensors", "checkpoint.json"


@dataclass(frozen=True)
class Hyperparameters:
    """What PPO is told; see Schulman et al. 2017 (arXiv 1707.06347) and the library's own documentation."""

    algorithm: str = "ppo"
    steps: int = 64
    batch_size: int = 2048
    epochs: int = 6
    learning_rate: float = 5e-4
    learning_rate_end: float = 0.0
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    entropy: float = 0.0
    value: float = 0.5
    largest_gradient: float = 0.5
    hidden: tuple[int, ...] = (64, 64)
    log_std: float = -0.7
    lstm: int = 64
    reward_scale: float = 0.1


@dataclass(frozen=True)
class Watch:
    """Who is told of a training that is going on."""

    after_update: Callable[["Learner"], bool]
    """Called after each rollout, before the update that follows; false ends the training."""


class Learner:
    """A policy that is being trained on rows of storms."""

    def __init__(
        self, rows: StormVecEnv, parameters: Hyperparameters, seed: int, total: int, board: Path | None = None
    ) -> None:
        """Build the networks.

        Args:
            rows: The rows.
            parameters: What PPO is told.
            seed: Of the networks, the exploration and the storms.
            total: Steps of the whole training.
            board: The folder for TensorBoard; None: nothing is written.
        """
        torch.set_num_threads(1)
        self.parameters = parameters
        self.rows = rows
        self.total = total
        rows.seed(seed)
        self.monitor = VecMonitor(rows, info_keywords=KPIS)
        self.model = _model(_Scaled(self.monitor, parameters.reward_scale), parameters, seed)
        outputs = [TensorBoardOutputFormat(str(board))] if board is not None else []
        self.model.set_logger(Logger(None if board is None else str(board), outputs))

    @property
    def steps(self) -> int:
        """Steps made so far."""
        return int(self.model.num_timesteps)

    @property
    def return_mean(self) -> float:
        """Mean return of the last hundred episodes, NaN before the first."""
        ended = self.model.ep_info_buffer
        return float(np.mean([episode["r"] for episode in ended])) if ended else math.nan

    @property
    def sound(self) -> bool:
        """Whether every weight is a finite number."""
        return all(bool(torch.isfinite(weights).all()) for weights in self.model.policy.parameters())

    def learn(self, watch: Watch) -> None:
        """Train until the steps are used up, or until the watch says so.

        Raises:
            RunError: If the weights are no finite numbers any more.
        """
        left = self.total - self.steps
        if left <= 0:
            return
        try:
            self.model.learn(left, callback=_Callback(self, watch), reset_num_timesteps=False, log_interval=1)
        except ValueError:  # what the library says of actions that are no numbers
            if self.sound:
                raise
        if not self.sound:
            raise RunError(
                f"the training has diverged: at step {self.steps} weights are no finite numbers any more. Train with a "
                "lower learning_rate, log_std, value or reward_scale; a policy judged before stays in the folder."
            )

    def log(self, values: Mapping[str, float]) -> None:
        """Keep figures for TensorBoard, written with the library's own after the update."""
        for name, value in values.items():
            self.model.logger.record(name, value)

    def policy(self) -> Policy:
        """Return the policy as it is now."""
        return extract(self.model)

    def save(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Write a checkpoint: networks, optimiser, steps; tensors as safetensors, the rest as JSON."""
        from safetensors.torch import save as to_bytes

        tensors = {f"policy.{name}": value for name, value in self.model.policy.state_dict().items()}
        numbers: dict[str, Any] = {}
        for index, state in self.model.policy.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{index}.{name}"] = value if value.ndim else value.reshape(1)
        content = to_bytes({name: value.contiguous() for name, value in tensors.items()})
        numbers |= {"steps": self.steps, "updates": int(self.model._n_updates), **facts}
        numbers["sha256"] = hashlib.sha256(content).hexdigest()
        write_atomic(folder / _CHECKPOINT, content)
        write_atomic(folder / _STATE, json.dumps(numbers, indent=2) + "\n")

    def restore(self, folder: Path) -> dict[str, Any] | None:
        """Go on from a checkpoint; None if there is none that is whole."""
        from safetensors import SafetensorError
        from safetensors.torch import load as from_bytes

        try:
            numbers = json.loads((folder / _STATE).read_text("utf-8"))
            content = (folder / _CHECKPOINT).read_bytes()
            if numbers.pop("sha256") != hashlib.sha256(content).hexdigest():
                return None
            tensors = from_bytes(content)
            state = {name.removeprefix("policy."): v for name, v in tensors.items() if name.startswith("policy.")}
            self.model.policy.load_state_dict(state)
            optimizer = self.model.policy.optimizer.state_dict()
            optimizer["state"] = _optimizer_state(tensors)
            self.model.policy.optimizer.load_state_dict(optimizer)
            self.model.num_timesteps = int(numbers["steps"])
            self.model._n_updates = int(numbers["updates"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError):
            return None
        return dict(numbers)

    def close(self) -> None:
        """Close the log and the rows."""
        self.model.logger.close()
        self.monitor.close()


class _Scaled(VecEnvWrapper):
    """Scales rewards, for the critic's errors share a limit of the gradient with the policy."""

    def __init__(self, venv: VecEnv, scale: float) -> None:
        super().__init__(venv)
        self._scale = scale

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        observation, reward, done, infos = self.venv.step_wait()
        return observation, reward * self._scale, done, infos


class _Callback(BaseCallback):
    """Gathers KPIs and reward terms of a rollout, and hands over after it."""

    def __init__(self, learner: Learner, watch: Watch) -> None:
        super().__init__()
        self._learner = learner
        self._watch = watch
        self._terms: npt.NDArray[np.float64] | float = 0.0
        self._kpis: dict[str, list[float]] = {}
        self._count = 0
        self._goes_on = True

    def _on_rollout_start(self) -> None:
        self._terms, self._kpis, self._count = 0.0, {}, 0

    def _on_step(self) -> bool:
        if (terms := self._learner.rows.terms) is not None:
            self._terms = self._terms + terms.mean(axis=1)
        self._count += 1
        for row in np.flatnonzero(self.locals["dones"]):
            for name in KPIS:
                self._kpis.setdefault(name, []).append(float(self.locals["infos"][row][name]))
        return self._goes_on

    def _on_rollout_end(self) -> None:
        means = dict(zip(self._learner.rows.reward_terms, np.atleast_1d(self._terms) / self._count, strict=False))
        self._learner.log({f"reward/{name}": float(value) for name, value in means.items()})
        self._learner.log({f"kpi/{name}": float(np.mean(values)) for name, values in self._kpis.items()})
        self._goes_on = self._watch.after_update(self._learner)


def _model(rows: VecEnv, parameters: Hyperparameters, seed: int) -> Any:
    first, last = parameters.learning_rate, parameters.learning_rate_end
    shared: dict[str, Any] = {
        "learning_rate": lambda left: last + (first - last) * left,
        "n_steps": parameters.steps,
        "batch_size": parameters.batch_size,
        "n_epochs": parameters.epochs,
        "gamma": parameters.gamma,
        "gae_lambda": parameters.gae_lambda,
        "clip_range": parameters.clip_range,
        "ent_coef": parameters.entropy,
        "vf_coef": parameters.value,
        "max_grad_norm": parameters.largest_gradient,
        "seed": seed,
        "device": "cpu",
        "verbose": 0,
    }
    layers = list(parameters.hidden)
    network: dict[str, Any] = {"net_arch": {"pi": layers, "vf": layers}, "activation_fn": torch.nn.Tanh}
    if isinstance(rows.action_space, spaces.Box):
        network["log_std_init"] = parameters.log_std
    if parameters.algorithm == "recurrent-ppo":
        network["lstm_hidden_size"] = parameters.lstm
        return RecurrentPPO("MlpLstmPolicy", rows, policy_kwargs=network, **shared)
    return PPO("MlpPolicy", rows, policy_kwargs=network, **shared)


def extract(model: Any) -> Policy:
    """Take the deterministic policy out of a model of the library."""
    state = {name: _array(value) for name, value in model.policy.state_dict().items()}
    weights = {"action.weight": state["action_net.weight"], "action.bias": state["action_net.bias"]}
    hidden: list[int] = []
    while (name := f"mlp_extractor.policy_net.{2 * len(hidden)}.weight") in state:
        weights[f"hidden.{len(hidden)}.weight"] = state[name]
        weights[f"hidden.{len(hidden)}.bias"] = state[name.replace("weight", "bias")]
        hidden.append(len(state[name]))
    lstm = 0
    if "lstm_actor.weight_ih_l0" in state:
        lstm = state["lstm_actor.weight_hh_l0"].shape[1]
        for part, name in (("input", "ih"), ("hidden", "hh")):
            weights[f"lstm.{part}.weight"] = state[f"lstm_actor.weight_{name}_l0"]
            weights[f"lstm.{part}.bias"] = state[f"lstm_actor.bias_{name}_l0"]
    kind, outputs = _outputs(model.action_space)
    features = int(model.observation_space.shape[0])
    return Policy(Shape(features, tuple(hidden), outputs, kind, lstm), weights)


def _outputs(space: spaces.Space[Any]) -> tuple[ActionKind, tuple[int, ...]]:
    if isinstance(space, spaces.Discrete):
        return "discrete", (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return "multidiscrete", tuple(int(n) for n in space.nvec)
    return "box", (int(space.shape[0]),) if space.shape else (1,)


def _array(tensor: Any) -> npt.NDArray[np.float32]:
    return np.array(tensor.detach().cpu().numpy(), np.float32)


def _optimizer_state(tensors: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, part = name.split(".")
            found.setdefault(int(index), {})[part] = value.reshape(()) if part == "step" else value
    return found
