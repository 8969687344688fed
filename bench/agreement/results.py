"""The figures of the cases that ran, what share of them agrees, and the cause of each that does not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.agreement.figures import Figure
from bench.agreement.matrix import HERE, Case

UNKNOWN = "not found yet"
CHANCE = "May be chance: a rank test does not tell the two sides apart (Mann-Whitney, p of at least 0.05)."


@dataclass(frozen=True)
class Outcome:
    """A case with its figures, or the reason why it did not run."""

    case: Case
    figures: Sequence[Figure]
    refused: str = ""


@dataclass(frozen=True)
class Share:
    """How many figures agree."""

    agree: int
    total: int

    @classmethod
    def of(cls, found: Sequence[bool]) -> Share:
        """Count."""
        return cls(sum(found), len(found))

    def __str__(self) -> str:
        """Return a percentage; a dash if there is no figure."""
        return f"{100 * self.agree / self.total:.0f} %" if self.total else "-"


@dataclass(frozen=True)
class Cause:
    """Why figures of some cases miss: those with these values of block, axes, flow and figure."""

    where: Mapping[str, str]
    text: str


def share(outcomes: Sequence[Outcome]) -> Share:
    """Return the share of all figures."""
    return Share.of([figure.agrees for _, figure in every(outcomes)])


def every(outcomes: Sequence[Outcome]) -> Iterator[tuple[Case, Figure]]:
    """Yield each figure that is compared, with its case."""
    for outcome in outcomes:
        if not outcome.case.compared:
            continue
        for figure in outcome.figures:
            yield outcome.case, figure


def causes(path: Path = HERE / "causes.toml") -> list[Cause]:
    """Read the causes that were found."""
    return [Cause(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("cause", [])]


def cause_of(case: Case, figure: Figure, known: Sequence[Cause]) -> str:
    """Return why a figure misses: a known cause, else chance if it may be that."""
    facts = {"block": case.block, **case.words, "flow": figure.flow, "figure": figure.what}
    found = next((cause.text for cause in known if facts.items() >= cause.where.items()), "")
    return found or (CHANCE if figure.may_be_chance else UNKNOWN)


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line for each figure: the means, and the values of all seeds of the kernel."""
    for outcome in outcomes:
        if outcome.refused:
            yield f"not run: {outcome.case.name}: {outcome.refused.splitlines()[0]}"
        for figure in outcome.figures:
            kernel, sim = (f"{mean:9.3f}" for mean in figure.means)
            seeds = " ".join(f"{value:.4g}" for value in figure.kernel) or "none"
            name = f"{outcome.case.name:44} {figure.flow:7} {figure.what:12} {figure.unit:6} kernel {kernel}"
            if outcome.case.compared:
                agrees = "yes" if figure.agrees else "NO"
                yield f"{agrees:3} {name} sim {sim}  kernel's seeds {seeds}; sim {_range(figure.sim)}"
            else:
                yield f"-   {name}  kernel's seeds {seeds}"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.4g} to {max(values):.4g}" if values else "none"
