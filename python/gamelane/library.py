"""Finds scenarios, households and sweeps: by path, or by the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

from gamelane import _native
from gamelane.errors import ScenarioError, UsageError, did_you_mean

SHIPPED = Path(__file__).parent / "scenarios"
"""A link to `scenarios/` in a checkout, a folder in an installed package."""

SWEEPS = Path(__file__).parent / "sweeps"
"""A link to `sweeps/` in a checkout, a folder in an installed package."""


def shipped() -> list[str]:
    """Return the names of the shipped scenarios."""
    return _names(SHIPPED)


def sweeps() -> list[str]:
    """Return the names of the shipped sweeps."""
    return _names(SWEEPS)


def households() -> dict[str, str]:
    """Return the texts of the shipped households by name."""
    presets = (each for each in _native.presets() if each["word"] == "household")
    return {each["name"]: each["file"] or "" for each in presets}


def source(path_or_name: str) -> tuple[str, Path]:
    """Return the text of a scenario and its path. The path of a shipped household does not exist."""
    if not Path(path_or_name).is_file() and (text := households().get(path_or_name)):
        return text, Path(f"{path_or_name}.toml")
    path = find(path_or_name)
    return text_of(path), path


def find(path_or_name: str) -> Path:
    """Return the path of a scenario: an existing path, else a shipped scenario of that name."""
    return _find(path_or_name, SHIPPED, ("scenario", ScenarioError))


def find_sweep(path_or_name: str) -> Path:
    """Return the path of a sweep file: an existing path, else a shipped sweep of that name."""
    return _find(path_or_name, SWEEPS, ("sweep", UsageError))


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def _find(path_or_name: str, folder: Path, what: tuple[str, type[ValueError]]) -> Path:
    """Return an existing path, else a file of `folder`. `what` is the noun and the exception of a refusal."""
    path = Path(path_or_name)
    if path.is_file():
        return path
    named = folder / f"{path_or_name.removesuffix('.toml').removeprefix(f'{folder.name}/')}.toml"
    if named.is_file() and named.parent == folder:
        return named
    noun, refusal = what
    names = [*_names(folder), *(households() if folder == SHIPPED else [])]
    hint = (_as_option(path_or_name) if folder == SHIPPED else "") or did_you_mean(path_or_name, names)
    raise refusal(
        f"{path_or_name}: {f'this is a folder, not a {noun}' if path.is_dir() else f'no such {noun}'}\n"
        f"  allowed: a path to a TOML file, or one of {', '.join(names) or '(none shipped)'}"
        f"{hint}"
    )


def _as_option(name: str) -> str:
    """Return the hint for the name of a preset that is no household."""
    word = next((each["word"] for each in _native.presets() if each["name"] == name), None)
    return f"\n  hint:    {name} is a preset: give it as --{word} {name}" if word else ""


def text_of(path: Path) -> str:
    """Read a scenario or sweep file. Refuse one that cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not text in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
