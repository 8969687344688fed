"""Claims of the papers: the paper's value, our value and a verdict.

A paper is a module beside this file: `NAME.toml` holds its claims, the package `NAME` (with `_` for `-`) the scenario
they start from and one check per claim. `judge.py` brings the two together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

Judgement = Literal["reproduced", "differs", "cannot-tell"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)

PAPERS = {
    "collom2016": "Collom, The effects of an AQM enabled home gateway on First Person Shooter game traffic, 2016",
    "griwodz2006": "Griwodz and Halvorsen, The Fun of using TCP for an MMORPG, NOSSDAV 2006",
    "palazzi-voap": "Palazzi, Bujari and Mirri, Reducing Queuing Delays through VoAP, 2014 or later",
    "but2006": "But, Burriss and Armitage, Priority Queuing of Network Game Traffic over a DOCSIS Link, 2006",
    "burriss2006": "Burriss, Effects of real-time traffic prioritization in home broadband connections, CAIA 2006",
}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that can be checked.

    `where` is the section or figure. `theirs` is the paper's value, or its words for a relation. `tolerance` says how
    close our value must be.
    """

    id: str
    where: str
    kind: str
    metric: str
    theirs: Any
    tolerance: str


@dataclass(frozen=True)
class Verdict:
    """Verdict of our runs on a claim, with the reason."""

    id: str
    verdict: Judgement
    theirs: Any
    ours: Any
    why: str


@dataclass(frozen=True)
class Paper:
    """A paper and its claims, in the paper's order."""

    name: str
    title: str
    claims: tuple[Claim, ...]

    @classmethod
    def read(cls, name: str) -> Paper:
        """Read the claims of one of `PAPERS`."""
        text = (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
        return cls(name, PAPERS[name], tuple(Claim(**row) for row in tomllib.loads(text)["claim"]))


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Count the verdicts of each kind."""
    return {judgement: sum(verdict.verdict == judgement for verdict in verdicts) for judgement in JUDGEMENTS}
