"""Fitting the networks of a model of Stable-Baselines3 to what was seen, before it learns by itself."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

_BATCH = 512
"""Samples of a minibatch."""
_RATE = 1e-3
"""Learning rate at the start; it falls linearly to nothing."""

Array = npt.NDArray[Any]


def fit_actor(model: Any, observations: Array, actions: Array, epochs: int, seed: int) -> float:
    """Fit the mean of a policy's actions; how much it explores stays as it is.

    Args:
        model: A model of PPO with continuous actions.
        observations: Shape (samples, features).
        actions: Shape (samples, knobs), within -1 to 1.
        epochs: Passes over the samples.
        seed: Of the order of the samples.

    Returns:
        The root mean square error that is left.
    """
    seen, wanted = _tensor(observations), _tensor(actions)
    policy = model.policy

    def loss(index: Any) -> Any:
        mean = policy.get_distribution(seen[index]).distribution.mean
        return torch.nn.functional.mse_loss(mean, wanted[index])

    parameters = [*policy.mlp_extractor.policy_net.parameters(), *policy.action_net.parameters()]
    return _fit(parameters, loss, len(seen), epochs, seed)


def fit_critic(model: Any, observations: Array, returns: Array, epochs: int, seed: int) -> float:
    """Fit what the critic expects.

    Args:
        model: A model of PPO.
        observations: Shape (samples, features).
        returns: Shape (samples,), on the scale of the rewards that the model learns from.
        epochs: Passes over the samples.
        seed: Of the order of the samples.

    Returns:
        The root mean square error that is left.
    """
    seen, wanted = _tensor(observations), _tensor(returns)
    policy = model.policy

    def loss(index: Any) -> Any:
        return torch.nn.functional.mse_loss(policy.predict_values(seen[index])[:, 0], wanted[index])

    parameters = [*policy.mlp_extractor.value_net.parameters(), *policy.value_net.parameters()]
    return _fit(parameters, loss, len(seen), epochs, seed)


def expected(model: Any, observations: Array) -> npt.NDArray[np.float64]:
    """Return what the critic expects, shape (samples,)."""
    with torch.no_grad():
        return np.asarray(model.policy.predict_values(_tensor(observations))[:, 0].numpy(), np.float64)


def _fit(parameters: Iterable[Any], loss: Callable[[Any], Any], samples: int, epochs: int, seed: int) -> float:
    optimizer = torch.optim.Adam(parameters, lr=_RATE)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=epochs)
    # An order of its own: what PPO draws later does not depend on how long this took.
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for index in torch.randperm(samples, generator=order).split(_BATCH):
            optimizer.zero_grad()
            loss(index).backward()
            optimizer.step()
        falling.step()
    with torch.no_grad():
        squares = [float(loss(index)) * len(index) for index in torch.arange(samples).split(_BATCH)]
    return float(np.sqrt(sum(squares) / samples))


def _tensor(values: Array) -> Any:
    return torch.as_tensor(np.asarray(values, np.float32))
