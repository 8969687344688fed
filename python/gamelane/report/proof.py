"""Presents a measurement beside an earlier one, and beside what an advice promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from gamelane.advise.measured import Measured
from gamelane.advise.promised import Promised
from gamelane.analysis.line import Phase
from gamelane.plot.style import number
from gamelane.report.advise import LOADED, phases_sheet, print_sheet, worst_ms
from gamelane.report.phase_figure import Series, figure
from gamelane.report.sheets import write

AS_PROMISED = 0.15
"""How far the result may be from what was expected (our choice)."""
TITLE = "Before and after"


@dataclass(frozen=True)
class Proof:
    """A line before and after a change."""

    before: Measured
    promised: Promised | None
    after: Sequence[Phase]

    @property
    def series(self) -> list[Series]:
        """What there is, in the order of time."""
        expected = [Series("expected", self.promised.expected)] if self.promised and self.promised.expected else []
        return [Series("before", self.before.whole), *expected, Series("after", self.after)]

    @property
    def missing(self) -> list[str]:
        """Phases with load of the earlier measurement or of the advice that another series lacks."""
        known = [{phase.name for phase in each.phases if phase.rtt_ms} for each in self.series]
        return [
            name for name in LOADED if any(name in each for each in known) and not all(name in each for each in known)
        ]

    @property
    def worst_ms(self) -> dict[str, float | None]:
        """The largest 95th percentile of the game's round trip under load, of each series, in phases that all have."""
        missing = self.missing
        return {
            each.name: worst_ms([phase for phase in each.phases if phase.name not in missing]) for each in self.series
        }

    @property
    def keeps_promise(self) -> bool | None:
        """Whether the result is as good as expected, within `AS_PROMISED`; None if unknown.

        It is unknown without an advice, and if a phase with load is missing.
        """
        expected, after = (self.worst_ms.get(name) for name in ("expected", "after"))
        if expected is None or after is None or self.missing:
            return None
        return after <= expected * (1 + AS_PROMISED)


def headline(proof: Proof) -> str:
    """Return the result in sentences."""
    worst, missing = proof.worst_ms, proof.missing
    if worst["before"] is None or worst["after"] is None:
        lacking = f" Missing on one side: {', '.join(missing)}." if missing else ""
        return f"Nothing to compare: the measurements have no phase with load in common.{lacking}"
    said = f"The game's round trip under load (95 %): {number(worst['before'])} → {number(worst['after'])} ms."
    if missing:
        judged = " So the advice is not judged." if proof.promised and proof.promised.expected else ""
        compared = f"This compares only the phases of both; missing on one side: {', '.join(missing)}."
        return f"{said} {compared}{judged}"
    if proof.keeps_promise is None:
        return said
    kept = "The advice promised" if proof.keeps_promise else "That is more than the advice promised:"
    return f"{said} {kept} {number(worst['expected'])} ms."


def document(proof: Proof) -> dict[str, Any]:
    """Return the part of the JSON of `gamelane measure` (docs/json-schema.md)."""
    return {
        "worst_ms": proof.worst_ms,
        "missing": proof.missing,
        "keeps_promise": proof.keeps_promise,
        "headline": headline(proof),
    }


def show(proof: Proof, console: Console) -> None:
    """Print the result, and the phases before, expected and after."""
    console.print()
    console.print(Text(headline(proof), style="bold"))
    console.print()
    print_sheet(phases_sheet(TITLE, proof.series), console)


def write_page(folder: Path, proof: Proof) -> Path:
    """Write `report.html` and `figures/`; return the page."""
    said = [headline(proof), *([f"The advice was: {proof.promised.recommendation}"] if proof.promised else [])]
    return write(
        folder,
        [figure(proof.series)],
        made_by="gamelane measure --compare",
        title=f"The line to {proof.before.host}, before and after",
        headline=" ".join(said),
        sheets=[phases_sheet(TITLE, proof.series)],
    )
