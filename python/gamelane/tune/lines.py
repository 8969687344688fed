"""Tells which settings the lines to paste express in full: these are recommended before others."""

from __future__ import annotations

from collections.abc import Callable

from gamelane import _native
from gamelane.tune.parameters import Settings, Space


def expressed(scenario: _native.Scenario, space: Space, target: str) -> Callable[[Settings], bool]:
    """Return whether the lines of a target do all that a setting says, as a function of the setting."""
    known: dict[str, bool] = {}

    def prefers(settings: Settings) -> bool:
        chosen = space.applied(scenario, settings)
        if chosen.fingerprint not in known:
            known[chosen.fingerprint] = _native.recipes(chosen, scenario)[target].matches
        return known[chosen.fingerprint]

    return prefers
