"""What the tests of the command line share."""

from pathlib import Path

import pytest

from signalstorm.cli import main
from tests.cli.commands import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def _run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leave:
            main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return int(leave.value.code or 0), captured.out, captured.err

    return _run
