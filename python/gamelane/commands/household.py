"""Reads a scenario with the presets of the command line: `--plan`, `--with`, `--policy`, `--router` and `--set`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

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
    for setting in settings:
        word, _, name = setting.partition("=")
        if word in given and word != "with":
            _refuse_second(f"--set {setting}", f"{word}={name}", given[word])
    if scenario is None:
        _refuse_half(given)
    try:
        read = experiment.load(scenario, given)
        keys = overrides(settings)
        return read.with_(keys) if keys else read
    except ScenarioError as error:
        raise _by_option(error, given) from None


def _refuse_half(given: Mapping[str, str]) -> None:
    """Refuse a household without a plan or without applications."""
    lacking = [word for word in ("plan", "with") if word not in given]
    if not lacking:
        return
    words = {"plan": "a plan", "with": "applications"}
    has = ", ".join(f"--{word} {name}" for word, name in given.items())
    raise UsageError(
        f"{f'{has}: ' if has else ''}a household needs {' and '.join(words[word] for word in lacking)}"
        f"{' too' if has else ''}\n"
        f"  hint:    {' '.join(EXAMPLE[word] for word in lacking)}; `gamelane presets` lists more\n"
        "  hint:    or give a scenario; `gamelane scenarios` lists those that ship"
    )


EXAMPLE = {"plan": "--plan cable-250-20", "with": "--with valorant,netflix-4k"}


def _once(option: str, names: Sequence[str]) -> str | None:
    if len(names) > 1:
        _refuse_second(f"{option} {names[1]}", f"{option.strip('-')}={names[1]}", names[0])
    return names[0] if names else None


def _refuse_second(given: str, pair: str, first: str) -> NoReturn:
    word, _, name = pair.partition("=")
    raise UsageError(
        f"{given}: a household has one, and {first} is given too\n"
        f"  hint:    --compare {word}={first},{name} compares them"
    )


def _by_option(error: ScenarioError, given: Mapping[str, str]) -> ScenarioError | UsageError:
    """Return the error with the option that a person wrote instead of the key of a scenario."""
    for word, name in given.items():
        if error.file == f"--set {word}={name}":
            return UsageError(str(error).replace(error.file, f"--{word} {name}", 1))
    return error
