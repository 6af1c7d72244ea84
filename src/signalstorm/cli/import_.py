"""``signalstorm import``: running configurations, traps and counters of a real network."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalstorm.cli import EXIT_WRONG_INPUT
from signalstorm.cli.common import AsJson, Quiet, Verbose, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from signalstorm.envs.model.scenario import Scenario
    from signalstorm.experiments.imports.configuration import Configuration
    from signalstorm.experiments.imports.counters import Counter

app = typer.Typer(name="import", no_args_is_help=True, help="Read a running configuration, traps or counters.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file.")]
Out = Annotated[Path | None, typer.Option(help="A folder for what was read.")]
Into = Annotated[str | None, typer.Option(metavar="SCENARIO", help="A scenario's name, or a file's path.")]

Interval = Annotated[float | None, typer.Option(metavar="S", help="The length of an interval, in seconds.")]
Marks = Annotated[
    str | None, typer.Option(metavar="start|end", help="What a time marks: start or end of its interval.")
]

_UNKNOWN_SHOWN = 10


@app.command()
def staros(
    file: File,
    into: Into = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=NAME", help="Which object counts where several differ, such as psp=4."),
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read a StarOS running configuration: say what was understood, and put it into a scenario's present setting.

    With --into the scenario with that setting is printed, or written into --out. Exit code 2 if lines contradict each
    other or are damaged; what was read is shown all the same, but no scenario is written from it.
    """
    from signalstorm.envs.model import scenario_file
    from signalstorm.envs.model.errors import InputError
    from signalstorm.experiments.imports import present, staros
    from signalstorm.experiments.imports.configuration import faults

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    scenario = None if into is None else scenario_file.load(into)
    names = pairs(name or (), "--name", "for example --name psp=4")
    found = staros.read(file)
    record: dict[str, Any] = found.to_json()
    wrong: Exception | None = None
    text = _understood(found)
    if scenario is not None:
        try:
            changed = present.into(found, scenario, names)
            told = present.present(found, scenario.access, names)
            record["present"] = {key: one.value for key, one in told.items()}
            record["fields"] = {key: one.value for key, one in present.fields(found, scenario).items()}
            text += "\n\n" + _present(told, present.fields(found, scenario))
            if out is None:
                text += f"\n\n{scenario_file.dump(changed)}"
            else:
                record["scenario_file"] = str(_write_scenario(changed, out))
                text += f"\n\nwrote {record['scenario_file']}"
        except InputError as error:
            wrong = error
    elif found.troubles:
        wrong = InputError(faults(found, found.troubles))
    if out is not None and wrong is None:
        write_json(record, out / "import.json")
    output.result(record, text)
    if wrong is not None:
        print(f"signalstorm: {wrong}", file=sys.stderr)  # noqa: T201  (the command line may print)
        raise typer.Exit(EXIT_WRONG_INPUT)


@app.command()
def traps(
    file: File,
    into: Into = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read an alarm log as text: which alarm was set and cleared, when, of which element.

    With --into the elements must be those of the scenario; with --out the alarms are written as alarms.csv.
    """
    from signalstorm.envs.model import scenario_file
    from signalstorm.experiments.imports import traps

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    scenario = None if into is None else scenario_file.load(into)
    found = traps.read(file)
    if scenario is not None:
        traps.check_elements(found, scenario)
    alarms = found.alarms()
    record: dict[str, Any] = {
        "file": found.file,
        "alarms": alarms,
        "unknown": [{"line": line, "text": text[:120]} for line, text in found.unknown],
    }
    lines = [f"{found.file}: {len(found.traps)} traps, {len(found.unknown)} other lines"]
    for alarm in alarms:
        began, ended = (
            "" if alarm[key] is None else traps.clock(alarm[key], found.first_day) for key in ("set_s", "cleared_s")
        )
        cleared = f"cleared {ended}" if ended else "never cleared"
        lines.append(f"  {began}  {alarm['element'] or '?':12}  {alarm['kind']:10}  {cleared}")
    if out is not None:
        write_text(traps.dump(alarms, found.first_day), out / "alarms.csv")
        lines.append(f"wrote {out / 'alarms.csv'}")
    output.result(record, "\n".join(lines))


@app.command()
def counters(
    file: File,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=QUANTITY[:UNIT[:OF]]", help="What a column holds; QUANTITY skip leaves it out."),
    ] = None,
    columns: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for many columns, as YAML.")] = None,
    interval: Interval = None,
    marks: Marks = None,
    into: Into = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read a table of counters (CSV, or columns parted by blanks), with the unit of each column.

    A column whose quantity or unit is not certain is asked about, with exit code 2. With --into what the scenario's
    subscribers cannot cause is refused; with --out everything is written in one form, observed.csv, for calibrate. A
    table of the columns quantity, value and unit holds single figures.
    """
    from signalstorm.envs.model import scenario_file
    from signalstorm.experiments.imports import counters, figures, tables, text

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    take_marks(marks)
    scenario = None if into is None else scenario_file.load(into)
    if figures.is_figures(tables.split(text.read(file)).header):
        gate = None if scenario is None else scenario.present.get("nop_rate")
        single = figures.read(file, None if gate is None or isinstance(gate, str) else float(gate))
        rows = [{"name": one.name, "value": one.value, "unit": figures.FIGURES[one.name][0]} for one in single]
        lines = [f"  {row['name']:30} {row['value']:g} {row['unit']}".rstrip() for row in rows]
        output.result({"file": str(file), "figures": rows}, "\n".join([f"{file}: {len(rows)} figures", *lines]))
        return
    meanings = {**counters.read_columns(columns), **counters.parse_columns(column or ())}
    found, notes = counters.read(
        file, meanings, interval_s=interval, marks=marks,
        subscribers=None if scenario is None else float(sum(group.size for group in scenario.subscribers)),
        classes=() if scenario is None else [group.name for group in scenario.subscribers],
    )  # fmt: skip
    lines = [f"{file}: {len(found)} quantities", *(f"  note: {note}" for note in notes)]
    for counter in found:
        of = f" of {counter.of}" if counter.of else ""
        rates = [rate for rate in counter.rates_per_s if rate is not None]
        span = f"{min(rates):,.2f} to {max(rates):,.2f} per s" if rates else "no values"
        lines.append(f"  {counter.header}: {counter.quantity.name}{of}, {counter.unit}; {len(rates)} values, {span}")
    record = {"file": str(file), "notes": list(notes), "counters": [_counter(counter) for counter in found]}
    if out is not None:
        write_text(counters.dump(found), out / "observed.csv")
        lines.append(f"wrote {out / 'observed.csv'}")
    output.result(record, "\n".join(lines))


def _counter(counter: "Counter") -> dict[str, Any]:
    return {
        "column": counter.header,
        "quantity": counter.quantity.name,
        "unit": counter.unit,
        "of": counter.of,
        "clock": counter.clock,
        "start_s": list(counter.start_s),
        "end_s": list(counter.end_s),
        "values": list(counter.values),
        "rates_per_s": list(counter.rates_per_s),
    }


def take_marks(marks: str | None) -> None:
    """Check the option ``--marks``.

    Raises:
        InputError: If it is neither start nor end.
    """
    from signalstorm.envs.model.errors import wrong_input

    if marks not in (None, "start", "end"):
        raise wrong_input("must be start or end", marks, file="--marks")


def pairs(items: "Sequence[str]", option: str, example: str) -> dict[str, str]:
    """Return the words of an option of the form KEY=VALUE.

    Raises:
        InputError: If one has another form.
    """
    from signalstorm.envs.model.errors import wrong_input

    found: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key or not value:
            raise wrong_input("must be KEY=VALUE", item, example, file=option)
        found[key] = value
    return found


def write_json(record: "Mapping[str, Any]", path: Path) -> None:
    """Write a record as JSON.

    Raises:
        InputError: If the file cannot be written.
    """
    import json

    write_text(json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n", path)


def write_text(content: str, path: Path) -> None:
    """Write a file of a command, atomically.

    Raises:
        InputError: If it cannot be written.
    """
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.envs.model.files import write_atomic

    try:
        write_atomic(path, content)
    except OSError as error:
        raise wrong_input(f"cannot be written: {error.strerror}", file=str(error.filename or path)) from None


def _write_scenario(scenario: "Scenario", out: Path) -> Path:
    from signalstorm.envs.model import scenario_file

    path = out / f"{scenario.name}.yaml"
    write_text(scenario_file.dump(scenario), path)
    return path


def _understood(found: "Configuration") -> str:
    """Lay out what was understood, line by line."""
    lines = [f"{found.file}: {len(found.statements)} lines understood, {found.unknown_count} unknown"]
    lines += [f"  note: {note}" for note in found.notes]
    block: Any = None
    for statement in found.statements:
        if statement.modes != block:
            block = statement.modes
            lines.append(f"  {' > '.join(map(str, block)) or 'global configuration'}")
        lines.append(f"    line {statement.line}: {statement.text}")
        if statement.shown:
            lines.append(f"        {statement.shown}")
    if found.unknown:
        lines.append("  not understood, the first:")
        lines += [f"    line {line.number}: {line.text[:100]}" for line in found.unknown[:_UNKNOWN_SHOWN]]
    return "\n".join(lines)


def _present(told: "Mapping[str, Any]", fields: "Mapping[str, Any]") -> str:
    from signalstorm.experiments.imports.present import rows

    table = [*rows(told), *rows(fields)]
    width = max((len(key) for key, _, _ in table), default=0)
    return "\n".join(["present setting", *(f"  {key:{width}}  {value}  ({origin})" for key, value, origin in table)])
