"""Finding the programs that do what Python does not: forward packets, keep time to the microsecond."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from gamelane.errors import UsageError

IMPAIR = "gamelane-impair"
TRAFFIC = "gamelane-traffic"


def find(program: str) -> Path:
    """Return the program: named by GAMELANE_PROGRAM, beside this command, on the path, or where cargo builds it."""
    variable = program.upper().replace("-", "_")
    named = os.environ.get(variable)
    if named:
        if not _runs(Path(named)):
            raise UsageError(f"{variable}={named}: no program there\n  hint:    unset it, or name {program} itself")
        return Path(named)
    for candidate in _candidates(program):
        if _runs(candidate):
            return candidate
    raise UsageError(
        f"{program} is not installed beside this command, not on the path and not built here\n"
        f"  hint:    `make tools` builds it, or name it with {variable}=/path/to/{program}"
    )


def hand_over(program: str, words: list[str]) -> None:
    """Become the program."""
    path = find(program)
    sys.stdout.flush()
    os.execv(path, [program, *words])


def _candidates(program: str) -> Iterator[Path]:
    yield Path(sys.executable).with_name(program)
    on_path = shutil.which(program)
    if on_path:
        yield Path(on_path)
    tree = Path(__file__).parents[2]
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target"))
    for profile in ("release", "debug"):
        yield target / profile / program


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
