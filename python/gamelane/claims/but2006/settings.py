"""The main figures under each setting of `settings.toml`, with FIFO and with priority, as Markdown.

python -m gamelane.claims.but2006.settings
"""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from gamelane.claims.but2006.arms import DOWNLOAD, FIFO, PRIORITY, UPLOAD, game_delay, game_loss, throughput
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import number
from gamelane.claims.settings import Settings, Under

REPEATS = 5

MEASURES: dict[str, Callable[[Evidence, Arm], Numbers]] = {
    "game lost, %": game_loss,
    "its mean delay, ms": game_delay,
    "download, kbit/s": lambda evidence, arm: throughput(evidence, arm, DOWNLOAD),
    "upload, kbit/s": lambda evidence, arm: throughput(evidence, arm, UPLOAD),
}


def main() -> None:
    """Print the table."""
    rows: list[list[str]] = [["change", *MEASURES], ["---"] * (1 + len(MEASURES))]
    for setting in Settings.read("but2006").settings:
        evidence = Under("but2006", setting, repeats=REPEATS, threads=os.cpu_count() or 1)
        evidence.prepare([FIFO, PRIORITY])
        both = (", ".join(number(measure(evidence, arm)) for arm in (FIFO, PRIORITY)) for measure in MEASURES.values())
        rows.append([setting.name, *both])
    click.echo("\n".join(f"| {' | '.join(row)} |" for row in rows))


if __name__ == "__main__":
    main()
