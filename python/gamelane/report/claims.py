"""Renders the claims of the papers as pages that open offline: their value, ours, the verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamelane import whole
from gamelane.claims import JUDGEMENTS, KINDS, counted, counts
from gamelane.claims.judge import Judged, Rows
from gamelane.plot.panels import Figure
from gamelane.plot.style import number
from gamelane.report import pages


def write_paper(path: Path, judged: Judged, figures: Sequence[Figure], repeats: int) -> None:
    """Write the page of one paper to `path`: its claims in their order, then its figures."""
    page = pages.render(
        "paper.html",
        figures,
        styles=["claims.css"],
        paper=judged.paper,
        rows=judged.rows,
        repeats=repeats,
        **_counts(judged.rows),
    )
    whole.replace(path, page)


def write_overview(path: Path, judged: Sequence[Judged], repeats: int) -> None:
    """Write the page over several papers to `path`: the counts by kind and by paper. It links to their pages."""
    page = pages.render(
        "claims.html",
        [],
        styles=["claims.css"],
        papers=[(each.paper, each.rows, counts(each.rows)) for each in judged],
        repeats=repeats,
        **_counts([row for each in judged for row in each.rows]),
    )
    whole.replace(path, page)


def _counts(rows: Rows) -> dict[str, Any]:
    return {"counts": counts(rows), "counted": counted, "kinds": KINDS, "judgements": JUDGEMENTS, "words": words}


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
