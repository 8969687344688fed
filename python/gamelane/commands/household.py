"""Reads a scenario with the presets of the command line: `--plan`, `--with`, `--policy`, `--router` and `--set`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gamelane import experiment
from gamelane.commands.variants import overrides
from gamelane.errors import ScenarioError, UsageError
from gamelane.experiment import Experiment


def chosen(
    scenario: str | None,
    settings: Sequence[str],
    *,
    plan: Sequence[str],
    with_: Sequence[str],
    policy: Sequence[str],
    router: Sequence[str],
) -> Experiment:
    """Read a scenario, or make one of presets, and change the keys of `--set`."""
    words = {
        "plan": _once("--plan", plan),
        "with": ",".join(with_) or None,
        "policy": _once("--policy", policy),
        "router": _once("--router", router),
    }
    given = {word: name for word, name in words.items() if name is not None}
    if scenario is None and not {"plan", "with"} <= given.keys():
        raise UsageError(
            "a household needs a plan and applications\n"
            "  allowed: a scenario, or for example --plan cable-250-20 --with valorant,netflix-4k\n"
            "  hint:    `gamelane scenarios` and `gamelane presets` list what there is"
        )
    try:
        read = experiment.load(scenario, given)
        keys = overrides(settings)
        return read.with_(keys) if keys else read
    except ScenarioError as error:
        raise _by_option(error, given) from None


def _once(option: str, names: Sequence[str]) -> str | None:
    if len(names) > 1:
        raise UsageError(
            f"{option} {names[1]}: a household has one, and {names[0]} is given too\n"
            f"  hint:    --compare {option.strip('-')}={','.join(names)} compares them"
        )
    return names[0] if names else None


def _by_option(error: ScenarioError, given: Mapping[str, str]) -> ScenarioError | UsageError:
    """Return the error with the option that a person wrote instead of the key of a scenario."""
    for word, name in given.items():
        if error.file == f"--set {word}={name}":
            return UsageError(str(error).replace(error.file, f"--{word} {name}", 1))
    return error
