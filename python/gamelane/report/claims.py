"""Renders the claims of the papers as a page that opens offline: their value, ours, the verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gamelane import _native, whole
from gamelane.claims import counts
from gamelane.claims.judge import Judged
from gamelane.plot.style import number

HERE = Path(__file__).parent


def write_claims(path: Path, judged: Sequence[Judged], repeats: int) -> None:
    """Write the page to `path`: every paper with the verdicts on its claims, in the order of the claims."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["words"] = words
    page = environment.get_template("claims.html").render(
        papers=[(each.paper, each.rows, counts(each.verdicts)) for each in judged],
        repeats=repeats,
        version=_native.version(),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
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
