"""`gamelane impair trial` and `analyze`: blind trials of what a player notices."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.table import Table

from gamelane.errors import UsageError
from gamelane.plot.style import number
from gamelane.terminal.talk import emit, say, stdout, writable
from gamelane.trials import analysis, blind
from gamelane.trials.impairment import Impairment


def trial(interface: str, out: Path, grid: str, repeat: int, hold: int, seed: int | None, player: str) -> None:
    """Let a player rate conditions without knowing them."""
    if grid not in blind.GRIDS:
        raise UsageError(f"--grid {grid}: unknown grid\n  allowed: {', '.join(blind.GRIDS)}")
    if not player.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"--player {player}: not a file name\n  allowed: letters, digits, - and _")
    if not sys.stdin.isatty():
        raise UsageError("a trial asks a player at a terminal, and standard input is none")
    writable(out, shared=True)
    plan = blind.open_plan(out / f"{player}.json", blind.Settings(grid, repeat, hold, seed))
    with Impairment(interface) as impairment:
        done = blind.Session(impairment.set, plan, out / f"{player}.jsonl", impairment.check).run()
    say(f"{done} of {len(plan.order)} conditions rated; `gamelane impair analyze {out}` shows the results")


def analyze(folder: Path, json: bool) -> None:
    """Print and draw the opinions of all players."""
    found = analysis.analyse(analysis.read(folder))
    pictures = analysis.draw(found, folder)
    if json:
        emit(found.as_json())
        return
    table = Table("delay, ms", "loss, %", "ratings", "mean opinion score", "± 95 %", box=None, pad_edge=False)
    for each in found.conditions:
        table.add_row(
            f"{each.delay_ms:g}",
            f"{each.loss_percent:g}",
            str(len(each.ratings)),
            number(each.opinion.mean),
            number(each.opinion.ci95),
        )
    stdout().print(table)
    for line in found.words():
        stdout().print(f"* {line}")
    say(f"pictures: {', '.join(map(str, pictures))}")
