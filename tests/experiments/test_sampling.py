"""Samplers: a batch is a function of what it may know, and every sampler gives legal points."""

import itertools
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.sampling import Scratch, Seen, batch_seed, check_installed, draws, grid
from signalstorm.experiments.search_space import search_space
from signalstorm.experiments.study_file import Sampler

SPACE = search_space(scenario_file.load("lab-pcrf"), ["nop_rate", "nop_wait_s", "nop_action"])
KINDS = ["tpe", "cma-es", "nsga2", "nsga3", pytest.param("gp", marks=pytest.mark.long), "qmc", "random"]


def _points(kind: Any, seen: list[Seen]) -> list[dict[str, Any]]:
    found = draws(Sampler(kind=kind, population=8), SPACE.distributions, seen, 1, 7, 40)
    return [draw.params for draw in itertools.islice(found, 6)]


def _needs(kind: str) -> None:
    for package in {"cma-es": ["cmaes"], "qmc": ["scipy"], "gp": ["torch", "scipy"]}.get(kind, []):
        if find_spec(package) is None:
            extras = "rl,sweeps" if kind == "gp" else "sweeps"
            pytest.skip(f"{package} is not installed: pip install 'signalstorm[{extras}]'")


def _seen(count: int) -> list[Seen]:
    points = itertools.islice(draws(Sampler(kind="random"), SPACE.distributions, [], 1, 5, 0), count)
    return [Seen(point.params, (abs(point.params["nop_rate"] - 300.0),), 0.0, {}) for point in points]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_knowledge_gives_equal_points(kind: str) -> None:
    _needs(kind)
    seen = _seen(40)
    first, second = _points(kind, seen), _points(kind, seen)
    assert first == second
    assert all(SPACE.distributions[name]._contains(SPACE.distributions[name].to_internal_repr(value))
               for point in first for name, value in point.items())  # fmt: skip
    assert all(set(point) == set(SPACE.knobs) for point in first)


@pytest.mark.parametrize("pending", ["last", "among", "none"])
@pytest.mark.parametrize("kind", ["tpe", "qmc", "random"])
def test_what_is_kept_from_batch_to_batch_changes_no_point(kind: Any, pending: str) -> None:
    _needs(kind)
    spec, objectives, scratch = Sampler(kind=kind, startup=8), 1, Scratch()
    finished = _seen(64)
    for batch, count in enumerate((8, 24, 24, 40, 64)):
        seen = finished[:count]
        under_way = {"last": range(count - 8, count), "among": range(count - 8, count, 2), "none": ()}[pending]
        seen = [replace(trial, values=None) if i in under_way else trial for i, trial in enumerate(seen)]
        kept, anew = (
            [d.params for d in itertools.islice(draws(spec, SPACE.distributions, seen, objectives, batch, count, s), 5)]
            for s in (scratch, None)
        )
        assert kept == anew


def test_the_sobol_sequence_goes_on_from_batch_to_batch() -> None:
    _needs("qmc")
    seen = _seen(4)
    whole = [d.params for d in itertools.islice(draws(Sampler(kind="qmc"), SPACE.distributions, seen, 1, 1, 0), 9)]
    later = [d.params for d in itertools.islice(draws(Sampler(kind="qmc"), SPACE.distributions, seen, 1, 2, 4), 4)]
    assert later == whole[4:8]


def test_cma_es_learns_from_the_state_kept_with_its_trials() -> None:
    _needs("cma-es")
    spec = Sampler(kind="cma-es", startup=4, population=6)
    space = search_space(scenario_file.load("lab-pcrf"), ["nop_rate", "nop_wait_s"]).distributions
    seen: list[Seen] = []
    for batch in range(30):
        points = list(itertools.islice(draws(spec, space, seen, 1, batch_seed(0, 0, batch), len(seen)), 6))
        seen += [
            Seen(p.params, (abs(p.params["nop_rate"] - 3000.0) + 100 * abs(p.params["nop_wait_s"] - 12),), 0.0, p.attrs)
            for p in points
        ]
    first, last = ([trial.values[0] for trial in part if trial.values] for part in (seen[:30], seen[-30:]))
    assert sum(last) < 0.5 * sum(first)


def test_a_grid_ends_and_covers_the_ends_of_the_ranges() -> None:
    spec = Sampler(kind="grid", points=3)
    values = grid(spec, SPACE.distributions)
    assert (values["nop_rate"][0], values["nop_rate"][-1]) == (50, 5000)
    assert values["nop_wait_s"] == [1, 8, 15]
    points = list(draws(spec, SPACE.distributions, [], 1, 0, 0))
    assert len({tuple(sorted(p.params.items())) for p in points}) == 3 * 3 * 3


def test_seeds_are_of_their_own_for_every_batch_and_worker() -> None:
    seeds = {batch_seed(seed, worker, batch) for seed in range(4) for worker in range(4) for batch in range(50)}
    assert len(seeds) == 4 * 4 * 50


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_a_sampler_whose_packages_are_missing_names_the_way_to_them() -> None:
    with pytest.raises(InputError, match=r"gp needs torch.*Install it with pip install 'signalstorm\[rl,sweeps\]'"):
        check_installed("gp")
