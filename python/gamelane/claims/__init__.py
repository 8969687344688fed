"""Claims of the papers: the paper's value, our value and a verdict.

A paper is a module beside this file: `NAME.toml` holds its claims, the package `NAME` (with `_` for `-`) the scenario
they start from and one check per claim. `judge.py` brings the two together.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal, get_args

Kind = Literal["result", "derived", "fitted", "input", "design", "opinion", "further"]
KINDS: dict[Kind, str] = {
    "result": "an outcome that the authors measured or state. We simulate it and compare",
    "derived": "follows from other figures of the paper by arithmetic",
    "fitted": "a figure that one of our models was fitted to. That we meet it proves nothing",
    "input": "a setting of the paper. Our scenario has it",
    "design": "something that gamelane can do or how it works, as the paper describes it",
    "opinion": "about people, other works or live servers. No simulation decides it",
    "further": "further work that the paper names, with our answer",
}
"""What kind of statement a claim is. Only results are evidence for the simulator."""

Judgement = Literal["reproduced", "holds", "answered", "differs", "cannot-tell"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)
"""A result is reproduced and further work is answered. Statements of the other kinds hold."""

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

    `where` is the section or figure. `theirs` is the paper's value, or its words for a relation. `criterion` says in
    words when our value agrees; `{name}` in it stands for a number of `limits`, which the check reads.
    """

    id: str
    where: str
    kind: Kind
    metric: str
    theirs: Any
    criterion: str
    limits: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def rule(self) -> str:
        """Return the criterion with its numbers."""
        return self.criterion.format_map({name: f"{limit:g}" for name, limit in self.limits.items()})


@dataclass(frozen=True)
class Verdict:
    """Verdict of our runs on a claim, with the reason."""

    id: str
    verdict: Judgement
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


def counts(rows: Sequence[tuple[Claim, Verdict]]) -> dict[Kind, dict[Judgement, int]]:
    """Count the verdicts of each kind of claim, in the order of `KINDS` and `JUDGEMENTS`. Zeros are left out."""
    found = Counter((claim.kind, verdict.verdict) for claim, verdict in rows)
    return {
        kind: {judgement: found[kind, judgement] for judgement in JUDGEMENTS if found[kind, judgement]}
        for kind in KINDS
        if any(kind == other for other, _ in found)
    }


def counted(numbers: Mapping[Judgement, int]) -> str:
    """Return counts as text, such as "3 reproduced, 2 differ"."""
    words = {"cannot-tell": "cannot tell"}
    many = words | {"holds": "hold", "differs": "differ"}
    return ", ".join(f"{count} {(words if count == 1 else many).get(word, word)}" for word, count in numbers.items())
