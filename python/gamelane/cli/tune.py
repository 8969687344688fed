"""`gamelane tune`: searches for gateway settings that are best for the game, at a bounded cost to other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gamelane import experiment
from gamelane.cli import options
from gamelane.cli.guard import INTERRUPTED
from gamelane.cli.talk import deliver, progress, say, stdout, writable
from gamelane.cli.variants import overrides
from gamelane.report.sheets import write_tune
from gamelane.report.tune import document, show
from gamelane.sweep.metrics import metrics
from gamelane.tune import known, needs, objective, tc
from gamelane.tune.asked import with_searches, without
from gamelane.tune.objective import Aim, Wishes
from gamelane.tune.search import Effort, Found, Runner, module, search
from gamelane.tune.space import shipped


@click.command()
@options.scenario
@options.settings
@click.option(
    "--search",
    "searches",
    metavar="KEY=VALUES",
    multiple=True,
    help="Vary a key over A,B,… or LOW..HIGH. Replaces the values of a key that is varied anyway. Repeatable.",
)
@click.option("--keep", metavar="KEY", multiple=True, help="Do not vary this key. Repeatable.")
@click.option(
    "--goal",
    metavar="GOAL",
    multiple=True,
    show_default="lowest delay of games and calls, then lowest cost to others",
    help="Goal such as 'min p99(game.rtt)' or 'max upload.goodput'. The first goal decides. Repeatable.",
)
@click.option(
    "--bound",
    metavar="BOUND",
    multiple=True,
    show_default="what games, calls, video and transfers need",
    help="Limit that a setting must meet, such as 'upload.goodput >= 0.8mbit'. Repeatable.",
)
@click.option(
    "--cost",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    default=10.0,
    help="Share that transfers may lose of what is due to them, percent.",
)
@click.option("--trials", type=click.IntRange(1), metavar="N", default=64, help="Number of settings to try.")
@options.repeat(3, "Number of runs of each setting; seeds count up.")
@click.option("--sampler-seed", type=click.IntRange(0), metavar="N", default=1, help="Seed of the search.")
@options.threads
@options.json
@options.output("Write tune.json, report.html and figures/ to this folder.")
@options.quiet
def tune(
    scenario: str,
    settings: Sequence[str],
    searches: Sequence[str],
    keep: Sequence[str],
    goal: Sequence[str],
    bound: Sequence[str],
    cost: float,
    trials: int,
    repeat: int,
    sampler_seed: int,
    threads: int,
    json: bool,
    out: Path | None,
    quiet: bool,
) -> None:
    """Search queue, limit and other gateway settings that are best for the game.

    Recommends one setting and prints the tc commands for it.
    """
    module()
    chosen = experiment.load(scenario).with_(overrides(settings))
    space = without(with_searches(shipped(chosen.scenario), searches, chosen.scenario), keep, chosen.scenario)
    folder = None if out is None else writable(out)
    runner = Runner(chosen.scenario, space, experiment.seeds_of(chosen, repeat), threads)
    aim = _aim(runner, Wishes(goal, bound), cost / 100)
    effort = Effort(trials, tuple(known.settings(chosen.scenario, space)), sampler_seed)
    with progress(quiet=quiet or json) as bar:
        task = bar.add_task(f"tune {chosen.scenario.name}", total=trials)
        found = search(runner, aim, effort, lambda done: bar.update(task, completed=done))
    commands = _commands(runner, found)
    file = None if folder is None else folder / "tune.json"
    deliver(document(found, commands), file, lambda: show(found, commands, stdout()), json=json)
    if folder is not None:
        page = write_tune(folder, chosen.scenario.name, found, commands)
        if not quiet:
            say(f"report: {page}")
    if found.interrupted:
        say(f"{len(found.trials)} of {trials} settings tried")
        raise click.exceptions.Exit(INTERRUPTED)


def _aim(runner: Runner, wishes: Wishes, cost: float) -> Aim:
    today, fair = runner.rows([{}, known.fair(runner.scenario)])
    names = metrics(today[0])
    usual = (
        Aim((), ())
        if wishes.goals and wishes.bounds
        else needs.usual(runner.scenario, needs.Reference(names, today, fair), cost)
    )
    return objective.aim(names, wishes, usual)


def _commands(runner: Runner, found: Found) -> list[str]:
    return [] if found.best is None else tc.lines(runner.space.applied(runner.scenario, found.best.settings))
