"""Configuration files of a what-if."""

from signalstorm.envs.model.knobs import resolve
from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.export.what_if import UNCHECKED, what_if_files


def _files(name: str, **knobs: int | str) -> dict[str, str]:
    scenario = load(name)
    return what_if_files(scenario.name, resolve({}, scenario), resolve(knobs, scenario))


def test_the_files_say_that_nobody_has_checked_the_setting() -> None:
    for text in _files("lab-pcrf", nop_rate=60, nop_wait_s=15).values():
        assert text.startswith(f"# {UNCHECKED}\n")
        assert text.isascii()


def test_the_way_there_and_the_way_back() -> None:
    files = _files("lab-pcrf", nop_rate=60, nop_wait_s=15, diameter_tx_s=3)
    assert list(files) == ["staros.cfg", "staros-gateway.cfg", "staros-rollback.cfg", "staros-gateway-rollback.cfg"]
    assert "mme-new-connections-per-second 60 action attach drop tau drop" in files["staros.cfg"]
    assert "default network-overload-protection" in files["staros-rollback.cfg"]
    assert "diameter request-timeout 3" in files["staros-gateway.cfg"]
    assert "diameter request-timeout 2" in files["staros-gateway-rollback.cfg"]
    assert "#   nop_rate: off -> 60 per s" in files["staros.cfg"]


def test_nothing_to_change_is_said() -> None:
    files = _files("incident-2014")
    assert "# What changes: nothing" in files["staros.cfg"]


def test_every_line_is_a_remark_or_a_command_of_a_block() -> None:
    text = _files("incident-2014", nop_rate=400, rto_max_ms=3000)["staros.cfg"]
    outside = [line for line in text.splitlines() if line[:1] not in ("#", " ")]
    assert set(outside) <= {"config", "end", ""}
    assert "sctp-rto-max 30" in text
