"""The recommendation's file: written, read back, and refused where it is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.recommendation import Recommendation, load, save
from signalstorm.experiments.tune import tune
from tests.experiments.tuning import SMALL, busy_scenario


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    folder = tmp_path_factory.mktemp("recommendation")
    return tune(busy_scenario(), knobs=["diameter_tx_s"], out=folder, budget=SMALL, trials=8)


def _changed(record: Recommendation, folder: Path, **changes: Any) -> Path:
    content = record.model_dump(mode="json") | changes
    path = folder / "recommendation.json"
    path.write_text(json.dumps({key: value for key, value in content.items() if value != "gone"}), "utf-8")
    return path


def test_it_is_read_back_from_file_and_folder(record: Recommendation, tmp_path: Path) -> None:
    path = save(record, tmp_path)
    assert load(path) == load(tmp_path) == record


def test_the_verdict_comes_first(record: Recommendation, tmp_path: Path) -> None:
    content = json.loads(save(record, tmp_path).read_text("utf-8"))
    assert next(iter(content)) == "verdict"
    assert content["format"] == "signalstorm-recommendation/1"


def test_a_changed_figure_is_noticed(record: Recommendation, tmp_path: Path) -> None:
    nominal = record.model_dump(mode="json")["nominal"]
    nominal["recommended"]["rmst_s"] *= 0.9
    assert load(_changed(record, tmp_path, nominal=nominal)).altered() == ["nominal"]
    assert load(_changed(record, tmp_path, recommended={"nop_rate": 51, "nop_wait_s": 9})).altered() == ["setting"]


def test_all_faults_are_named_at_once(record: Recommendation, tmp_path: Path) -> None:
    path = _changed(record, tmp_path, search="gone", never_worse="yes", verdictt=1)
    with pytest.raises(InputError) as caught:
        load(path)
    assert {fault.key for fault in caught.value.faults} >= {"search", "never_worse", "verdictt"}


def test_an_illegal_setting_is_refused(record: Recommendation, tmp_path: Path) -> None:
    path = _changed(record, tmp_path, recommended={"nop_rate": 400, "nop_wait_s": 5, "nop_queue": 2500})
    with pytest.raises(InputError, match="nop_rate <= nop_queue <= nop_rate") as refused:
        load(path)
    (fault,) = refused.value.faults
    assert fault.key == "recommended.nop_queue"
    assert str(fault).count("but got") == 1
    two = _changed(record, tmp_path, recommended={"nop_rate": 40, "nop_wait_s": 99})
    with pytest.raises(InputError) as refused:
        load(two)
    assert {fault.key for fault in refused.value.faults} == {"recommended.nop_rate", "recommended.nop_wait_s"}


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "is not JSON"), ("[]", "must be a recommendation"), ('{"format": "other/1"}', "got 'other/1'")],
)
def test_a_foreign_file_is_refused(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "recommendation.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match=words):
        load(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "nothing.json")
