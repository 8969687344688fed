"""Commands start fast: help and completion need the options only, a run without -o needs no tables and no plots.

Budgets are in CPU time, the least of several runs. Other programs make it longer, too, by sharing caches and cores. So
a budget grows as a reference does that is measured by turns with the command.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from gamelane.cli import app
from tests.conftest import Repeat
from tests.real_time import in_time

from .command import GAMELANE
from .test_app import SLOW, loaded

HELP_S = 0.10
RUN_S = 0.20
TIMES = 8
REFERENCE_S = 0.045
"""CPU time of `python -c 'import click'` on the machine of the budgets, when it is idle."""

HANDED_OVER = ("gateway", "proxy", "impair", "serve")
DECLARED = [name for name in app.COMMANDS if name not in HANDED_OVER]
"""Commands whose help is printed here. The others hand over to a program."""


def _cpu_s(*words: str) -> float:
    """Return the CPU time of a command, system calls included, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _least_s(*words: str) -> tuple[float, float]:
    """Return the least CPU time of a command, and of a reference that runs by turns with it."""
    took = [(_cpu_s(GAMELANE, *words), _cpu_s(sys.executable, "-c", "import click")) for _ in range(TIMES)]
    return min(own for own, _ in took), min(reference for _, reference in took)


@pytest.mark.parametrize(
    ("words", "budget_s"),
    [
        (["--help"], HELP_S),
        (["--version"], HELP_S),
        (["run", "--help"], HELP_S),
        (["sweep", "--help"], HELP_S),
        (["run", "household"], RUN_S),
    ],
)
def test_a_command_stays_within_its_budget(words: list[str], budget_s: float, up_to_three_times: Repeat) -> None:
    def measure() -> None:
        took_s, reference_s = _least_s(*words)
        slower = max(1.0, reference_s / REFERENCE_S)
        said = f"{took_s:.3f} s of CPU time, more than {budget_s} s on a machine {slower:.2f} times as slow"
        in_time(took_s <= budget_s * slower, f"gamelane {' '.join(words)}: {said}")

    up_to_three_times(measure)


@pytest.mark.parametrize("name", DECLARED)
def test_the_help_of_a_command_imports_nothing_slow(name: str) -> None:
    assert not loaded(name, "--help") & SLOW


def test_a_run_without_a_folder_needs_no_tables_and_no_plots() -> None:
    assert not loaded("run", "household", "--set", "duration=2s") & (SLOW - {"rich"})
    assert not loaded("run", "household", "--set", "duration=2s", "--json") & SLOW
