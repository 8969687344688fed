"""`gamelane replay`: repeats the writes of a capture's applications over another TCP, link or gateway."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from gamelane import replay as replaying
from gamelane.commands import run
from gamelane.commands.variants import overrides, variants
from gamelane.experiment import Hooks
from gamelane.records.results import ALONE, Results
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.terminal.talk import emit, say, stdout, writable


def replay(
    capture: str,
    rtt: str,
    loss: str,
    jitter: str,
    down: str,
    up: str,
    settings: Sequence[str],
    compare: str | None,
    named: Sequence[str],
    other_end: str | None,
    repeat: int,
    threads: int,
    json: bool,
    out: Path | None,
    quiet: bool,
) -> None:
    """Repeat what the games of a capture wrote over TCP, over another TCP, link or gateway."""
    found = replaying.streams(capture)
    network = replaying.Network(rtt=rtt, loss=loss, jitter=jitter, down=down, up=up)
    chosen = replaying.experiment(capture, found, network)
    if (number := replaying.transfers(found)) and not quiet:
        what = "1 TCP connection is a transfer, not a game: it counts"
        if number > 1:
            what = f"{number} of {len(found)} TCP connections are transfers, not games: they count"
        say(f"note: {what} in every number of the replay")
    if settings:
        chosen = chosen.with_(overrides(settings))
    compared = variants(chosen, compare, named)
    real = replaying.happened(capture, other_end) if other_end else None
    folder = None if out is None else writable(out)
    hooks = Hooks(command=run.command())
    ran = run.finish([lambda: run.execute(chosen, compared, repeat, threads, hooks, quiet=quiet)], folder)
    beside = None if real is None else partial(_tell_beside, real, json=json, quiet=quiet)
    run.deliver(ran, folder, json=json, quiet=quiet, tell=beside)


def _tell_beside(real: dict[str, Any], results: Results, *, json: bool, quiet: bool) -> None:
    lag = {"capture": real, "replay": replaying.simulated(results)}
    if json:
        emit({**document(results), "lag_ms": lag})
        return
    show(results, stdout())
    stdout().print(_table(lag))
    if not quiet:
        say(
            "lag: time from first transmission to in-order delivery, minus that of the fastest packet; "
            "waiting inside applications is not included"
        )


def _table(beside: dict[str, Any]) -> Table:
    table = Table("lag of TCP data (ms)", "direction", title_justify="left", box=None)
    names = ("packets", "mean", *replaying.QUANTILES, "max")
    for name in names:
        table.add_column(name, justify="right")
    rows = {"capture": beside["capture"]}
    rows |= {"replay" if variant == ALONE else variant: row for variant, row in beside["replay"].items()}
    for label, ways in rows.items():
        for way in ("down", "up"):
            if way in ways:
                numbers = (
                    f"{ways[way][name]:,.0f}" if name == "packets" else f"{ways[way][name]:.1f}" for name in names
                )
                table.add_row(label, way, *numbers)
    return table
