"""Renders the claims of the papers as a page that opens offline: their value, ours, the verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamelane import whole
from gamelane.claims import counts
from gamelane.claims.judge import Judged
from gamelane.plot.style import number
from gamelane.report import pages


def write_claims(path: Path, judged: Sequence[Judged], repeats: int) -> None:
    """Write the page to `path`: every paper with the verdicts on its claims, in the order of the claims."""
    papers = [(each.paper, each.rows, counts(each.verdicts)) for each in judged]
    sums = {verdict: sum(of[verdict] for *_, of in papers) for verdict in papers[0][2]}
    totals = f"{sum(sums.values())} claims: {', '.join(f'{count} {verdict}' for verdict, count in sums.items())}."
    page = pages.render(
        "claims.html",
        [],
        styles=["claims.css"],
        papers=papers,
        repeats=repeats,
        totals=totals.replace("-", " "),
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
