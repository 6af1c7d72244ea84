import numpy as np
import pytest
import simpy

from tests.reference.clock import after
from tests.reference.gate import OpenGate
from tests.reference.handset import EpsLadder, Habits, Handset
from tests.reference.imsimgr import ImsiManager
from tests.reference.observer import Observer


def offered(per_s: float, refused_share: float = 0.0, seconds: float = 100.0) -> Observer:
    """Requests at a rate into a manager of 50 units/s, 5 % of them taken; a share is refused behind it."""
    env = simpy.Environment()
    observer = Observer(env, 0)
    manager = ImsiManager(env, observer, capacity_per_s=50.0, refusal_cost=1.0)
    rng = np.random.default_rng(6)

    def behind(handset: Handset) -> None:
        if rng.random() < refused_share:
            manager.turned_away(refused=True)

    manager.behind = OpenGate(observer, behind)
    for index in range(round(per_s * seconds)):
        handset = Handset(env, rng, EpsLadder((1e9, 1e9)), Habits(), manager.arrive, lambda served: None)
        after(env, index / per_s, handset.send)
    env.run(until=seconds)
    return observer


def test_within_its_capacity_nothing_is_lost() -> None:
    assert offered(40.0).lost == 0


def test_what_exceeds_the_capacity_is_lost() -> None:
    observer = offered(95.0)
    assert observer.lost == pytest.approx(4750, rel=0.01)
    assert observer.requests.total() == 9500


def test_refusals_cost_as_much_as_requests() -> None:
    """Each admitted request then costs two units, so that half as many are admitted."""
    assert offered(95.0, refused_share=1.0).admissions.total() == pytest.approx(2375, rel=0.02)
