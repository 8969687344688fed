"""`gamelane tune`: the gateway's parameters that are best for the game, at a bounded cost to the rest."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from gamelane import _native, experiment, host
from gamelane.cli.talk import emit, progress, say, stdout, writable
from gamelane.cli.variants import overrides
from gamelane.errors import OutputError
from gamelane.report import images
from gamelane.report.tune import document, figure, show
from gamelane.sweep.metrics import metrics
from gamelane.tune import objective, tc
from gamelane.tune.objective import Wishes
from gamelane.tune.search import Effort, Found, Runner, module, search
from gamelane.tune.space import shipped, with_searches, without


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    scenario: Annotated[
        str, typer.Argument(help="A TOML file, or the name of a shipped scenario.", show_default=False)
    ],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key first. Repeatable.")
    ] = None,
    searches: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="KEY=VALUES",
            help="Vary a key over A,B,… or LOW..HIGH, besides or instead of what is varied anyway. Repeatable.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Leave a key as the scenario has it. Repeatable.")
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GOAL",
            help="'min p99(game.rtt)' or 'max upload.goodput'; the first decides. Repeatable.",
            show_default="the game's delay, then the bulk transfer's goodput",
        ),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOUND",
            help="'upload.goodput >= 0.8mbit'. Repeatable.",
            show_default="game loss 1 %, the others' goodput less --cost",
        ),
    ] = None,
    cost: Annotated[float, typer.Option(min=0, max=100, metavar="PERCENT", help="Goodput the others may lose.")] = 10,
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Settings to try.")] = 64,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds each setting is run with.")] = 3,
    sampler_seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the search itself.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option("-j", "--threads", min=1, metavar="N", help="Runs at a time.", show_default="all cores"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write tune.json and the Pareto plot there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Search queue, limit and the rest for the best game; recommend one setting, with the tc lines it stands for."""
    module()
    chosen = experiment.load(scenario).with_(overrides(settings or []))
    space = without(with_searches(shipped(chosen.scenario), searches or [], chosen.scenario), keep or [])
    folder = None if out is None else writable(out)
    runner = Runner(chosen.scenario, experiment.seeds_of(chosen, repeat), threads or host.cores())
    before = runner.rows([{}])[0]
    wishes = Wishes(goal or [], bound or [], cost / 100)
    aim = objective.aim(chosen.scenario, metrics(before[0]), before, wishes)
    with progress(quiet=quiet or json) as bar:
        task = bar.add_task(f"tune {chosen.scenario.name}", total=trials)
        found = search(runner, space, aim, Effort(trials, sampler_seed), lambda done: bar.update(task, completed=done))
    commands = _commands(chosen.scenario, found)
    if folder is not None:
        _write(found, commands, folder)
    if json:
        emit(document(found, commands))
    else:
        show(found, commands, stdout())
    if folder is not None and not quiet:
        say(f"written: {folder / 'tune.json'}")
    if len(found.trials) < trials:
        say(f"{len(found.trials)} of {trials} settings tried")
        raise typer.Exit(130)


def _commands(scenario: _native.Scenario, found: Found) -> list[str]:
    return [] if found.best is None else tc.lines(scenario.with_overrides(list(found.best.settings.items())))


def _write(found: Found, commands: list[str], folder: Path) -> None:
    try:
        text = dumps(document(found, commands), indent=2, ensure_ascii=False) + "\n"
        (folder / "tune.json").write_text(text, encoding="utf-8")
        drawn = figure(found)
        if drawn is not None:
            images.write([drawn], folder / "figures")
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}") from error
