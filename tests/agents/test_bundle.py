import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from signalstorm.agents.bundle import FACTS, WEIGHTS, check_fits, load, save
from signalstorm.agents.policy import Shape
from signalstorm.envs.model.errors import InputError
from tests.agents.test_policy import network

pytest.importorskip("safetensors")

KNOWN = {"scenario": "attach-lte-easy", "scenario_hash": "abc", "features": ["x", "y", "z"], "knobs": ["nop_rate"]}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    save(tmp_path / "policy", network(Shape(3, (4,), (1,), "box")), KNOWN)
    return tmp_path / "policy"


def test_another_process_gives_the_same_actions(bundle: Path) -> None:
    x = np.random.default_rng(3).random((100, 3)).astype(np.float32)
    np.save(bundle / "x.npy", x)
    code = (
        "import sys, numpy as np; from pathlib import Path; from signalstorm.agents.bundle import load;"
        "p = Path(sys.argv[1]); np.save(p / 'y.npy', load(p).policy.act(np.load(p / 'x.npy'))[0]);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(bundle)], check=True)
    expected, _ = load(bundle / FACTS).policy.act(x)
    np.testing.assert_array_equal(np.load(bundle / "y.npy"), expected)


def test_any_flipped_bit_is_noticed(bundle: Path) -> None:
    rng = np.random.default_rng(0)
    for name in (WEIGHTS, FACTS):
        content = (bundle / name).read_bytes()
        for place in rng.integers(len(content) * 8, size=60):
            flipped = bytearray(content)
            flipped[place // 8] ^= 1 << (place % 8)
            (bundle / name).write_bytes(bytes(flipped))
            with pytest.raises(InputError):
                load(bundle)
        (bundle / name).write_bytes(content)
    load(bundle)


def test_what_is_no_bundle_is_refused(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(InputError, match=r"no policy bundle"):
        load(tmp_path)
    facts = json.loads((bundle / FACTS).read_text())
    from signalstorm.agents.bundle import digest

    facts["format"] = 99
    facts["sha256"] = digest(facts)
    (bundle / FACTS).write_text(json.dumps(facts))
    with pytest.raises(InputError, match="format 1"):
        load(bundle)
    facts |= {"format": 1, "shape": {**facts["shape"], "features": 7}}
    facts["sha256"] = digest(facts)
    (bundle / FACTS).write_text(json.dumps(facts))
    with pytest.raises(InputError, match="does not hold a network"):
        load(bundle)


def test_a_bundle_of_something_else_is_refused_with_the_reason(bundle: Path) -> None:
    found = load(bundle)
    check_fits(found, KNOWN)
    assert check_fits(found, KNOWN) == {}
    other = KNOWN | {"scenario": "elsewhere", "scenario_hash": "def"}
    assert check_fits(found, other, transfer=True) == {
        "scenario": {"was": "attach-lte-easy", "is": "elsewhere"},
        "scenario_hash": {"was": "abc", "is": "def"},
    }
    with pytest.raises(InputError, match=r"scenario was attach-lte-easy abc, but is elsewhere def\. .*--transfer"):
        check_fits(found, other)
    with pytest.raises(InputError, match=r"model was m1, but is m2\. Train it anew, or let it through with --transfer"):
        check_fits(replace(found, facts={**found.facts, "model": "m1"}), KNOWN | {"model": "m2"})
    # A name alone tells no scenarios apart.
    assert check_fits(found, KNOWN | {"scenario": "renamed"}) == {}
    with pytest.raises(InputError, match='1 knobs: number 1 was "nop_rate", but is "nop_wait_s"'):
        check_fits(found, KNOWN | {"knobs": ["nop_wait_s"]}, transfer=True)


def test_of_long_lists_the_first_difference_is_shown(bundle: Path) -> None:
    found = load(bundle)
    with pytest.raises(InputError, match='3 features: number 2 was "y", but is "w"'):
        check_fits(found, KNOWN | {"features": ["x", "w", "z"]})
    with pytest.raises(InputError, match='3 features were trained, 4 are here: number 4 was missing, but is "w"'):
        check_fits(found, KNOWN | {"features": ["x", "y", "z", "w"]})
    with pytest.raises(InputError, match='3 features were trained, 2 are here: number 1 was "x", but is "y"'):
        check_fits(found, KNOWN | {"features": ["y", "z"]})


@pytest.mark.parametrize("name", [FACTS, WEIGHTS])
def test_a_missing_file_is_named(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    with pytest.raises(InputError, match=rf"is not a whole policy bundle: {name} missing"):
        load(bundle)
