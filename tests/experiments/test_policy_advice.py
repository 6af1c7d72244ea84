"""A policy before a storm that is going on decides as it does inside the simulator."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")
pytest.importorskip("gymnasium")

from signalstorm.agents.base import Counters
from signalstorm.agents.bundle import save
from signalstorm.agents.policy import Policy, Shape, shapes
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.advise import advise
from signalstorm.experiments.advise_data import read_history
from signalstorm.experiments.evaluate import StormSet
from signalstorm.experiments.loops import run_loop
from signalstorm.experiments.policy_advice import adviser, needed, policy_of
from signalstorm.experiments.train import facts_of
from signalstorm.experiments.training_environment import environment_of
from signalstorm.experiments.training_file import TrainingFile

EASY = load("attach-lte-easy")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = facts_of(environment_of("AttachLteEasy"), TrainingFile())
    shape = Shape(len(facts["features"]), (4,), (1,), "box")
    rng = np.random.default_rng(4)
    weights = {name: rng.normal(size=size).astype(np.float32) for name, size in shapes(shape).items()}
    folder = tmp_path_factory.mktemp("run") / "policy"
    save(folder, Policy(shape, weights), facts)
    return folder


def test_as_inside_the_simulator(policy: Path, tmp_path: Path) -> None:
    learnt = policy_of(str(policy), EASY)
    inside = run_loop(learnt, StormSet(EASY, (7,), vary=True), series=True)
    names = [quantity.name for quantity in needed(learnt, EASY)]
    rates = {quantity.name for quantity in needed(learnt, EASY) if quantity.is_rate}
    heads = ["time_s", *(f"{name} per second" if name in rates else name for name in names)]
    rows = [[repr(r.end_s), *(repr(float(r.values[name][0])) for name in names)] for r in inside.readings[:12]]
    changed = 0
    for count in range(2, 12):
        (tmp_path / "seen.csv").write_text("\n".join(";".join(row) for row in [heads, *rows[:count]]) + "\n")
        history = read_history(tmp_path / "seen.csv", EASY, {name: name in rates for name in names})
        now, following = (int(inside.values["nop_rate"][i][0]) for i in (count - 1, count))
        setting = {**dict(learnt.start(EASY)), "nop_rate": now}
        made = advise(EASY, history, adviser(str(policy), EASY, history), setting).decision
        assert made.knobs.get("nop_rate", now) == following
        changed += now != following
    assert changed > 0


def test_what_is_missing_is_held_or_refused(policy: Path, tmp_path: Path) -> None:
    names = [quantity.name for quantity in needed(policy_of(str(policy), EASY), EASY)]
    full = Counters(60.0, 60.0, dict.fromkeys(names, 10.0))
    part = Counters(120.0, 60.0, {name: 10.0 for name in names if name != "registered"})
    setting = resolve({"nop_rate": 60}, EASY)
    made = adviser(str(policy), EASY, [full, part]).decide(part, setting)
    assert "registered is missing; its last value is held" in made.said
    with pytest.raises(InputError, match="the policy needs registered"):
        adviser(str(policy), EASY, [part]).decide(part, setting)
    with pytest.raises(InputError, match="holds no policy"):
        adviser(str(tmp_path), EASY, [])
    other = load("incident-sgsn-easy")
    with pytest.raises(InputError, match="does not fit the environment"):
        adviser(str(policy), other, [full]).decide(full, resolve({}, other))
