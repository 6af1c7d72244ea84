"""Whatever knobs are searched, alone or in company, every proposal is legal, and what must follow follows."""

import itertools
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.knob_table import KNOBS
from signalstorm.envs.model.knob_ties import TIES, ceiling, lowered
from signalstorm.envs.model.knobs import movable, round_to_legal, validate
from signalstorm.experiments import choice
from signalstorm.experiments.safe import moved
from signalstorm.experiments.sampling import grid
from signalstorm.experiments.search_space import SearchSpace, search_space
from signalstorm.experiments.storage import open_storage
from signalstorm.experiments.study import Study
from signalstorm.experiments.study_file import KnobRange, Sampler, StudyFile
from signalstorm.experiments.trials import Scores

INCIDENT = scenario_file.load("incident-2014")
_load = cache(scenario_file.load)
_NEEDS = {"cma-es": "cmaes", "qmc": "scipy"}
_WITHOUT_EFFECT = {"nop_queue_wait_s": "has the form nop_queue", "ddn_delay_s": "is no field where the SGW throttles"}
"""Knobs that a complete setting shows in another form, or not at all."""
SINGLE = [(name, knob) for name in scenario_file.list_names() for knob in movable(_load(name))]


def _values(space: SearchSpace, name: str) -> st.SearchStrategy[Any]:
    """Return values that a sampler may draw, the ends of the range among them."""
    match space.distributions[name]:
        case CategoricalDistribution(choices=choices):
            return st.sampled_from(choices)
        case IntDistribution(low=low, high=high, step=step):
            return st.sampled_from([low, high]) | st.integers(0, (high - low) // step).map(lambda i: low + i * step)
        case FloatDistribution(low=low, high=high):
            return st.sampled_from([low, high]) | st.floats(low, high)
    raise TypeError(name)


def _check(space: SearchSpace, point: dict[str, Any]) -> None:
    """A point's setting is legal; it moves what is searched, what follows from that, and nothing else."""
    setting = space.setting(point)
    assert dict(validate(setting)) == dict(setting)
    before, after = space.identity({}), space.identity(setting)
    changed = {name for name in (*before, *after) if before.get(name) != after.get(name)}
    assert changed <= {*space.knobs, *space.followers, "nop_queue"}
    for name in changed & set(space.followers) - {"max_assoc_retx"}:
        assert float(after[name]) < float(before[name])
    legal = round_to_legal(point)
    for name in set(legal) - set(_WITHOUT_EFFECT):
        assert after[name] == legal[name]


@pytest.mark.parametrize(("scenario", "knob"), SINGLE)
def test_a_knob_searched_alone_is_always_legal_and_set_as_drawn(scenario: str, knob: str) -> None:
    space = search_space(_load(scenario), [knob])
    levels = grid(Sampler(kind="grid", points=9), space.distributions)[knob]
    for point in [*space.start_points, *({knob: value} for value in levels)]:
        _check(space, dict(point))


@given(st.data())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # spaces are built in between
def test_every_point_over_one_or_two_knobs_is_legal(data: st.DataObject) -> None:
    scenario = _load(data.draw(st.sampled_from(scenario_file.list_names()).filter(lambda name: movable(_load(name)))))
    knobs = data.draw(st.lists(st.sampled_from(movable(scenario)), min_size=1, max_size=2, unique=True))
    space = search_space(scenario, knobs)
    _check(space, {name: data.draw(_values(space, name), label=name) for name in space.knobs})


@pytest.mark.parametrize("kind", ["tpe", "cma-es", "nsga2", "qmc", "random", "grid"])
@pytest.mark.parametrize(
    ("scenario", "knobs"),
    [
        ("incident-2014", ("rto_max_ms",)),
        ("incident-2014", ("nop_rate", "rto_max_ms")),
        ("incident-2014-advised", ("rto_min_ms", "max_assoc_retx")),
        ("dra-db-cpu", ("dynamic_throttle_60", "dynamic_throttle_70")),
        ("ddn-surge", ("ddn_window_s", "ddn_factor_percent")),
    ],
)
def test_every_sampler_proposes_legal_settings(
    kind: Any, scenario: str, knobs: tuple[str, ...], tmp_path: Path
) -> None:
    if kind in _NEEDS and find_spec(_NEEDS[kind]) is None:
        pytest.skip(f"{_NEEDS[kind]} is not installed: pip install 'signalstorm[sweeps]'")
    space = search_space(_load(scenario), knobs)
    spec = StudyFile(sampler=Sampler(kind=kind, startup=6, population=6, batch=12))
    study = Study(space, open_storage(None, tmp_path / "journal.log"), "a", spec, "identity")
    study.start(Scores(50.0, 0, (50.0,), (1.0,), {}, {}))
    for batch in (1, 2, 3):
        claims = study.claim(batch, study.propose(batch, 12), 100)
        assert claims or (kind == "grid" and batch > 1)
        for claim in claims:
            after = space.identity(claim.proposal.setting)
            assert dict(validate(claim.proposal.setting)) == dict(claim.proposal.setting)
            value_s = sum(float(value) for value in after.values() if not isinstance(value, str))
            study.finish(claim, Scores(value_s, 0, (value_s,), (1.0,), {}, {}))


def test_rto_max_alone_reaches_the_remedy_and_pulls_the_others_along() -> None:
    space = search_space(INCIDENT, ["rto_max_ms"])
    assert space.followers == ("rto_min_ms", "rto_initial_ms", "max_assoc_retx")
    for limit_ms, count in ((500, 119), (900, 66)):
        limits = dict.fromkeys(("rto_min_ms", "rto_initial_ms", "rto_max_ms"), limit_ms)
        assert dict(space.setting({"rto_max_ms": limit_ms})) == {**limits, "max_assoc_retx": count}
    assert dict(space.setting({"rto_max_ms": 2000})) == {
        "rto_initial_ms": 2000, "rto_max_ms": 2000, "max_assoc_retx": 30,
    }  # fmt: skip
    assert dict(space.setting({"rto_max_ms": 60_000})) == {"rto_max_ms": 60_000}


def test_a_range_ends_below_a_knob_that_stays() -> None:
    alone = search_space(INCIDENT, ["rto_min_ms", "rto_max_ms"])
    assert alone.distributions["rto_min_ms"] == IntDistribution(100, 3000, log=True)  # RTO-initial stays at 3 s
    free = search_space(INCIDENT, ["rto_min_ms", "rto_initial_ms", "rto_max_ms"])
    assert free.distributions["rto_min_ms"] == IntDistribution(100, 5000, log=True)
    poll = search_space(_load("ddn-surge"), ["ddn_poll_s"])
    window = poll.identity({}).number("ddn_window_s")
    assert cast(IntDistribution, poll.distributions["ddn_poll_s"]).high == window - 1
    assert alone.setting({"rto_min_ms": 4500, "rto_max_ms": 20_000})["rto_min_ms"] == 3000


def test_a_range_of_a_study_that_begins_beyond_is_refused() -> None:
    with pytest.raises(InputError, match=r"rto_min_ms.*at most at 3000, for rto_initial_ms stays at 3000"):
        search_space(INCIDENT, None, {"rto_min_ms": KnobRange(low=4000)})
    both = search_space(INCIDENT, None, {"rto_min_ms": KnobRange(low=4000), "rto_initial_ms": None})
    assert both.distributions["rto_min_ms"] == IntDistribution(4000, 5000, log=True)


def test_a_limit_that_the_network_lacks_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="the dra of the scenario dra-slow-ocs has no such limit"):
        search_space(_load("dra-slow-ocs"), ["dynamic_throttle_50"])


def test_followers_stay_as_long_as_what_they_follow() -> None:
    space = search_space(INCIDENT, ["nop_rate", "rto_max_ms"])
    setting = space.setting({"nop_rate": 400, "rto_max_ms": 500})
    without_gate = {name: value for name, value in setting.items() if name != "nop_rate"}
    assert dict(choice._without(space, setting, ("nop_rate",)) or {}) == without_gate
    assert dict(choice._without(space, setting, ("rto_max_ms",)) or {}) == {"nop_rate": 400}


def test_a_value_that_pulls_others_along_is_not_safe_alone() -> None:
    space = search_space(INCIDENT, ["rto_max_ms"])
    setting = space.setting({"rto_max_ms": 2000})
    assert moved(space, setting, "rto_max_ms", 1900) is None
    back = moved(space, setting, "rto_max_ms", 60_000)
    assert back is not None
    assert back["rto_initial_ms"] == 2000


@pytest.mark.parametrize("tie", TIES)
def test_lowering_keeps_every_row_of_the_table_in_order(tie: Any) -> None:
    tops = {name: 3 * (len(tie.names) - i) for i, name in enumerate(tie.names)}
    found = lowered({**tops, "nop_rate": 400})
    assert found["nop_rate"] == 400
    assert all(found[low] == found[high] - tie.gap for low, high in itertools.pairwise(tie.names))
    rising = {name: 5 + 3 * i for i, name in enumerate(tie.names)}
    assert lowered(rising) == rising


def test_a_ceiling_is_on_the_grid_and_never_above_the_table() -> None:
    row = KNOBS["rto_min_ms"]
    assert ceiling(row, {"rto_initial_ms": 2550, "rto_max_ms": 60_000}) == (2500, "rto_initial_ms")
    assert ceiling(row, {"rto_max_ms": 60_000}) == (row.high, None)
