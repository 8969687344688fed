"""The advice for a measured line: the best of the settings that were tried, and what to expect of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gamelane import _native
from gamelane.advise import expect, household, settings
from gamelane.advise.measured import Measured
from gamelane.analysis.bottleneck import NOTICED_MS, Link
from gamelane.analysis.line import Phase
from gamelane.catalogue import INTERACTIVE
from gamelane.tune import needs
from gamelane.tune.objective import Wishes
from gamelane.tune.parameters import Settings
from gamelane.tune.search import Effort, Found, Runner, search

COST_OF_WANDERING = 0.9
"""Share of their goodput that transfers may lose where the rate wanders: a rate that follows it is often below it."""


@dataclass(frozen=True)
class Wanted:
    """What a person asks for."""

    scenario: _native.Scenario | None
    """Who lives there; None for the game, the call and the transfers of the measurement."""
    target: str
    """One of `_native.recipe_targets`, whose lines should express the setting."""
    cost: float
    """Share of its due goodput that each transfer may lose."""
    trials: int
    seeds: Sequence[int]
    threads: int


@dataclass(frozen=True)
class Advice:
    """A recommendation for a line. If nothing is clearly better than today, only what is known of today is there."""

    measured: Measured
    link: Link
    scenario: _native.Scenario
    """The line as a scenario."""
    has_household: bool
    """Whether somebody said who lives there."""
    found: Found | None = None
    """None for a line that is fine: nothing was tried."""
    today: Sequence[Phase] = ()
    """The measurement, simulated on the estimated line; empty if nothing was tried."""
    expected: Sequence[Phase] = ()
    """The same behind the recommended gateway."""
    policy: _native.Scenario | None = None
    """The same setting for a gateway, without the transfers of the measurement."""
    recipes: Mapping[str, _native.Recipe] = field(default_factory=dict)

    @property
    def settings(self) -> Settings | None:
        """The recommended settings."""
        return None if self.found is None or self.found.best is None else self.found.best.settings


def advise(measured: Measured, link: Link, folder: Path, wanted: Wanted, on_trials: Callable[[int], None]) -> Advice:
    """Try settings on a line, unless it is fine. `folder` has the texts of `household.traces`.

    Ctrl-C ends the search early.
    """
    own = household.scenario(measured, link, folder)
    if wanted.scenario is None:
        scenario = household.loaded(measured, link, folder)
    else:
        scenario = wanted.scenario.with_overrides(household.of(link, folder))
    advice = Advice(measured, link, scenario, wanted.scenario is not None)
    if is_fine(measured):
        return advice
    space = settings.space(scenario, link)
    runner = Runner(scenario, space, wanted.seeds, wanted.threads)
    wanders = link.up.wanders or link.down.wanders
    aim = needs.aim(runner, Wishes(), max(wanted.cost, COST_OF_WANDERING) if wanders else wanted.cost)

    def preferred(each: Settings) -> bool:
        """Whether the lines can express a setting. Where the rate wanders, a fixed one is right for a moment only."""
        if wanders:
            return each[settings.AUTORATE] != "false"
        return _native.recipes(space.applied(scenario, each))[wanted.target].matches

    effort = Effort(wanted.trials, tuple(settings.first(scenario, space, link)), preferred)
    found = search(runner, aim, effort, on_trials)
    if wanders:
        found = replace(found, beyond=None, is_expressed=True)  # what is preferred there is not what the lines express
    today = expect.phases(own, measured.spans, wanted.seeds, wanted.threads)
    advice = replace(advice, found=found, today=today)
    if found.best is None:
        return advice
    own_games = settings.for_games(found.best.settings, [household.GAME, household.CALL])
    after = settings.space(own, link).applied(own, own_games)
    expected = expect.phases(after, measured.spans, wanted.seeds, wanted.threads)
    rules = policy(wanted.scenario, link, folder, found.best.settings)
    return replace(advice, expected=expected, policy=rules, recipes=_native.recipes(rules))


def is_fine(measured: Measured) -> bool:
    """Return whether loads hardly delay the game, so that there is nothing to set."""
    return measured.bufferbloat_ms is not None and measured.bufferbloat_ms < NOTICED_MS


def policy(scenario: _native.Scenario | None, link: Link, folder: Path, best: Settings) -> _native.Scenario:
    """Return the scenario of a gateway with a setting, for a household or, if None, for any."""
    own = household.policy(link, folder) if scenario is None else scenario.with_overrides(household.of(link, folder))
    games = [flow["name"] for flow in own.flows() if flow["app"] in INTERACTIVE]
    return settings.space(own, link).applied(own, settings.for_games(best, games))
