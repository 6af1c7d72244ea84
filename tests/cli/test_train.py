"""``train`` where its extra is not installed."""

import sys

import pytest

from signalstorm.cli import EXIT_WRONG_INPUT, main


def test_without_the_extra_the_way_to_it_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "signalstorm.agents.ppo", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as end:
        main(["train", "AttachLteEasy", "-q"])
    assert end.value.code == EXIT_WRONG_INPUT
    assert "training needs torch" in capsys.readouterr().err
