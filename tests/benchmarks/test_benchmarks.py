"""The benchmarks' own parts: the C twin computes what the kernel computes, and pass marks can be missed."""

import itertools
import json

import numpy as np
import pytest

from benchmarks import twin
from benchmarks.__main__ import main
from benchmarks.measure import Ratio, compare, of_pairs
from benchmarks.suite import SUITE
from signalstorm.envs.model import scenario_file
from signalstorm.envs.model.batch import Batch
from signalstorm.envs.model.parameters import setting_matrix

needs_compiler = pytest.mark.skipif(twin.compiler() is None, reason="there is no C compiler for the twin")


@needs_compiler
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("lab-pcrf", {}),
        ("lab-pcrf", {"nop_rate": 62, "nop_wait_s": 15, "diameter_tx_s": 4}),
        ("lab-pcrf", {"nop_rate": 70, "nop_action": "reject-congestion"}),
        ("lab-pcrf-a", {}),
        ("lab-pcrf-nop50", {}),
    ],
)
def test_the_c_twin_gives_the_same_bits(name: str, knobs: dict[str, object]) -> None:
    scenario = scenario_file.load(name)
    kernel, c = (
        Batch([scenario] * 40, range(40), setting_matrix([knobs], scenario), threads=1, tile=32) for _ in range(2)
    )
    kernel.run()
    twin.run(c)
    np.testing.assert_array_equal(kernel.counters(), c.counters())
    for queue in ("gate", "pcrf"):
        np.testing.assert_array_equal(kernel.queue(queue), c.queue(queue))


def test_a_ratio_is_the_median_of_pairs() -> None:
    times = itertools.chain([9.0], itertools.cycle([2.0, 4.0, 3.0]))
    result = compare("two", lambda: next(times), lambda: 1.0, rounds=3, most=2.5)
    assert (result.ratio, result.low, result.high) == (3.0, 2.0, 4.0)
    assert not result.passed


def test_a_pass_mark_may_be_what_is_to_be_reached() -> None:
    assert of_pairs("two", [(6.0, 3.0), (4.0, 1.0), (9.0, 3.0)], "s", least=3.0).mark == "at least 3: met"
    assert not of_pairs("two", [(6.0, 3.0)], "s", least=2.5).passed
    assert of_pairs("two", [(6.0, 3.0)], "s").mark == ""


def test_a_missed_pass_mark_is_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SUITE, "kernel", lambda: iter([Ratio("slow", 3.0, 1.0, "s", 3.0, 3.0, 3.0, 2.0)]))
    assert main(["kernel"]) == 0
    assert "MISSED" in capsys.readouterr().out
    assert main(["kernel", "--check", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["passed"] is False


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["kernal"])
    assert caught.value.code == 2
    assert "there are kernel" in capsys.readouterr().err
