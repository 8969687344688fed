"""`gamelane tune`: searches for gateway settings that are best for the game, at a bounded cost to other traffic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gamelane import _native, experiment
from gamelane.commands import household
from gamelane.errors import ExitCode
from gamelane.report.sheets import write_tune
from gamelane.report.tune import document, show
from gamelane.terminal.talk import deliver, progress, say, say_where, stdout, writable
from gamelane.tune import known, needs
from gamelane.tune.asked import with_searches, without
from gamelane.tune.lines import expressed
from gamelane.tune.objective import Wishes
from gamelane.tune.search import Effort, Found, Runner, module, search
from gamelane.tune.space import shipped


def tune(
    scenario: str | None,
    settings: Sequence[str],
    plan: Sequence[str],
    with_: Sequence[str],
    policy: Sequence[str],
    router: Sequence[str],
    searches: Sequence[str],
    keep: Sequence[str],
    goal: Sequence[str],
    bound: Sequence[str],
    cost: float,
    trials: int,
    repeat: int,
    target: str,
    sampler_seed: int,
    threads: int,
    json: bool,
    out: Path | None,
    quiet: bool,
) -> None:
    """Search, and present the recommendation with the lines to paste."""
    module()
    chosen = household.chosen(scenario, settings, plan=plan, with_=with_, policy=policy, router=router)
    space = without(with_searches(shipped(chosen.scenario), searches, chosen.scenario), keep, chosen.scenario)
    folder = None if out is None else writable(out)
    runner = Runner(chosen.scenario, space, experiment.seeds_of(chosen, repeat), threads)
    aim = needs.aim(runner, Wishes(goal, bound), cost / 100)
    prefers = expressed(chosen.scenario, space, target)
    effort = Effort(trials, tuple(known.settings(chosen.scenario, space)), prefers, sampler_seed)
    with progress(quiet=quiet or json) as bar:
        task = bar.add_task(f"tune {chosen.scenario.name}", total=trials)
        found = search(runner, aim, effort, lambda done: bar.update(task, completed=done))
    recipes = _recipes(runner, found)
    lines = recipes[target].lines() if recipes else []
    file = None if folder is None else folder / "tune.json"
    deliver(document(found, recipes), file, lambda: show(found, lines, stdout()), json=json)
    if folder is not None:
        page = write_tune(folder, chosen.scenario.name, found, lines)
        say_where(page, quiet=quiet)
    if found.interrupted:
        say(f"{len(found.trials)} of {trials} settings tried")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)


def _recipes(runner: Runner, found: Found) -> dict[str, _native.Recipe]:
    if found.best is None:
        return {}
    return _native.recipes(runner.space.applied(runner.scenario, found.best.settings), runner.scenario)
