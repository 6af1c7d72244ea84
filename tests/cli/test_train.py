"""``train``: without its extra, with sizes that nothing can hold, and what exit code 1 means."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from signalstorm.cli import EXIT_OK, EXIT_REJECTED, EXIT_WRONG_INPUT, main
from tests.cli.commands import Run


def test_without_the_extra_the_way_to_it_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "signalstorm.agents.ppo", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as end:
        main(["train", "AttachLteEasy", "-q"])
    assert end.value.code == EXIT_WRONG_INPUT
    assert "training needs torch" in capsys.readouterr().err


def test_a_file_with_sizes_that_no_memory_holds_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("environment: AttachLteEasy\noptions: {delay: -1}\nlearning: {hidden: [1000000000]}\n")
    code, out, err = run("train", "--training", "./mine.yaml", "-q")
    assert (code, out) == (EXIT_WRONG_INPUT, "")
    assert "mine.yaml:2: options.delay: must be" in err
    assert "mine.yaml:3: learning.hidden.0: must be at most 2048, but got 1000000000" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


@pytest.mark.parametrize(("policy_s", "code"), [(90.0, EXIT_OK), (100.0, EXIT_REJECTED)])
def test_exit_code_1_says_why(run: Run, monkeypatch: pytest.MonkeyPatch, policy_s: float, code: int) -> None:
    pytest.importorskip("gymnasium")
    from signalstorm.experiments.train import Judgement, Trained

    policy, present, static = (Judgement(time_s, 0.1, 1.0, 2.0) for time_s in (policy_s, 120.0, 100.0))
    trained = Trained("attach-lte-easy", Path("run"), 128, 1.0, 4, policy, present, static)
    monkeypatch.setitem(sys.modules, "signalstorm.experiments.train", SimpleNamespace(train=lambda *_, **__: trained))
    found, out, err = run("train", "AttachLteEasy", "--json", "-q")
    assert found == code
    assert json.loads(out)["policy"]["rmst_s"] == policy_s
    said = (
        "the policy is no better than the setting with which its episodes begin, 100.0 s against 100.0 s: exit code 1\n"
    )
    assert err == (said if code else "")
