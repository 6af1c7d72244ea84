"""Exported StarOS files: legal line by line, and worth the same as the setting they come from."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.export import RELEASES, NotBetterError, releases, source, staros, write
from tests.experiments.export.grammar import Box, NotLegal, read
from tests.experiments.recommendation_data import recommendation

ATTACH = {
    "drop": "drop",
    "reject-congestion": "reject-with-emm-cause congestion",
    "reject-network-failure": "reject-with-emm-cause network-failure",
}


@st.composite
def legal_settings(draw: st.DrawFn) -> dict[str, Any]:
    rate = draw(st.one_of(st.just("off"), st.integers(50, 5000), st.sampled_from([50, 51, 250, 4999, 5000])))
    wait = draw(st.integers(1, 15))
    setting: dict[str, Any] = {
        "nop_rate": rate,
        "nop_wait_s": wait,
        "nop_action": draw(st.sampled_from(list(ATTACH))),
        "t3346_s": draw(st.sampled_from([0, 1, 1500]) | st.integers(0, 11160)),
        "gtpc_timeout_ms": draw(st.integers(10, 200)) * 100,
        "gtpc_retries": draw(st.integers(0, 15)),
        "diameter_tx_s": draw(st.integers(1, 300)),
        "pcrf_rate_per_s": draw(st.integers(1, 100000)),
    }
    form = draw(st.sampled_from(["none", "queue", "seconds"]))
    if form == "seconds":
        setting["nop_queue_wait_s"] = draw(st.integers(2, 30)) / 2
    elif form == "queue" and isinstance(rate, int):
        low, high = max(250, rate), min(25000, rate * wait)
        setting["nop_queue"] = draw(st.integers(low, high)) if low <= high else rate * wait
    return setting


def held(setting: dict[str, Any]) -> int:
    """The gate's queue by the published rules: 250 to 25000 and rate to rate x wait, by default rate x wait."""
    most = setting["nop_rate"] * setting["nop_wait_s"]
    if most < 250 or "nop_queue" in setting:
        return int(setting.get("nop_queue", most))
    wanted = round(setting["nop_rate"] * setting.get("nop_queue_wait_s", 15))
    return int(min(max(wanted, 250, setting["nop_rate"]), most, 25000))


def refuses(setting: dict[str, Any]) -> bool:
    return bool(setting["nop_rate"] != "off" and setting["nop_action"] == "reject-congestion")


def check_values(found: dict[str, Any], target: dict[str, Any], other: dict[str, Any], *, back: bool) -> None:
    assert found.pop("nop_rate") == target["nop_rate"]
    if target["nop_rate"] != "off":
        assert found.pop("nop_wait_s") == target["nop_wait_s"]
        assert found.pop("queue") == held(target)
        assert found.pop("attach") == found.pop("tau") == ATTACH[target["nop_action"]]
    back_off = found.pop("t3346_s", None)
    if refuses(target):
        assert back_off == (None if refuses(other) and target["t3346_s"] == other["t3346_s"] else target["t3346_s"])
    else:
        # Only the way back undoes what the way there has set; on the way there the timer, without effect, stays.
        assert back_off == ("default" if refuses(other) and back else None)
    changed = [n for n in ("gtpc_timeout_ms", "gtpc_retries", "diameter_tx_s") if target[n] != other[n]]
    assert found == {name: target[name] for name in changed}


def check_export(present: dict[str, Any], recommended: dict[str, Any], release: str | None, text: str) -> None:
    content = recommendation(present=present, recommended=recommended, verdict=text)
    content["scenario"]["name"] = text
    run = source.read(content)
    old = release == "16"
    if old:
        has_ms = present["gtpc_timeout_ms"] != recommended["gtpc_timeout_ms"] and any(
            setting["gtpc_timeout_ms"] % 1000 for setting in (present, recommended)
        )
        pairs = ((present, recommended), (recommended, present))
        sends = any(refuses(a) and a["t3346_s"] and not (refuses(b) and a["t3346_s"] == b["t3346_s"]) for a, b in pairs)
        if has_ms or sends:
            with pytest.raises(InputError, match="release 16"):
                staros.files(run, releases.find(release), {})
            return
    files = staros.files(run, releases.find(release), {})
    there, back = read(files["staros.cfg"]), read(files["staros-rollback.cfg"])
    for box, name in ((there, "staros-gateway.cfg"), (back, "staros-gateway-rollback.cfg")):
        gateway = read(files[name]) if name in files else Box()
        assert set(gateway.values) <= {"diameter_tx_s"}
        assert not set(box.values) & set(gateway.values)
        box.values |= gateway.values
    if old:
        for box in (there, back):
            assert box.values.pop("t3346_s", 0) == 0
        return
    check_values(there.values, recommended, present, back=False)
    check_values(back.values, present, recommended, back=True)
    assert "pcrf_rate_per_s = " in files["staros.cfg"].replace("\n#  ", "")


def _runs(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


_arguments = given(
    present=legal_settings(), recommended=legal_settings(), release=st.sampled_from([None, *RELEASES]), text=st.text()
)


@_arguments
@_runs(100)
def test_every_line_is_legal_and_the_values_survive(
    present: dict[str, Any], recommended: dict[str, Any], release: str | None, text: str
) -> None:
    check_export(present, recommended, release, text)


@pytest.mark.long
@_arguments
@_runs(1000)
def test_every_line_is_legal_and_the_values_survive_a_thousand_times(
    present: dict[str, Any], recommended: dict[str, Any], release: str | None, text: str
) -> None:
    check_export(present, recommended, release, text)


@pytest.mark.parametrize(
    "line",
    [
        "network-overload-protection mme-new-connections-per-second 49 action attach drop tau drop fwd-reloc drop",
        "network-overload-protection mme-new-connections-per-second 400 action attach drop tau drop fwd-reloc drop"
        " queue-size 2500 wait-time 5",
        "network-overload-protection mme-new-connections-per-second 50 action attach drop tau drop fwd-reloc drop"
        " queue-size 200 wait-time 4",
        "network-overload-protection mme-new-connections-per-second 400 action attach drop tau drop",
        "emm t3346-timeout 60",
    ],
)
def test_the_checker_refuses_what_the_box_would(line: str) -> None:
    with pytest.raises(NotLegal):
        read(f"config\n  {line}\nend\n")


def commands_of(release: str | int | None = None, names: dict[str, str] | None = None, **knobs: Any) -> list[str]:
    content = recommendation()
    content["recommended"].update(knobs)
    run = source.read(content)
    return [
        line.strip()
        for todo in staros.plan(run, releases.find(release)).values()
        for line in staros.lines(todo, names or {})
        if line not in ("config", "end")
    ]


def test_the_published_line() -> None:
    assert commands_of(nop_rate=500, nop_queue=1500, nop_wait_s=5)[0] == (
        "network-overload-protection mme-new-connections-per-second 500 action attach drop tau drop fwd-reloc drop "
        "queue-size 1500 wait-time 5"
    )


def test_queue_size_is_omitted_where_no_value_is_legal() -> None:
    assert commands_of(nop_rate=50, nop_queue=200, nop_wait_s=4)[0].endswith("fwd-reloc drop wait-time 4")


def test_a_first_refusal_never_carries_the_default_back_off() -> None:
    lines = commands_of(nop_action="reject-congestion", t3346_s=0)
    gate = next(i for i, line in enumerate(lines) if line.startswith("network-overload"))
    assert lines.index("emm t3346-timeout 0") < gate
    assert lines.index("default network-overload-protection mme-new-connections-per-second") < lines.index(
        "default emm t3346-timeout"
    )


def test_forms_follow_the_release() -> None:
    assert "gtpc retransmission-timeout-ms 3000" in commands_of(21, gtpc_timeout_ms=3000)
    assert "gtpc retransmission-timeout 3" in commands_of("R16", gtpc_timeout_ms=3000)
    with pytest.raises(InputError, match=r"whole seconds in release 16.*3500 ms"):
        commands_of(16, gtpc_timeout_ms=3500)
    with pytest.raises(InputError, match="which has no `emm t3346-timeout`"):
        commands_of(16, nop_action="reject-congestion", t3346_s=60)
    for unknown in ("15", "22", "latest", ""):
        with pytest.raises(InputError, match="16, 17, 18, 19, 20, 21"):
            commands_of(unknown)
    assert releases.find("21.28").number == 21


def test_names_are_filled_in_or_marked() -> None:
    marked = commands_of(gtpc_retries=2)
    assert "context < context of the eGTP service >" in marked
    named = commands_of(names={"egtp-context": "ingress", "egtp-service": "s11"}, gtpc_retries=2)
    assert named[1:4] == ["context ingress", "egtp-service s11", "gtpc max-retransmissions 2"]
    with pytest.raises(InputError, match=r"Did you mean mme-service\?(.|\n)*must be a name"):
        staros.check_names({"mme-servce": "a", "mme-service": "a\nno mme-service a"})


def test_remarks_carry_unit_change_source_and_doubts(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("topology: {gate: {instances: 4}}")
    (tmp_path / "recommendation.json").write_text(json.dumps(recommendation()))
    write(tmp_path, tmp_path, ["staros"])
    text = (tmp_path / "staros.cfg").read_text()
    for part in (
        "# nop_rate = 60 per s (before: off). Changed: live. Seen in: CLI-R17 p5406",
        "one every 16.67 ms; wait-time 10 s = 10000 ms",
        "each of 4 IMSI managers gets 15 per s",
        "CONFIRM ON BOX: the references of releases 16 and 17 print `ddn",
        "pcrf_rate_per_s = 50 per s is a what-if",
        "#   nop_rate: off -> 60 per s",
    ):
        assert part in text


def test_a_line_that_changes_nothing_says_so(tmp_path: Path) -> None:
    content = recommendation()
    write(content, tmp_path, ["staros"])
    assert "changes nothing" not in (tmp_path / "staros.cfg").read_text()
    links = {"rto_min_ms": 1000, "rto_initial_ms": 1000}
    content["present"] |= links | {"rto_max_ms": 60_000}
    content["recommended"] |= links | {"rto_max_ms": 1000}
    write(content, tmp_path, ["staros"])
    assert "no associate" in (tmp_path / "staros.cfg").read_text()
    assert "changes nothing" not in (tmp_path / "staros.cfg").read_text()
    content["present"] = dict(content["recommended"])
    write(content, tmp_path, ["staros"])
    above, gate = (tmp_path / "staros.cfg").read_text().split("network-overload-protection")
    assert "#   changes nothing: this is in force already, and may be left out" in above
    assert "changes nothing" not in gate


def test_each_file_says_what_the_other_box_changes(tmp_path: Path) -> None:
    """And a gate that is off has neither wait nor queue, so that neither changes nor stays."""
    content = recommendation()
    content["recommended"]["diameter_tx_s"] = 3
    write(content, tmp_path, ["staros"])
    texts = {path.name: path.read_text() for path in tmp_path.glob("*.cfg")}
    assert "#   nop_rate: off -> 60 per s\n" in texts["staros.cfg"]
    assert "#   nop_wait_s: not set -> 10 s\n" in texts["staros.cfg"]
    assert "(before: 5 s)" not in texts["staros.cfg"]
    assert "#   diameter_tx_s: 2 s -> 3 s (by staros-gateway.cfg)\n" in texts["staros.cfg"]
    assert "#   diameter_tx_s: 2 s -> 3 s\n" in texts["staros-gateway.cfg"]
    assert "#   nop_rate: off -> 60 per s (by staros.cfg)\n" in texts["staros-gateway.cfg"]
    assert "#   nop_wait_s: 10 s -> not set (by staros-rollback.cfg)\n" in texts["staros-gateway-rollback.cfg"]
    assert "nop_action" not in texts["staros-rollback.cfg"].split("What stays")[1]


def test_files_of_the_gateway_do_not_stay_behind(tmp_path: Path) -> None:
    content = recommendation()
    content["recommended"]["diameter_tx_s"] = 3
    names = {path.name for path in write(content, tmp_path, ["staros"])}
    assert names == {"staros.cfg", "staros-rollback.cfg", "staros-gateway.cfg", "staros-gateway-rollback.cfg"}
    assert "diameter" not in "".join(read((tmp_path / "staros.cfg").read_text()).lines)
    write(recommendation(), tmp_path, ["staros"])
    assert {path.name for path in tmp_path.iterdir()} == {"staros.cfg", "staros-rollback.cfg"}


def test_a_worse_setting_is_refused_unless_forced(tmp_path: Path) -> None:
    content = recommendation(never_worse=False)
    with pytest.raises(NotBetterError, match=r"worse than the present setting.*got a worst ratio of 0.920.*--force"):
        write(content, tmp_path)
    assert list(tmp_path.iterdir()) == []
    for path in write(content, tmp_path, ["staros"], force=True):
        assert path.read_text().startswith("# WORSE THAN THE PRESENT SETTING ON AT LEAST ONE HELD-OUT STORM.\n")
