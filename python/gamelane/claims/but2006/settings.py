"""Settings that the paper does not give: how many claims agree with each, and which verdicts move. As Markdown.

python -m gamelane.claims.but2006.settings
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import click

from gamelane import experiment
from gamelane.claims import Judgement, Paper, counted, counts
from gamelane.claims.but2006 import SCENARIO, check, prefetch
from gamelane.claims.but2006.arms import DOWNLOAD, FIFO, MODEM_1_0, PRIORITY, UPLOAD, game_delay, game_loss, throughput
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import number
from gamelane.claims.judge import verdict

FOUR_SLOTS = MODEM_1_0 | {"gateway.modem.limit": "4p"}
LARGER = {"gateway.up.limit": "64p"}
WINDOW = "flow.upload.tcp.receive_window"

SETTINGS: dict[str, Mapping[str, str]] = {
    "none": {},
    "bridge of 64 slots": LARGER,
    "modem of 3 slots (burriss2006)": MODEM_1_0,
    "modem of 3 slots, bridge of 64": MODEM_1_0 | LARGER,
    "modem of 4 slots": FOUR_SLOTS,
    "modem of 4 slots, bridge of 64": FOUR_SLOTS | LARGER,
    "`link.up` 232 kbit/s (burriss2006)": {"link.up": "232kbit"},
    "the upload's window 8 KiB": {WINDOW: "8KiB"},
    "the upload's window 16 KiB": {WINDOW: "16KiB"},
    '`timer = "linux-6"`': {"tcp.timer": "linux-6"},
    '`slow_start = "rfc5681"`': {"tcp.slow_start": "rfc5681"},
    '`stack = "rfc"`': {"tcp.stack": "rfc"},
    '`stack = "linux"`': {"tcp.stack": "linux"},
}
REPEATS = 5

Verdicts = dict[str, Judgement]


def main() -> None:
    """Print two tables: the verdicts with each setting, and the main figures."""
    paper = Paper.read("but2006")
    usual: Verdicts = {}
    verdicts, figures = [], []
    for name, overrides in SETTINGS.items():
        base = experiment.load(SCENARIO).scenario.with_overrides(list(overrides.items()))
        evidence = Evidence(base, repeats=REPEATS, threads=os.cpu_count() or 1)
        prefetch(evidence)
        rows = [(claim, verdict(claim, check.checks[claim.id], evidence)) for claim in paper.claims]
        numbers = counts(rows)
        found = {claim.id: each.verdict for claim, each in rows if claim.kind in ("result", "derived")}
        usual = usual or found
        verdicts.append((name, counted(numbers["result"]), counted(numbers["derived"]), _moved(usual, found)))
        figures.append((name, *_figures(evidence)))
    click.echo(_table(("change", "results", "derived", "verdicts that move"), verdicts))
    click.echo(_table(("change", "game lost, %", "its mean delay, ms", "download, kbit/s", "upload, kbit/s"), figures))


def _figures(evidence: Evidence) -> list[str]:
    """Return the main figures, each with FIFO and with priority."""

    def both(measure: Callable[[Arm], Numbers]) -> str:
        return ", ".join(number(measure(arm)) for arm in (FIFO, PRIORITY))

    return [
        both(lambda arm: game_loss(evidence, arm)),
        both(lambda arm: game_delay(evidence, arm)),
        both(lambda arm: throughput(evidence, arm, DOWNLOAD)),
        both(lambda arm: throughput(evidence, arm, UPLOAD)),
    ]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)) + "\n"


def _moved(usual: Verdicts, found: Verdicts) -> str:
    moved: dict[Judgement, list[str]] = {}
    for claim, judgement in found.items():
        if judgement != usual[claim]:
            moved.setdefault(judgement, []).append(f"`{claim.removeprefix('but2006.')}`")
    return "; ".join(f"{', '.join(claims)} {judgement.replace('-', ' ')}" for judgement, claims in moved.items())


if __name__ == "__main__":
    main()
