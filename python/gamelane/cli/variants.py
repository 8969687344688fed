"""Reads `--set`, `--compare` and `--variant` into the keys that each variant changes."""

from __future__ import annotations

from collections.abc import Sequence

from gamelane.errors import UsageError


def overrides(settings: Sequence[str], option: str = "--set") -> dict[str, str]:
    """Read `link.up=2mbit`."""
    return dict(_pair(setting, option) for setting in settings)


def variants(compare: str | None, named: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read `--compare KEY=A,B` and `--variant NAME:KEY=VALUE,…`; a variant named twice gets the keys of both."""
    found: dict[str, dict[str, str]] = {}
    if compare is not None:
        key, values = _pair(compare, "--compare")
        for value in filter(None, (word.strip() for word in values.split(","))):
            found[value] = {key: value}
        if not found:
            raise UsageError(
                f"--compare {compare}: no values to compare\n"
                "  allowed: KEY=A,B,…, for example 'gateway.*.queue=fifo,fq_codel'"
            )
    for text in named:
        name, colon, settings = text.partition(":")
        if not colon or not name.strip():
            raise UsageError(
                f"--variant {text}: not NAME:KEY=VALUE,…\n  allowed: for example 'short:gateway.up.limit=100p'"
            )
        found.setdefault(name.strip(), {}).update(overrides(settings.split(","), "--variant") if settings else {})
    return found


def _pair(setting: str, option: str) -> tuple[str, str]:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError(
            f"{option} {setting}: not KEY=VALUE\n"
            "  allowed: a key of the scenario and its value, for example link.up=2mbit"
        )
    return key.strip(), value.strip()
