"""Location refreshes: the activity of handsets that changes in mid-storm, and refreshes that are put off."""

from typing import Any

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from tests.envs.model.kernels.linked import DT, VAST, Floats, Watch, network

CROWD = 1e7
STEADY = {"points": [[0.0, 0.01], [600.0, 0.01]]}


def reset(activity: Any = STEADY, timeline: Any = (), links: Any = VAST, **fields: Any) -> Scenario:
    """Everybody is flagged after 10 s."""
    return network(links, activity=activity, timeline=[{"kind": "hlr_reset", "time_s": 10.0}, *timeline], **fields)


def refreshes(scenario: Scenario, seconds: float = 400.0, **knobs: Any) -> Floats:
    """What is refreshed in each step."""
    return np.diff(Watch(scenario, knobs, seconds=seconds).counters[:, layout.K_REFRESHES], prepend=0.0)


def hazard(found: Floats, time_s: float) -> float:
    """Refreshes in a second as a share of the flagged at its start [1/s]."""
    at = round(time_s / DT)
    return float(found[at : at + round(1.0 / DT)].sum() / (CROWD - found[:at].sum()))


def test_a_change_of_the_activity_multiplies_it_from_then_on() -> None:
    changes = [
        {"kind": "activity", "time_s": 60.0, "value": 3.0},
        {"kind": "activity", "time_s": 100.0, "value": 0.5, "until_s": 140.0},
    ]
    found = refreshes(reset({**STEADY, "scale": 2.0}, changes), 200.0)
    expected = {50.0: 0.02, 70.0: 0.06, 99.0: 0.06, 119.5: 0.035, 150.0: 0.01, 180.0: 0.01}
    for time_s, per_s in expected.items():
        assert hazard(found, time_s) == pytest.approx(-np.expm1(-per_s), rel=0.02), time_s
    silent = refreshes(reset(timeline=[{"kind": "activity", "time_s": 60.0, "value": 0.0}]), 200.0)
    assert silent[round(60.0 / DT) :].sum() == 0.0


def test_a_refresh_is_put_off_uniformly_up_to_the_longest_delay() -> None:
    """All become active within a step or two of the reset; then they refresh evenly, and nobody loses service."""
    at_once = {"points": [[0.0, 100.0], [600.0, 100.0]]}
    watch = Watch(reset(at_once, links={**VAST, "refresh_delay_max_s": 60.0}), seconds=90.0)
    found = np.diff(watch.counters[:, layout.K_REFRESHES], prepend=0.0)
    when = np.flatnonzero(found > 1.0)
    assert when[0] * DT == pytest.approx(10.0, abs=2 * DT)
    assert when[-1] * DT == pytest.approx(70.0, abs=2 * DT)
    np.testing.assert_allclose(found[when[0] + 2 : when[-1] - 2], CROWD * DT / 60.0, rtol=1e-6)
    assert found.sum() == pytest.approx(CROWD, rel=1e-9)
    assert watch.counters[:, layout.K_WITHOUT].max() < 1e-3


def test_the_peak_of_refreshes_falls_and_none_is_lost() -> None:
    """A wave of activity that lasts 20 s, told by the knob or by the field; 0 puts nothing off."""
    wave = {"points": [[0.0, 0.0], [50.0, 0.0], [60.0, 1.0], [70.0, 0.0], [600.0, 0.0]]}
    now = refreshes(reset(wave))
    late = refreshes(reset(wave), refresh_delay_max_s=100.0)
    assert late.sum() == pytest.approx(now.sum(), rel=1e-9)
    assert late.max() < 0.2 * now.max()
    # Each waits 50 s on average.
    step = np.arange(now.size) * DT
    assert (step * late).sum() / late.sum() - (step * now).sum() / now.sum() == pytest.approx(50.0, abs=2 * DT)
    field = refreshes(reset(wave, links={**VAST, "refresh_delay_max_s": 100.0}))
    np.testing.assert_array_equal(field, late)
    none = refreshes(reset(wave, links={**VAST, "refresh_delay_max_s": 100.0}), refresh_delay_max_s=0.0)
    np.testing.assert_array_equal(none, now)


def test_links_that_the_wave_congests_carry_it_once_it_is_put_off() -> None:
    """Ten million refreshes of two messages over 400 s, or at once, over links of 100,000 messages/s."""
    links = {"rate_per_s": 12_500.0, "window": 1e5, "queue": 1e5, "start": 1e5, "stop": 1e4}
    at_once = {"points": [[0.0, 1.0], [600.0, 1.0]]}
    now, late = (
        Watch(reset(at_once, links=links), {"refresh_delay_max_s": delay_s}, seconds=500.0).counters[-1]
        for delay_s in (0.0, 400.0)
    )
    assert now[layout.K_REFRESHES_FAILED] > 0.5 * CROWD
    assert late[layout.K_REFRESHES_FAILED] == 0.0


def test_a_row_that_puts_nobody_off_is_the_same_beside_one_that_does() -> None:
    """Two classes, whose sums are rounded; the other row needs a wheel."""
    phones = [
        {"name": name, "size": size, "registered_share": 1.0, "ladder": {"kind": "gprs"}}
        for name, size in (("gsm", 7001), ("umts", 2999))
    ]
    scenario = reset(links={"rate_per_s": 20.0, "window": 50.0}, stochastic=True, subscribers=phones)
    settings = setting_matrix([{"refresh_delay_max_s": delay_s} for delay_s in (0.0, 60.0)], scenario)
    both = Batch([scenario], [3], settings, rows=([0, 0], [0, 1]))
    both.run()
    for row, setting in enumerate(settings):
        alone = Batch([scenario], [3], setting)
        alone.run()
        np.testing.assert_array_equal(alone.counters()[:, 0], both.counters()[:, row])


def test_chance_draws_who_becomes_active() -> None:
    scenario = reset(links={**VAST, "refresh_delay_max_s": 30.0}, stochastic=True)
    found = refreshes(scenario, 100.0)
    assert found.sum() == pytest.approx(CROWD * -np.expm1(-0.01 * 75.0), rel=0.02)
