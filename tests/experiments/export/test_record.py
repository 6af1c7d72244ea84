"""The JSON record, and what an export refuses before it writes anything."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import signalstorm
from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.export import NotBetterError, preview, write
from signalstorm.experiments.recommendation import Recommendation
from tests.experiments.recommendation_data import recommendation


def test_record_holds_setting_commands_evidence_and_hashes(tmp_path: Path) -> None:
    file = tmp_path / "recommendation.json"
    file.write_text(json.dumps(recommendation()))
    paths = write(tmp_path, tmp_path / "out", release=19)
    record = json.loads((tmp_path / "out" / "recommended.json").read_text())
    assert record["setting"]["nop_rate"] == 60
    assert record["release"] == 19
    assert record["lines"]["staros-rollback.cfg"][1].strip().startswith("default network-overload-protection")
    assert record["commands"]["staros.cfg"][0]["knobs"] == ["nop_rate", "nop_wait_s", "nop_queue", "nop_action"]
    assert any("not of 19" in doubt for doubt in record["confirm_on_box"])
    assert record["evidence"]["held_out"]["worst_ratio"] == 0.92
    assert record["hashes"]["recommendation"] == preview(recommendation())["hashes"]["recommendation"]
    for path in paths:
        if path.suffix == ".cfg":
            assert record["hashes"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_record_model_mapping_and_file_give_the_same_files(tmp_path: Path) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps(recommendation()))
    expected = preview(recommendation())["hashes"]
    assert (
        preview(Recommendation.model_validate(recommendation()))["hashes"]
        == preview(file)["hashes"]
        == preview(str(file))["hashes"]
        == expected
    )


def test_public_name() -> None:
    assert signalstorm.export is write


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recommended": {"nop_rate": 400, "nop_queue": 2500}}, r"nop_queue: .*nop_queue=2500 requests"),
        ({"recommended": {"nop_rate": 9000}}, r"recommended\.nop_rate: must be a whole number, 50 to 5000 per s"),
        ({"recommended": {"nop_rat": 400}}, "no such knob. Did you mean nop_rate"),
        ({"present": None}, "present: "),
        ({"never_worse": "perhaps"}, "never_worse: "),
        ({"verdikt": ""}, "verdikt: .*Did you mean verdict"),
    ],
)
def test_what_is_not_legal_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        write(recommendation(**changes), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_files_and_targets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no recommendation\.json, so it is not"):
        write(tmp_path, tmp_path)
    broken = tmp_path / "broken.json"
    for text, message in (("{", "is not JSON"), ("[]", "must be a recommendation of the format")):
        broken.write_text(text)
        with pytest.raises(InputError, match=message):
            write(broken, tmp_path)
    with pytest.raises(InputError, match="One of: staros, vdra, runbook, json"):
        write(recommendation(), tmp_path, ["huawei"])


def test_what_was_changed_by_hand_is_refused_unless_forced(tmp_path: Path) -> None:
    sealed = Recommendation.model_validate(recommendation()).sealed().model_dump(mode="json")
    assert preview(sealed)["altered"] == []
    sealed["recommended"]["nop_rate"] = 80
    with pytest.raises(InputError, match=r"as the search wrote it.*but got changes in setting\. --force"):
        write(sealed, tmp_path)
    for path in write(sealed, tmp_path, ["staros"], force=True):
        assert path.read_text().startswith("# ALTERED AFTER THE SEARCH")


def test_the_storms_outweigh_the_word(tmp_path: Path) -> None:
    content = recommendation()
    content["held_out"]["storms"][0]["worse"] = True
    with pytest.raises(NotBetterError):
        write(content, tmp_path)
