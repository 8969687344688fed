"""Turns a scenario's gateway into lines that can be pasted: for Linux, for OpenWrt, and for gamelane's own gateway."""

from __future__ import annotations

import tomllib

from gamelane import _native
from gamelane.apply import openwrt, own, tc
from gamelane.apply.plan import plan
from gamelane.apply.recipe import Recipe

__all__ = ["TARGETS", "Recipe", "recipes"]

TARGETS = (tc.TARGET, openwrt.TARGET, own.TARGET)


def recipes(scenario: _native.Scenario, today: _native.Scenario | None = None) -> dict[str, Recipe]:
    """Return a recipe for each of `TARGETS`. A target that cannot express the setting has no lines, but the reason.

    With the scenario of today's gateway, the lines also say which change they cannot make.
    """
    planned = plan(tomllib.loads(scenario.to_toml()), None if today is None else tomllib.loads(today.to_toml()))
    found = (tc.recipe(planned), openwrt.recipe(planned), own.recipe(planned, scenario))
    return {recipe.target: recipe for recipe in found}
