"""The figures and tables of the papers, drawn from our runs. A module beside this file draws those of one paper."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gamelane.claims.evidence import Unfinished
from gamelane.claims.judge import Judged
from gamelane.plot.panels import Figure

Theirs = Callable[[str], Any]
"""Returns the paper's value of a claim."""


def figures(judged: Judged) -> list[Figure]:
    """Return the figures of a judged paper. After Ctrl-C there are none, because their runs are missing."""
    if judged.evidence is None:
        return []
    values = {claim.id: claim.theirs for claim in judged.paper.claims}

    def theirs(claim: str) -> Any:
        return values[f"{judged.paper.name}.{claim}"]

    module = importlib.import_module(f"{__name__}.{judged.paper.name.replace('-', '_')}")
    try:
        found: list[Figure] = module.figures(judged.evidence, theirs)
    except Unfinished:
        return []
    return [replace(figure, name=f"{judged.paper.name}-{figure.name}") for figure in found]
