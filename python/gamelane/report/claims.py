"""Renders the claims of the papers as a page that opens offline: their value, ours, the verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamelane import whole
from gamelane.claims import JUDGEMENTS, KINDS, counted, counts
from gamelane.claims.judge import Judged
from gamelane.plot.style import number
from gamelane.report import pages


def write_claims(path: Path, judged: Sequence[Judged], repeats: int) -> None:
    """Write the page to `path`: the counts by kind, then every paper with its claims in their order."""
    papers = [(each.paper, each.rows, counts(each.rows)) for each in judged]
    all_counts = counts([row for _, rows, _ in papers for row in rows])
    page = pages.render(
        "claims.html",
        [],
        styles=["claims.css"],
        papers=papers,
        repeats=repeats,
        all_counts=all_counts,
        counted=counted,
        kinds=KINDS,
        judgements=JUDGEMENTS,
        words=words,
    )
    whole.replace(path, page)


def words(value: Any) -> str:
    """Return the value of a claim as text."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{BOUNDS.get(key, key)} {words(each)}" for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(
            "/".join(words(part) for part in each) if isinstance(each, list) else words(each) for each in value
        )
    return "" if value is None else str(value)


BOUNDS = {"lo": "from", "hi": "to", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
