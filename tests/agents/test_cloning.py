"""Fitting networks to samples; skipped where the extra is not installed."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from signalstorm.agents.cloning import expected, fit_actor, fit_critic
from signalstorm.agents.ppo import Hyperparameters, Learner
from signalstorm.envs.sb3 import make_sb3_vec


def learner() -> Learner:
    return Learner(make_sb3_vec("AttachLteEasy", num_envs=8), Hyperparameters(steps=8, batch_size=32), 3, 64)


def test_each_network_is_fitted_alone_and_in_the_same_way_for_the_same_seed() -> None:
    one, other = learner(), learner()
    x = np.random.default_rng(1).random((2000, one.rows.observation_space.shape[0])).astype(np.float32)
    wanted = 0.6 * x[:, :1] - 0.5 * x[:, 1:2]
    values = expected(one.model, x)
    before = {name: value.clone() for name, value in one.model.policy.state_dict().items()}
    error = fit_actor(one.model, x, wanted, 100, seed=5)
    assert error < 0.3 * float(np.sqrt(np.mean(wanted**2)))
    np.testing.assert_allclose(np.sqrt(np.mean((one.policy().act(x)[0] - wanted) ** 2)), error, rtol=1e-3)
    np.testing.assert_array_equal(expected(one.model, x), values)
    assert (one.model.policy.log_std == before["log_std"]).all()
    actions = one.policy().act(x)[0]
    assert fit_critic(one.model, x, 3.0 * x[:, 2] - 1.0, 100, seed=5) < 0.1
    np.testing.assert_allclose(expected(one.model, x), 3.0 * x[:, 2] - 1.0, atol=0.5)
    np.testing.assert_array_equal(one.policy().act(x)[0], actions)
    assert fit_actor(other.model, x, wanted, 100, seed=5) == error
    assert fit_actor(learner().model, x, wanted, 100, seed=6) != error
