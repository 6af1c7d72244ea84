import numpy as np
import pytest

from signalstorm.agents.policy import Policy, Shape, shapes


def network(shape: Shape, seed: int = 0) -> Policy:
    rng = np.random.default_rng(seed)
    return Policy(shape, {name: rng.normal(size=s).astype(np.float32) for name, s in shapes(shape).items()})


def test_a_box_is_the_clipped_output_of_the_network() -> None:
    policy = network(Shape(3, (4, 5), (2,), "box"))
    x = np.random.default_rng(1).random((6, 3)).astype(np.float32)
    w = policy.weights
    h = np.tanh(x @ w["hidden.0.weight"].T + w["hidden.0.bias"])
    h = np.tanh(h @ w["hidden.1.weight"].T + w["hidden.1.bias"])
    expected = np.clip(h @ w["action.weight"].T + w["action.bias"], -1, 1)
    actions, _ = policy.act(x)
    np.testing.assert_allclose(actions, expected, rtol=1e-6)


def test_choices_are_the_largest_outputs() -> None:
    x = np.random.default_rng(1).random((6, 3)).astype(np.float32)
    single, _ = network(Shape(3, (), (5,), "discrete")).act(x)
    several, _ = network(Shape(3, (), (5, 2), "multidiscrete")).act(x)
    assert single.shape == (6,)
    assert several.shape == (6, 2)
    assert several[:, 1].max() <= 1


def test_a_recurrent_policy_remembers() -> None:
    policy = network(Shape(3, (4,), (1,), "box", lstm=8))
    x = np.random.default_rng(1).random((2, 3)).astype(np.float32)
    first, state = policy.act(x)
    second, _ = policy.act(x, state)
    again, _ = policy.act(x)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("wrong", ["missing", "many", "shape", "nan"])
def test_weights_that_do_not_fit_are_refused(wrong: str) -> None:
    shape = Shape(3, (4,), (1,), "box")
    weights = {name: np.zeros(s, np.float32) for name, s in shapes(shape).items()}
    if wrong == "missing":
        del weights["hidden.0.bias"]
    elif wrong == "many":
        weights["hidden.1.bias"] = np.zeros(4, np.float32)
    elif wrong == "shape":
        weights["action.bias"] = np.zeros(2, np.float32)
    else:
        weights["action.bias"][0] = np.nan
    with pytest.raises(ValueError, match="weight"):
        Policy(shape, weights)
