"""``signalstorm scenarios``: list the scenarios, show one, check a file, start a new one."""

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalstorm.cli import EXIT_WRONG_INPUT
from signalstorm.cli.common import AsJson, Quiet, Verbose, start

if TYPE_CHECKING:
    from signalstorm.envs.model.errors import Fault
    from signalstorm.envs.model.scenario import Scenario

_WIDEST = 60
"""Characters to which the first column of a page is filled up; one long list must not push every meaning aside."""

app = typer.Typer(help="List the scenarios, show one, check a file, start a new one.")


def _no_environment(name: str) -> str:
    """Refuse an environment's id where a scenario is wanted, and say whose it is."""
    from signalstorm.envs.families import FAMILIES
    from signalstorm.envs.model.errors import wrong_input

    if not any(family in name for family in FAMILIES):
        return name
    from signalstorm.envs.registry import options_of, parse_id  # with all of Gymnasium

    found = parse_id(name)
    if found is None:
        return name
    family, variant = found
    way_out = f"its storms are those of {options_of(family.name, variant).scenario.name}: give that name"
    raise wrong_input("must be a scenario; this is an environment's id", name, way_out, key="SCENARIO")


ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A scenario's name, or a file's path.", callback=_no_environment)
]


@app.callback(invoke_without_command=True)
def scenarios(context: typer.Context, as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List the scenarios that come with the package, or do one of the things below."""
    if context.invoked_subcommand is not None:
        if as_json or quiet or verbose:
            raise typer.BadParameter(f"put --json, -q and -v behind the word {context.invoked_subcommand}")
        return
    from signalstorm.envs.model import scenario_file

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    rows = [_row(scenario_file.load(name)) for name in scenario_file.list_names()]
    width = max(len(row["name"]) for row in rows)
    lines = [f"{row['name']:{width}}  {row['subscribers']:>11,}  {row['summary']}" for row in rows]
    output.result(
        rows, "\n".join([f"{'scenario':{width}}  {'subscribers':>11}  what it shows", *lines, scenario_file.DRAWN])
    )


@app.command()
def show(scenario: ScenarioName, as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Print every field of a scenario: dotted path, value, unit, meaning, and what was fitted."""
    from signalstorm.envs.model import scenario_file

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    found, warnings = scenario_file.check(scenario)
    record = _record(found, warnings)
    output.result(record, _page(record))


@app.command()
def check(file: ScenarioName, as_json: AsJson = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Check a scenario and report everything that is wrong with it at once; exit code 2 if anything is."""
    from signalstorm.envs.model import scenario_file
    from signalstorm.envs.model.errors import InputError

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    try:
        scenario, warnings = scenario_file.check(file)
    except InputError as error:
        if not as_json:
            raise
        output.result({"file": file, "valid": False, "faults": _plain(error.faults), "warnings": []}, "")
        raise typer.Exit(EXIT_WRONG_INPUT) from None
    lines = [f"warning: {warning}" for warning in warnings]
    output.result(
        {"file": file, "valid": True, "faults": [], "warnings": _plain(warnings), "hash": scenario.hash()},
        "\n".join([*lines, f"{file}: scenario {scenario.name} is valid"]),
    )


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The new scenario's name: lower-case words with hyphens.")],
    source: Annotated[str, typer.Option("--from", metavar="SCENARIO", help="The scenario to start from.")],
    out: Annotated[Path, typer.Option(help="The folder for the new file.")] = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace an older file of that name.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a copy of a scenario under a new name, to be changed."""
    from signalstorm.envs.model import scenario_file
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.envs.model.files import write_atomic

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    path = out / f"{name}.yaml"
    text = scenario_file.renamed(source, name)
    try:
        write_atomic(path, text, overwrite=force)
    except OSError as error:
        if path.exists() and not force:
            way_out = "take another name, or --force to replace it"
            raise wrong_input("there is such a file already", way_out=way_out, file=str(path)) from None
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(path)) from None
    output.result({"name": name, "file": str(path)}, f"wrote {path}")


def _row(scenario: "Scenario") -> dict[str, Any]:
    return {
        "name": scenario.name,
        "access": scenario.access,
        "subscribers": sum(group.size for group in scenario.subscribers),
        "horizon_s": scenario.horizon_s,
        "tunable": list(scenario.tunable),
        "summary": scenario.description.partition(". ")[0].rstrip("."),
    }


def _record(scenario: "Scenario", warnings: "list[Fault]") -> dict[str, Any]:
    from signalstorm.envs.model.knobs import KNOBS, resolve

    return {
        "name": scenario.name,
        "description": scenario.description,
        "source": scenario.source,
        "hash": scenario.hash(),
        "step_s": scenario.dt,
        "fields": [
            {
                "path": path,
                "value": field.value,
                "unit": field.unit,
                "meaning": field.description,
                "fitted_to": scenario.fitted.get(path),
            }
            for path, field in scenario.paths().items()
            if path not in ("name", "description", "source") and not path.startswith("fitted")
        ],
        "present": [
            {"knob": name, "value": value, "unit": KNOBS[name].unit, "source": KNOBS[name].source}
            for name, value in resolve({}, scenario).items()
        ],
        "variation": {path: list(bounds) for path, bounds in scenario.variation_or_default().items()},
        "warnings": _plain(warnings),
    }


def _page(record: dict[str, Any]) -> str:
    fields = [(_line(row["path"], row), row) for row in record["fields"] if "variation." not in row["path"]]
    present = [(_line(row["knob"], row), row) for row in record["present"]]
    width = min(max(len(text) for text, _ in [*fields, *present]), _WIDEST)
    lines = [f"name: {record['name']}"]
    for key in ("description", "source"):
        lines += [f"{key}:", *textwrap.wrap(record[key], 100, initial_indent="  ", subsequent_indent="  ")]
    lines += ["", "# Fields, by the dotted path that --set takes."]
    for text, row in fields:
        fitted = f" Fitted to: {row['fitted_to']}." if row["fitted_to"] else ""
        lines.append(f"{text:{width}}  # {row['meaning']}{fitted}")
    lines += ["", "# The present setting, completed with defaults, by the knob that --set takes."]
    lines += [f"{text:{width}}  # Source: {row['source']}." for text, row in present]
    lines += ["", "# What differs from storm to storm."]
    lines += [f"{path}: {json.dumps(bounds)}" for path, bounds in record["variation"].items()] or ["nothing"]
    lines += ["", f"# Step of a run: {record['step_s']:g} s. Hash: {record['hash']}."]
    lines += [f"# Warning: {warning['text']}" for warning in record["warnings"]]
    return "\n".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    value = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"])
    unit = "" if isinstance(row["value"], str | None) or row["unit"] == "share" else f" {row['unit']}"
    return f"{name}: {value}{unit}".rstrip()


def _plain(faults: "list[Fault] | tuple[Fault, ...]") -> list[dict[str, Any]]:
    """Return faults in JSON's own types."""
    return [
        {
            "file": fault.file,
            "line": fault.line,
            "key": fault.key,
            "rule": fault.rule,
            "way_out": fault.way_out,
            "text": str(fault),
        }
        for fault in faults
    ]
