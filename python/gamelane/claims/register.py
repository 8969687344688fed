"""The register of a paper's checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gamelane.claims import Claim
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding

Check = Callable[[Evidence, Claim], Finding]
"""Judges a claim by runs. The claim holds the paper's value and the limits of the criterion."""


class Register:
    """The checks of one paper by the ids of their claims. As a decorator it adds a check."""

    def __init__(self, paper: str) -> None:
        self.paper = paper
        self._checks: dict[str, Check] = {}

    @property
    def checks(self) -> Mapping[str, Check]:
        """Return the checks by the whole ids of their claims."""
        return self._checks

    def __call__(self, *ids: str) -> Callable[[Check], Check]:
        """Register the check of one or more claims, whose ids are given without the paper's name."""

        def register(check: Check) -> Check:
            self._checks |= {f"{self.paper}.{each}": check for each in ids}
            return check

        return register
