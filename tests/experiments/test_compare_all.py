"""All comparisons by one call, on few storms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments import compare_all as module
from signalstorm.experiments.compare_all import compare_all, environments


def test_every_packaged_training_on_storms_that_differ_takes_part() -> None:
    assert environments() == [
        "IncidentSgsnRandomised", "AttachLteRandomised", "DraThrottleRandomised", "CoreStormRandomised",
    ]  # fmt: skip


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was trained; the policies are settings in files."""
    seen: list[str] = []

    def train(name: str, *, out: Path, progress: Callable[[str, int, int], None] | None) -> None:
        seen.append(name)
        out.mkdir(parents=True)
        (out / "result.json").write_text("{}")
        (out / "recommendation.json").write_text('{"recommended": {"nop_rate": 100}}')

    monkeypatch.setattr(module, "train", train)
    return seen


def test_policies_are_trained_once_and_one_page_is_written(trained: list[str], tmp_path: Path) -> None:
    told: list[Any] = []
    runs, out = tmp_path / "runs", tmp_path / "out"
    arguments: dict[str, Any] = {"beyond": 0, "only": ["constant-gain"], "which": ["AttachLteEasy"], "runs": runs}
    for _ in range(2):
        (found,) = compare_all(2, **arguments, out=out, threads=1, progress=lambda *words: told.append(words))
        assert [run.name for run in found.runs] == ["present", "best-static", "constant-gain", "attach-lte-easy-0"]
    assert trained == ["AttachLteEasy"]
    page = (out / "results.md").read_text()
    assert "## attach-lte-easy" in page
    assert "| attach-lte-easy-0 |" in page
    assert (out / "attach-lte-easy" / "compare.csv").exists()
    assert told


def test_wrong_names_are_refused_before_anything_is_trained(trained: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no contestant of any"):
        compare_all(2, only=["aimt"], runs=tmp_path, out=tmp_path)
    assert trained == []
