"""Finding scenarios: a path, or the name of one that comes with gamelane."""

from __future__ import annotations

from pathlib import Path

from gamelane.errors import ScenarioError, UsageError, did_you_mean

SHIPPED = Path(__file__).parent / "scenarios"
"""A link to `scenarios/` in a checkout, a folder of its own in an installed package."""

SWEEPS = Path(__file__).parent / "sweeps"
"""A link to `sweeps/` in a checkout, a folder of its own in an installed package."""


def shipped() -> list[str]:
    """Names of the scenarios that come with gamelane."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def find(path_or_name: str) -> Path:
    """The file meant: an existing path, else a shipped scenario of that name."""
    path = Path(path_or_name)
    if path.is_file():
        return path
    named = SHIPPED / f"{path_or_name.removesuffix('.toml').removeprefix('scenarios/')}.toml"
    if named.is_file() and named.parent == SHIPPED:
        return named
    names = shipped()
    raise ScenarioError(
        f"{path_or_name}: {'this is a folder' if path.is_dir() else 'no such scenario'}\n"
        f"  allowed: a path to a TOML file, or one of {', '.join(names) or '(none shipped)'}"
        f"{did_you_mean(path_or_name, names)}"
    )


def sweeps() -> list[str]:
    """Names of the sweeps that come with gamelane."""
    return sorted(path.stem for path in SWEEPS.glob("*.toml"))


def find_sweep(path_or_name: str) -> Path:
    """The sweep file meant: an existing path, else a shipped sweep of that name."""
    path = Path(path_or_name)
    if path.is_file():
        return path
    named = SWEEPS / f"{path_or_name.removesuffix('.toml').removeprefix('sweeps/')}.toml"
    if named.is_file() and named.parent == SWEEPS:
        return named
    names = sweeps()
    raise UsageError(
        f"{path_or_name}: {'this is a folder' if path.is_dir() else 'no such sweep'}\n"
        f"  allowed: a path to a TOML file, or one of {', '.join(names) or '(none shipped)'}"
        f"{did_you_mean(path_or_name, names)}"
    )


def text_of(path: Path) -> str:
    """Read a scenario file, as refusals go."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not text in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
