"""Reads `--set`, `--compare` and `--variant` into the keys that each variant changes."""

from __future__ import annotations

from collections.abc import Sequence

from gamelane.errors import ScenarioError, UsageError

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from gamelane.experiment import Experiment

Variants = dict[str, dict[str, str]]


def overrides(settings: Sequence[str], option: str = "--set") -> dict[str, str]:
    """Read `link.up=2mbit`."""
    return dict(_pair(setting, option) for setting in settings)


def variants(chosen: Experiment, compare: str | None, named: Sequence[str]) -> Variants:
    """Read `--compare KEY=A,B` and `--variant NAME:KEY=VALUE,…`; a variant named twice gets the keys of both.

    A value that the scenario refuses is blamed on the option that gave it.
    """
    found: Variants = {}
    given: dict[str, str] = {}
    if compare is not None:
        found = _compared(compare)
        given = {f"{key}={value}": f"--compare {compare}" for keys in found.values() for key, value in keys.items()}
    for text in named:
        name, keys = _named(text)
        found.setdefault(name, {}).update(keys)
        given |= {f"{key}={value}": f"--variant {text}" for key, value in keys.items()}
    for keys in found.values():
        try:
            chosen.with_(keys)
        except ScenarioError as error:
            place = error.file  # "--set KEY=VALUE", whichever option changed the key
            option = given.get(place.removeprefix("--set "), place)
            raise UsageError(str(error).replace(place, option, 1)) from None
    return found


def _compared(text: str) -> Variants:
    key, values = _pair(text, "--compare")
    words = [word.strip() for word in values.split(",") if word.strip()]
    allowed = "\n  allowed: KEY=A,B,…, for example 'gateway.*.queue=fifo,fq_codel'"
    if not words:
        raise UsageError(f"--compare {text}: no values to compare{allowed}")
    for word in words:
        if words.count(word) > 1:
            raise UsageError(f"--compare {text}: `{word}` is listed twice{allowed}")
    return {word: {key: word} for word in words}


def _named(text: str) -> tuple[str, dict[str, str]]:
    name, colon, settings = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(
            f"--variant {text}: not NAME:KEY=VALUE,…\n  allowed: for example 'short:gateway.up.limit=100p'"
        )
    return name.strip(), overrides(settings.split(","), "--variant") if settings else {}


def _pair(setting: str, option: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError(
            f"{option} {setting}: not KEY=VALUE\n"
            "  allowed: a key of the scenario and its value, for example link.up=2mbit"
        )
    return key.strip(), value.strip()
