"""``signalstorm simulate``: a scenario's storms under one setting."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalstorm.cli.common import AsJson, Quiet, Verbose, start
from signalstorm.cli.scenarios import ScenarioName

if TYPE_CHECKING:
    from signalstorm.experiments.simulate import SimulationResult

_log = logging.getLogger(__name__)


def simulate(
    scenario: ScenarioName,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A knob, or any scenario field by its dotted path."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A file of knob values (YAML or JSON), or a recommendation.json.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Storms: the first so many numbers.")] = 20,
    vary: Annotated[
        bool, typer.Option("--vary", help="Draw each storm's fields from the scenario's variation.")
    ] = False,
    horizon: Annotated[float | None, typer.Option(metavar="S", help="Another horizon, in seconds.")] = None,
    event: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:TARGET@TIME_S[=VALUE][,FIELD=VALUE...]",
            help="Add an event, e.g. capacity:pcrf@30=20, peer_burst:gateway@60=9,message=ccr_t, link_reset:*@10:07.",
        ),
    ] = None,
    without_event: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Leave out events of a kind.")] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the storm's curves as text: medians over the storms.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="First show a storm as it goes on, sped up; Ctrl-C ends the view.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder for result.json, series.csv, scenario.yaml and alarm logs.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check conservation in every step.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Simulate a scenario's storms under the present setting, or a changed one.

    Where most storms are not over within the horizon and the scenario has a loop, fixed values and loops are tried on
    up to 16 of them; if none helps, the diagnosis says `cannot help`.

    Exit code 0 whether or not the storms converge; 2 for wrong input.
    """
    from signalstorm.experiments.simulate import simulate as run
    from signalstorm.experiments.what_if import (
        read_setting,
        refuse_tune_folder,
        refuse_unwritable,
        what_if,
        write_run,
    )

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    knobs, model = what_if(
        scenario, set_ or (), horizon_s=horizon, events=event or (), without=without_event or (),
        config=read_setting(config) if config is not None else None,
    )  # fmt: skip
    if out is not None:
        refuse_tune_folder(out)
        refuse_unwritable(out)
    for warning in model.warnings():
        if warning.path == ("step_s",):
            _log.warning("%s", warning)
    result = run(model, knobs, seeds, vary=vary, record=plot or live or out is not None, check=check)
    record = result.to_json()
    if out is not None:
        write_run(result, out)
    if live and not quiet:
        _show(result)
    output.result(record, "\n\n".join([_text(result, record), *([_curves(result)] if plot and not as_json else [])]))


def _show(result: "SimulationResult") -> None:
    """Show the first storm as it goes on, on stderr as all progress."""
    from rich.console import Console

    from signalstorm.experiments.terminal.live import play

    play(result, Console(stderr=True))


def _curves(result: "SimulationResult") -> str:
    from rich.console import Console

    from signalstorm.experiments.terminal.curves import plot

    return plot(result.series, Console().width) if result.series else ""


def _text(result: "SimulationResult", record: dict[str, Any]) -> str:
    """Lay the result out for people."""
    from signalstorm.experiments.clock import counted_of

    knobs = "  ".join(f"{name}={value}" for name, value in record["knobs"].items())
    last_s = record["horizon_s"] - record["count_from_s"]
    spread = record["convergence_time_s"]
    if spread is None or spread["median"] is None:
        time = f"not reached in {last_s:g} s"
    elif not record["stormed"]:
        time = "no storm: health was never lost" if record["attempts"] > 0 else "no storm: nobody asked to attach"
    else:
        high = "beyond the horizon" if spread["p90"] is None else f"{spread['p90']:.1f} s"
        time = f"{spread['median']:.1f} s (10 to 90 %: {spread['p10']:.1f} s to {high})"
    bound, ratio = record["lower_bound_s"], record["ratio_to_lower_bound"]
    least = "at least " if spread is None or spread["median"] is None else ""
    times = f"; T is {least}{ratio:.2f} times that" if ratio else ""
    refused = {cause: n for cause, n in record["refused"].items() if n}
    rows = [
        ("setting", knobs),
        ("storms", f"{len(record['seeds'])}, {'drawn from the variation' if record['vary'] else 'nominal values'}"),
        ("convergence time T", time),
        ("converged", f"{record['converged_share']:.0%} in {last_s:g} s; restricted mean {record['rmst_s']:.1f} s"),
        ("lower bound", "none" if bound is None else f"{bound:.1f} s{times}"),
        ("requests", f"{record['attempts']:,.0f} ({record['attempts_per_subscriber']:.1f} per subscriber), "
                     f"peak {record['peak_request_rate_per_s']:,.0f}/s"),
        ("admitted", f"{record['admitted']:,.0f}, peak {record['peak_admitted_rate_per_s']:,.0f}/s; "
                     f"{record['successes']:,.0f} succeeded, {record['failures']:,.0f} failed"),
        ("turned away", f"dropped {record['dropped']:,.0f}, expired {record['expired']:,.0f}"
                        + (f", lost by the IMSI manager {lost:,.0f}" if (lost := record["lost_by_imsimgr"]) else "")
                        + "".join(f", {cause.replace('_', ' ')} {n:,.0f}" for cause, n in refused.items())),
        ("service lost", f"{record['subscriber_hours_lost']:,.1f} subscriber-hours"),
    ]  # fmt: skip
    if record["count_from_s"] > 0:
        rows.insert(3, ("", counted_of(result.scenario)))
    for sentence in record["diagnosis"]:
        rows.append(("diagnosis", sentence))
    if result.outcomes.conservation_error.max() > 0:
        rows.append(("conservation", f"largest relative error {result.outcomes.conservation_error.max():.1e}"))
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"{record['scenario']}", *(f"  {name:{width}}  {text}" for name, text in rows)])
