"""What `gamelane tune` recommends for random households, beside the best of an exhaustive grid.

`python -m bench.tune [HOUSEHOLDS]`; 40 households take seven minutes.
"""

from __future__ import annotations

import os
import sys

from tests.tune import households

from gamelane import _native
from gamelane.report.tune import recommendation
from gamelane.tune import known, needs, space
from gamelane.tune.choose import signed
from gamelane.tune.objective import Wishes
from gamelane.tune.search import Effort, Found, Runner, search

COST = 0.1
TRIALS = 64
SEEDS = (1, 2, 3)


def tuned(scenario: _native.Scenario) -> tuple[Runner, Found]:
    """Search as the command does."""
    runner = Runner(scenario, space.shipped(scenario), SEEDS, os.cpu_count() or 1)
    effort = Effort(TRIALS, tuple(known.settings(scenario, runner.space)))
    return runner, search(runner, needs.aim(runner, Wishes(), COST), effort, lambda _: None)


def beside_the_grid(runner: Runner, found: Found) -> float:
    """Return the first goal of the recommended setting as a multiple of the best in the grid."""
    best = households.best_of_grid(runner, found.aim)
    assert best is not None, "no bound rules out every setting"
    return signed(found.best or found.before, found.aim)[0] / signed(best, found.aim)[0]


if __name__ == "__main__":
    ratios = []
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 40):
        made = tuned(_native.Scenario.parse(households.text(seed), "household.toml", []))
        ratios.append(beside_the_grid(*made))
        print(f"household {seed}: {ratios[-1]:.3f} of the grid's best. {recommendation(made[1])}", flush=True)
    print(f"highest of {len(ratios)} households: {max(ratios):.3f}")
