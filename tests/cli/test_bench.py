"""``signalstorm bench``."""

import pytest
from typer.testing import CliRunner

from signalstorm.cli import bench
from signalstorm.cli.app import app


def test_an_installed_package_says_where_the_benchmarks_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_clone", lambda: None)
    result = CliRunner().invoke(app, ["bench"])
    assert result.exit_code == 2
    assert "clone" in result.output


@pytest.mark.parametrize("words", [["kernal"], ["kernal", "--check", "--json"]])
def test_an_unknown_benchmark_is_wrong_input(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["bench", *words]).exit_code == 2
