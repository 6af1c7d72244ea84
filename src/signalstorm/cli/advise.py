"""``signalstorm advise``: the next setting for a storm that is going on."""

import sys
from typing import Annotated

import typer

from signalstorm.cli.common import AsJson, Quiet, Transfer, Verbose, start
from signalstorm.cli.scenarios import ScenarioName


def advise(
    scenario: ScenarioName,
    counters: Annotated[
        str, typer.Option(metavar="FILE", help="A table of the counters so far; - for standard input.")
    ],
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="The rule: rate-matching, constant-gain, aimd, doic-rate, or a rule.yaml. [default: rate-matching]",
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="BUNDLE", help="A policy instead of a rule: the folder of a training.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KNOB=VALUE", help="What is in force by now, if no longer the present setting."),
    ] = None,
    now: Annotated[
        float | None, typer.Option(metavar="S", help="The time, in seconds from the scenario's start.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(metavar="S", help="The length of an interval of counts. [default: the distance of the rows]"),
    ] = None,
    release: Annotated[str | None, typer.Option(metavar="R", help="The StarOS release of the box.")] = None,
    transfer: Transfer = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read the latest counters and print the next setting as a command line, with its reason.

    Nothing is sent to any equipment: the line is for the person who enters it. A missing counter holds its last value.
    """
    from signalstorm.envs.model import scenario_file
    from signalstorm.envs.model.errors import wrong_input
    from signalstorm.envs.model.knobs import parse_set
    from signalstorm.experiments.advise import DEFAULT_RULE, in_words
    from signalstorm.experiments.advise import advise as run
    from signalstorm.experiments.advise_data import history_of, read_history
    from signalstorm.experiments.imports.text import clean, take

    output = start(as_json=as_json, quiet=quiet, verbose=verbose)
    model = scenario_file.load(scenario)
    knobs, fields = parse_set(set_ or ())
    if fields:
        raise wrong_input("must be knobs", ", ".join(fields), "change fields in the scenario", file="--set")
    if rule is not None and policy is not None:
        raise wrong_input("cannot be given together with --rule", policy, "leave one of them out", file="--policy")
    more = learnt = None
    if policy is not None:
        from signalstorm.experiments.policy_advice import PolicyAdviser, needed, policy_of

        learnt = policy_of(policy, model, transfer=transfer)
        more = {quantity.name: quantity.is_rate for quantity in needed(learnt, model)}
    if counters == "-":
        history = history_of(
            clean(take(sys.stdin.buffer, "standard input"), "standard input"), model, more, interval_s=interval
        )
    else:
        history = read_history(counters, model, more, interval_s=interval)
    chosen = (rule or DEFAULT_RULE) if learnt is None else PolicyAdviser(learnt, model, history)
    advice = run(model, history, chosen, knobs, now_s=now, release=release, transfer=transfer)
    output.result(advice.to_json(), in_words(advice))
