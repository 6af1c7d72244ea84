"""A setting that is exported and read back is the same setting; and every line of the way is legal."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalstorm.envs.model.knob_table import KnobValue
from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.export import releases, source, staros
from signalstorm.experiments.imports import staros as importer
from signalstorm.experiments.imports import text
from signalstorm.experiments.imports.present import present
from tests.experiments.export.grammar import read
from tests.experiments.export.test_staros import legal_settings
from tests.experiments.recommendation_data import recommendation

NAMES = {
    "mme-context": "ingress",
    "mme-service": "mme1",
    "egtp-context": "ingress",
    "egtp-service": "s11",
    "gateway-context": "gateway",
    "ims-auth-service": "gx",
    "ss7-domain": "1",
    "ss7-variant": "itu",
    "peer-server": "2",
    "psp": "4",
    "asp": "1",
    "sgsn-context": "ingress",
    "sgsn-service": "sgsn1",
    "sgw-context": "ingress",
    "sgw-service": "sgw1",
    "failure-template": "gx",
    "charging-service": "acs",
    "credit-control-group": "gy",
    "congestion-profile": "critical1",
}
LAB, SGSN = load("lab-pcrf"), load("incident-2014")


@st.composite
def legal_sgsn_settings(draw: st.DrawFn) -> dict[str, Any]:
    rate = draw(st.one_of(st.just("off"), st.integers(50, 5000), st.sampled_from([50, 51, 250, 4999, 5000])))
    wait = draw(st.integers(1, 15))
    low, initial, high = sorted(draw(st.tuples(*[st.integers(1, 1200) | st.integers(1, 60)] * 3)))
    setting: dict[str, Any] = {
        "nop_rate": rate,
        "nop_wait_s": wait,
        "nop_action": draw(st.sampled_from(["drop", "reject-congestion"])),
        "rto_min_ms": 100 * min(low, 50),
        "rto_initial_ms": 100 * initial,
        "rto_max_ms": 100 * max(high, 5),
        "max_assoc_retx": draw(st.integers(0, 255)),
        "sack_period_ms": 10 * draw(st.integers(0, 50)),
    }
    if draw(st.booleans()) and isinstance(rate, int) and max(250, rate) <= min(25000, rate * wait):
        setting["nop_queue"] = draw(st.integers(max(250, rate), min(25000, rate * wait)))
    return setting


def in_force(values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
    """A setting in one form: with the queue that the gate holds, and without what has no effect."""
    scenario = SGSN if "rto_max_ms" in values else LAB
    known = dict(resolve({k: v for k, v in values.items() if k != "pcrf_rate_per_s"}, scenario))
    known.pop("pcrf_rate_per_s", None)
    if known["nop_rate"] == "off":
        for name in ("nop_wait_s", "nop_queue", "nop_action", "t3346_s"):
            known.pop(name, None)
    elif known.get("nop_action") != "reject-congestion" or scenario is SGSN:
        known.pop("t3346_s", None)
    return known


def check_round_trip(now: dict[str, Any], then: dict[str, Any]) -> None:
    access = "gprs" if "rto_max_ms" in now else "eps"
    content = recommendation(present=now, recommended=then)
    exported = staros.files(source.read(content), releases.UNKNOWN, NAMES)
    for target, other, suffix in ((then, now, ""), (now, then, "-rollback")):
        box = dict(other)
        for name in (f"staros{suffix}.cfg", f"staros-gateway{suffix}.cfg"):
            if name not in exported:
                continue
            legal = read(exported[name], {key: value for key, value in box.items() if key.startswith("rto_")})
            if not legal.lines:
                continue
            found = importer.parse(text.clean(exported[name].encode(), name))
            assert not found.troubles
            assert found.unknown_count == 0
            imported = {key: one.value for key, one in present(found, access).items()}
            if "nop_rate" in imported:
                for form in ("nop_queue", "nop_queue_wait_s"):
                    box.pop(form, None)
            box |= imported
        assert in_force(box) == in_force(target)


_quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_thousand = settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_pairs = given(
    pair=st.one_of(
        st.tuples(legal_settings(), legal_settings()), st.tuples(legal_sgsn_settings(), legal_sgsn_settings())
    )
)


@_pairs
@_quick
def test_export_then_import(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_round_trip(*pair)


@pytest.mark.long
@_pairs
@_thousand
def test_export_then_import_a_thousand_times(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    check_round_trip(*pair)


@st.composite
def core_settings(draw: st.DrawFn, access: str, *, by_mme: bool) -> dict[str, Any]:
    """What is set beside the attach chain; by an MME of Release 10 or by the SGW itself where notifications are."""
    made: dict[str, Any] = {
        "broadcast_off_percent": draw(st.just("off") | st.integers(50, 70)),
        "imsimgr_instances": draw(st.integers(1, 8)),
    }
    if access == "gprs":
        low = draw(st.integers(1, 15))
        return made | {
            "session_managers": draw(st.integers(1, 384)),
            "t3346_low_min": low,
            "t3346_high_min": draw(st.integers(low, 30)),
            "rto_max_ms": 60000,
        }
    window = draw(st.integers(2, 300))
    made |= {
        "gx_failure_action": draw(st.sampled_from(["terminate", "continue", "retry"])),
        "gy_failure_action": draw(st.sampled_from(["terminate", "continue"])),
        "ddn_arp_watermark": draw(st.integers(1, 15)),
    }
    if by_mme:
        return made | {
            "ddn_factor_percent": draw(st.integers(1, 100)),
            "ddn_delay_s": draw(st.integers(2, 1_116_000)),
        }
    return made | {
        "ddn_limit_per_s": draw(st.integers(1, 999_999_999)),
        "ddn_window_s": window,
        "ddn_factor_percent": draw(st.integers(1, 100)),
        "ddn_increment_percent": draw(st.integers(1, 100)),
        "ddn_poll_s": draw(st.integers(1, window - 1)),
        "ddn_throttle_time_s": draw(st.integers(1, 310 * 3600)),
        "ddn_stabilisation_s": draw(st.integers(1, 310 * 3600)),
    }


def check_core_round_trip(now: dict[str, Any], then: dict[str, Any], access: str) -> None:
    exported = staros.files(source.read(recommendation(present=now, recommended=then)), releases.UNKNOWN, NAMES)
    for target, other, suffix in ((then, now, ""), (now, then, "-rollback")):
        box = dict(other)
        for name in (f"staros{suffix}.cfg", f"staros-gateway{suffix}.cfg"):
            if name in exported and read(exported[name]).lines:
                found = importer.parse(text.clean(exported[name].encode(), name))
                assert found.unknown_count == 0
                box |= {key: one.value for key, one in present(found, access).items()}
        assert box == target


_cores = given(data=st.data(), access=st.sampled_from(["gprs", "eps"]), by_mme=st.booleans())


@_cores
@_quick
def test_elements_beside_the_attach_chain(data: st.DataObject, access: str, by_mme: bool) -> None:
    now, then = (data.draw(core_settings(access, by_mme=by_mme)) for _ in range(2))
    check_core_round_trip(now, then, access)


@pytest.mark.long
@_cores
@_thousand
def test_elements_beside_the_attach_chain_a_thousand_times(data: st.DataObject, access: str, by_mme: bool) -> None:
    now, then = (data.draw(core_settings(access, by_mme=by_mme)) for _ in range(2))
    check_core_round_trip(now, then, access)
