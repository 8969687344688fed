"""What `gamelane tune` recommends for random households, beside the best of an exhaustive grid.

`python -m bench.tune [HOUSEHOLDS]` tries each of the first households with the lines of every target.
`FIRST..LAST` are some of them.
"""

from __future__ import annotations

import os
import sys

from tests.tune import households

from gamelane import _native
from gamelane.report.tune import recommendation
from gamelane.tune import known, needs, space
from gamelane.tune.choose import signed
from gamelane.tune.lines import expressed
from gamelane.tune.objective import Wishes
from gamelane.tune.search import Effort, Found, Runner, search

COST = 0.1
TRIALS = 64
SEEDS = (1, 2, 3)


def runner_of(seed: int) -> Runner:
    """Return what runs the settings of a household."""
    scenario = _native.Scenario.parse(households.text(seed), "household.toml", [])
    return Runner(scenario, space.shipped(scenario), SEEDS, os.cpu_count() or 1)


def beside_the_grid(runner: Runner, target: str) -> tuple[Found, float]:
    """Search as the command does; return the first goal of the recommended setting as a multiple of the grid's best.

    The grid, too, has only what the lines of the target express.
    """
    scenario, aim = runner.scenario, needs.aim(runner, Wishes(), COST)
    prefers = expressed(scenario, runner.space, target)
    found = search(runner, aim, Effort(TRIALS, tuple(known.settings(scenario, runner.space)), prefers), lambda _: None)
    best = households.best_of_grid(runner, aim, prefers)
    assert best is not None, "no bound rules out every setting"
    return found, signed(found.best or found.before, aim)[0] / signed(best, aim)[0]


def chosen(words: list[str]) -> range:
    """Return the numbers of the households to try."""
    first, dots, last = (words or ["40"])[0].partition("..")
    return range(int(first), int(last) + 1) if dots else range(int(first))


if __name__ == "__main__":
    ratios: dict[str, list[float]] = {target: [] for target in _native.recipe_targets()}
    for seed in chosen(sys.argv[1:]):
        runner = runner_of(seed)
        for target, those in ratios.items():
            found, ratio = beside_the_grid(runner, target)
            those.append(ratio)
            print(f"household {seed}, {target}: {ratio:.3f} of the grid's best. {recommendation(found)}", flush=True)
    for target, those in ratios.items():
        print(f"{target}: highest of {len(those)} households: {max(those):.3f}")
