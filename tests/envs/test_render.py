import gymnasium as gym
import numpy as np
import pytest

import signalstorm  # noqa: F401 - registers the environments
from signalstorm.envs.render import spark


@pytest.mark.parametrize("name", ["signalstorm/IncidentSgsnEasy-v0", "signalstorm/CoreStormEasy-v0"])
def test_text_shows_service_gate_queues_and_knobs(name: str) -> None:
    env = gym.make(name, render_mode="ansi")
    env.reset(seed=1)
    assert "nothing has been reported yet" in env.render()  # type: ignore[operator]
    for _ in range(20):
        env.step(np.array([1.0], np.float32))
    text = env.render()
    assert isinstance(text, str)
    for word in ("registered", "admitted", "requests wait", "nop_rate", "of 1,800 s" if "Core" in name else "links"):
        assert word in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_pictures_show_more_as_time_goes_on() -> None:
    env = gym.make("signalstorm/AttachLteEasy-v0", render_mode="rgb_array")
    env.reset(seed=1)
    empty = env.render()
    for _ in range(40):
        env.step(np.array([0.5], np.float32))
    full = env.render()
    assert isinstance(empty, np.ndarray)
    assert isinstance(full, np.ndarray)
    assert full.shape == (400, 640, 3)
    assert full.dtype == np.uint8
    assert (full != 255).sum() > (empty != 255).sum() + 1000
    assert (full == (213, 94, 0)).all(axis=2).any()


def test_sparks_end_at_the_top() -> None:
    assert spark([0.0, 1.0, 2.0], 2.0) == " ▄█"
    assert spark([1.0], 0.0) == " "


def test_rows_show_the_first() -> None:
    rows = gym.make_vec("signalstorm/AttachLteEasy-v0", num_envs=2, render_mode="ansi")
    rows.reset(seed=0)
    assert "attach-lte-easy, storm" in rows.render()[0]  # type: ignore[index]
