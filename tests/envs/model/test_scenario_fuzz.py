"""Whatever the input is, the answer is a scenario or findings in plain words, never another error."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from signalstorm.envs.model.errors import InputError
from signalstorm.envs.model.scenario import Scenario
from signalstorm.envs.model.scenario_file import dump, parse
from signalstorm.envs.model.validation import validate
from tests.envs.model.scenario_data import full, full_data

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "off", "pcrf", "eps", "nop_rate", "kind", "x y"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["kind", "name", "rate_per_s", "target", "0"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """The full scenario with some values replaced, taken out, renamed or added."""
    data = full_data(variation={"topology.pcrf.rate_per_s": [40, 60]})
    for _ in range(draw(st.integers(1, 4))):
        here: Any = data
        while True:
            if not isinstance(here, dict | list) or not here:
                break
            keys: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
            key = draw(st.sampled_from(keys))
            if isinstance(here[key], dict | list) and here[key] and draw(st.integers(0, 3)):
                here = here[key]
                continue
            if isinstance(here, dict):
                kind = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
                if kind == "remove":
                    del here[key]
                elif kind == "rename":
                    here[draw(st.sampled_from([f"{key}x", str(key)[:-1], str(key)[1:]]))] = here.pop(key)
                else:
                    here[key if kind == "replace" else draw(st.sampled_from(["nop_rat", "hss", "x"]))] = draw(junk)
            else:
                here[key] = draw(junk)
            break
    return data


@given(data=damaged())
def test_damaged_data_give_a_scenario_or_findings(data: dict[str, Any]) -> None:
    before = copy.deepcopy(data)
    scenario, findings = validate(data, Scenario)
    assert (scenario is None) == bool(findings)
    assert repr(data) == repr(before)
    for finding in findings:
        assert finding.rule
        assert finding.key
        assert "\n" not in str(finding)
    if scenario is not None:
        assert parse(dump(scenario).encode(), "x") == scenario


@given(data=junk)
def test_junk_gives_findings(data: Any) -> None:
    scenario, findings = validate(data, Scenario)
    assert scenario is None
    assert findings


@given(
    values=st.dictionaries(
        st.sampled_from(
            [*full().paths(), "topology", "topology.hss", "timeline.9", "tunable.0", "x.y", "", "present."]
        ),
        junk,
        max_size=3,
    )
)
def test_setting_fields_gives_a_scenario_or_faults(values: dict[str, Any]) -> None:
    try:
        scenario = full().with_fields(values)
    except InputError as error:
        assert all(fault.rule for fault in error.faults)  # noqa: PT017  (both ends are fine)
    else:
        assert parse(dump(scenario).encode(), "x") == scenario
