"""Policies on disk: weights as safetensors and everything else as JSON, so that loading one never runs code."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from signalstorm.agents.origin import BASIS, WAY_THROUGH, basis_words, differences
from signalstorm.agents.policy import Policy, Shape
from signalstorm.envs.model.errors import ABSENT, InputError, Shown, wrong_input
from signalstorm.envs.model.files import write_atomic
from signalstorm.envs.model.wording import installing
from signalstorm.envs.options import Options

FORMAT = 1
"""Rises with any change of the files."""
WEIGHTS, FACTS = "policy.safetensors", "policy.json"
"""The two files of a bundle."""


@dataclass(frozen=True)
class Bundle:
    """A policy, and what it was trained on."""

    policy: Policy = field(repr=False)
    """The network; the facts hold the hash of its weights."""
    facts: Mapping[str, Any]
    """Environment, features, knobs and their ranges, hashes, versions, training."""
    path: Path
    """Where it lies."""


def interface(options: Options, features: tuple[str, ...], low: Any, high: Any) -> dict[str, Any]:
    """Return what must be the same for a policy to mean the same: what it sees, what it moves, on what scales."""
    return {
        "scenario": options.scenario.name,
        "scenario_hash": options.scenario.hash(),
        "features": list(features),
        "knobs": list(options.knobs),
        "low": [float(x) for x in low],
        "high": [float(x) for x in high],
        "action_mode": options.action_mode,
        "control_interval_s": options.control_interval_s,
        "delay": options.delay,
    }


def save(path: Path, policy: Policy, facts: Mapping[str, Any]) -> None:
    """Write a bundle, both files atomically.

    Args:
        path: Its folder, made if it is not there.
        policy: The network.
        facts: In JSON's own types.
    """
    from safetensors.numpy import save as to_bytes

    content = to_bytes(dict(policy.weights))
    known = {
        **facts,
        "format": FORMAT,
        "shape": asdict(policy.shape),
        "weights_sha256": hashlib.sha256(content).hexdigest(),
    }
    path.mkdir(parents=True, exist_ok=True)
    write_atomic(path / WEIGHTS, content)
    write_atomic(path / FACTS, json.dumps({**known, "sha256": digest(known)}, indent=2, allow_nan=False) + "\n")


def digest(facts: Mapping[str, Any]) -> str:
    """Return the hash of everything that a bundle says of itself."""
    plain = {name: value for name, value in facts.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def load(path: Path) -> Bundle:
    """Read a bundle and check it.

    Args:
        path: Its folder, or one of its files.

    Raises:
        InputError: If it is no bundle, is damaged, or belongs to another version.
    """
    folder = path.parent if path.name in (WEIGHTS, FACTS) else path
    missing = [name for name in (FACTS, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        held = "is no policy bundle" if len(missing) == 2 else "is not a whole policy bundle"
        rule, way_out = f"{held}: {' and '.join(missing)} missing", f"give a folder with {FACTS} and {WEIGHTS}"
        raise wrong_input(rule, ABSENT, f"{way_out}, such as train leaves behind", file=str(folder))
    try:
        content, text = (folder / WEIGHTS).read_bytes(), (folder / FACTS).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or f"{FACTS} is not UTF-8 text"
        raise wrong_input(f"cannot be read: {reason}", ABSENT, "copy the bundle again", file=str(folder)) from None
    try:
        facts = json.loads(text)
        if not isinstance(facts, dict) or facts.get("sha256") != digest(facts):
            raise ValueError
    except ValueError:
        raise _damaged(folder, FACTS) from None
    if facts.get("format") != FORMAT:
        rule = f"must have the format {FORMAT}, which this version reads"
        raise wrong_input(rule, Shown(repr(facts.get("format"))), "train it anew", key="format", file=str(folder))
    if hashlib.sha256(content).hexdigest() != facts.get("weights_sha256"):
        raise _damaged(folder, WEIGHTS)
    return Bundle(_policy(content, facts, folder), facts, folder)


def _policy(content: bytes, facts: Mapping[str, Any], folder: Path) -> Policy:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load as from_bytes
    except ModuleNotFoundError as error:
        rule, way_out = f"needs {error.name}, which this installation lacks", installing("rl")
        raise wrong_input(rule, ABSENT, f"install it with {way_out}", file=str(folder)) from None
    try:
        known = facts["shape"]
        shape = Shape(
            int(known["features"]), tuple(known["hidden"]), tuple(known["outputs"]), known["action"], int(known["lstm"])
        )
        return Policy(shape, from_bytes(content))
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        rule = f"does not hold a network of the shape it names: {error}"
        raise wrong_input(rule, ABSENT, "train it anew", file=str(folder / WEIGHTS)) from None


def _damaged(folder: Path, name: str) -> InputError:
    return wrong_input(
        "differs from what was written: its hash does not match", ABSENT, "copy the bundle again, or train it anew",
        file=str(folder / name),
    )  # fmt: skip


def check_fits(bundle: Bundle, wanted: Mapping[str, Any], *, transfer: bool = False) -> dict[str, dict[str, Any]]:
    """Refuse a bundle that means something else here.

    Args:
        bundle: The bundle.
        wanted: `interface` of the environment, and the hash of the model as `model`.
        transfer: Whether another scenario and another model will do, as long as what is seen and moved is the same.

    Returns:
        What of scenario and model differs all the same, see `origin.differences`.

    Raises:
        InputError: With everything that differs.
    """
    found = differences(bundle.facts, wanted)
    other = [name for name in found if name not in BASIS]
    if not other and (transfer or not found):
        return found
    basis = basis_words(found)
    words = [basis] if basis else []
    words += [_difference(name, found[name]["was"], found[name]["is"]) for name in other]
    was = bundle.facts.get("scenario")
    way_out = f"it was trained on {was}: give that scenario, or train a policy for this one"
    if not other:
        model_alone = "scenario_hash" not in found
        way_out = f"{'train it anew' if model_alone else way_out}, {WAY_THROUGH}"
    raise wrong_input(f"does not fit the environment: {'; '.join(words)}", ABSENT, way_out, file=str(bundle.path))


def _difference(name: str, was: Any, now: Any) -> str:
    """Say how two values differ; of lists only the first entry that does."""
    if not isinstance(was, list) or not isinstance(now, list):
        return f"{name} was {_short(was)}, but is {_short(now)}"
    at = next((i for i, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), min(len(was), len(now)))
    old, new = (_short(values[at]) if at < len(values) else "missing" for values in (was, now))
    counts = f"{len(was)} {name}" if len(was) == len(now) else f"{len(was)} {name} were trained, {len(now)} are here"
    return f"{counts}: number {at + 1} was {old}, but is {new}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
