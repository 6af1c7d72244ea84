"""What an operator sees agrees with what the model counts, and with nothing else."""

import numpy as np
import pytest

from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.kernels import layout
from signalstorm.envs.model.metrics import outcomes
from signalstorm.envs.model.parameters import setting_matrix
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import load
from signalstorm.envs.observation import (
    ACCEPTS,
    ADMITTED,
    CONGESTED,
    DATABASE_CPU,
    DDN_DROPPED,
    DDN_SENT,
    DOWN,
    FAILURES,
    GATE_QUEUE,
    IMSIMGR_CPU,
    LIMITED,
    MME_CPU,
    REGISTERED,
    REQUESTS,
    Observer,
    Reading,
    answers,
    failed,
    offered,
    passed,
    pending,
    queued,
    received,
    sent,
)
from tests.envs.model.core_storms import dynamic_limit, notifications, unknown
from tests.envs.model.linked_storms import few_links

LAB = load("lab-pcrf").with_fields({"horizon_s": 100.0})


def batch_of(scenario: Scenario, storms: int, **knobs: object) -> Batch:
    return Batch([scenario] * storms, range(storms), setting_matrix([knobs], scenario), threads=1)


def readings(batch: Batch, steps: int, count: int) -> tuple[Observer, list[Reading]]:
    observer = Observer(batch)
    found = []
    for _ in range(count):
        batch.run(steps)
        found.append(observer.read())
        assert [quantity.name for quantity in observer.quantities] == list(found[-1].values)
        for values in found[-1].values.values():
            assert values.shape == (batch.size,)
            assert np.isfinite(values).all()
            assert (values >= -1e-6).all()
    return observer, found


def total(found: list[Reading], name: str) -> np.ndarray:
    return np.asarray(sum(reading.values[name] * reading.interval_s for reading in found))


def test_rates_add_up_to_the_counters() -> None:
    batch = batch_of(LAB, 6, nop_rate=60)
    _, found = readings(batch, round(1.0 / batch.dt), 100)
    counted = outcomes(batch)
    for name, expected in (
        (REQUESTS, counted.attempts),
        (ADMITTED, counted.admitted),
        (ACCEPTS, counted.successes),
        (FAILURES, counted.failures),
        ("dropped by the gate", counted.dropped),
        ("stale at the gate", counted.expired),
        ("create-session requests", counted.session_requests),
        (answers("pcrf"), counted.served["pcrf"]),
        (failed("pcrf"), counted.stale["pcrf"] + counted.overflow["pcrf"]),
    ):
        np.testing.assert_allclose(total(found, name), expected, rtol=1e-9, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(found[-1].values[REGISTERED], counted.successes, rtol=1e-9)
    assert max(reading.values[GATE_QUEUE].max() for reading in found) > 10.0
    assert max(reading.values[pending("pcrf")].max() for reading in found) > 10.0
    assert found[9].end_s == pytest.approx(10.0)
    assert found[9].interval_s == pytest.approx(1.0)
    assert CONGESTED not in found[0].values


def test_an_interval_starts_anew_for_the_rows_named() -> None:
    batch = batch_of(LAB, 6, nop_rate=60)
    observer = Observer(batch)
    batch.run(100)
    observer.forget([1, 4])
    batch.run(100)
    seen = observer.read().values[REQUESTS] * 200 * batch.dt
    late = batch_of(LAB, 6, nop_rate=60)
    late.run(100)
    early = late.counters()[layout.K_ATTEMPTS]
    whole = batch.counters()[layout.K_ATTEMPTS]
    np.testing.assert_allclose(seen[[0, 2, 3, 5]], whole[[0, 2, 3, 5]])
    np.testing.assert_allclose(seen[[1, 4]], (whole - early)[[1, 4]])


def test_rows_see_what_they_see_alone() -> None:
    """Also once storms of one tile are over and others are not."""
    batch = batch_of(LAB, 6, nop_rate=50)
    _, found = readings(batch, round(2.0 / batch.dt), 50)
    over = batch.counters()[layout.K_OVER] * batch.dt
    assert 0.0 < over.min() < over.max()
    for row in (int(over.argmin()), int(over.argmax())):
        alone = Batch([LAB], [row], setting_matrix([{"nop_rate": 50}], LAB), threads=1, tile=batch.plan.tile)
        _, expected = readings(alone, round(2.0 / batch.dt), 50)
        for a, b in zip(found, expected, strict=True):
            for name in a.values:
                assert a.values[name][row] == b.values[name][0], name


def test_links() -> None:
    batch = batch_of(few_links(30.0, 60_000.0), 5)
    _, found = readings(batch, round(10.0 / batch.dt), 90)
    counted = outcomes(batch)
    names = [f"stp1/slc{number}" for number in range(1, 5)]
    for name in names:
        np.testing.assert_allclose(total(found, sent(name)), counted.link_tx[name], rtol=1e-9)
        np.testing.assert_allclose(total(found, received(name)), counted.link_rx[name], rtol=1e-9)
    np.testing.assert_allclose(total(found, sent()), np.sum([counted.link_tx[n] for n in names], axis=0), rtol=1e-9)
    assert max(reading.values[CONGESTED].max() for reading in found) >= 3.0
    assert max(reading.values[queued()].max() for reading in found) > 400.0
    for reading in found:
        np.testing.assert_array_equal(
            reading.values[CONGESTED], np.sum([reading.values[f"{name} congested"] for name in names], axis=0)
        )
        assert (reading.values[DOWN] == 0.0).all()


def test_elements_beyond_the_attach_chain() -> None:
    batch = batch_of(dynamic_limit(), 5)
    _, found = readings(batch, round(10.0 / batch.dt), 60)
    counted = outcomes(batch)
    for kind in ("ccr_i", "ccr_t"):
        np.testing.assert_allclose(total(found, offered(kind)), counted.peers[f"gateway/offered_{kind}"], rtol=1e-9)
        np.testing.assert_allclose(total(found, passed(kind)), counted.peers[f"gateway/passed_{kind}"], rtol=1e-9)
    np.testing.assert_allclose(total(found, LIMITED), counted.core["dra_limited"], rtol=1e-9)
    assert 0.5 < max(reading.values[DATABASE_CPU].max() for reading in found) <= 1.0

    batch = batch_of(notifications(), 5)
    _, found = readings(batch, round(10.0 / batch.dt), 60)
    counted = outcomes(batch)
    np.testing.assert_allclose(total(found, DDN_SENT), counted.core["ddn_sent"], rtol=1e-9)
    np.testing.assert_allclose(total(found, DDN_DROPPED), counted.core["ddn_dropped"], rtol=1e-9)
    assert 0.5 < max(reading.values[MME_CPU].max() for reading in found) <= 1.0

    batch = batch_of(unknown(50.0), 5)
    _, found = readings(batch, round(10.0 / batch.dt), 60)
    assert 0.4 < max(reading.values[IMSIMGR_CPU].max() for reading in found) <= 1.0
