"""`gamelane proxy`: hands over to the `gamelane-proxy` program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from gamelane.errors import UsageError

PROGRAM = "gamelane-proxy"
VARIABLE = "GAMELANE_PROXY"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "proxy",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(proxy)


def proxy(context: typer.Context) -> None:
    """Carry thin TCP streams over few connections: near|far|check|certificates|status. See docs/proxy.md."""
    program = find()
    sys.stdout.flush()
    os.execv(program, [PROGRAM, *context.args])


def find() -> Path:
    """Return the program: named by GAMELANE_PROXY, beside this command, on the path, or where cargo builds it."""
    named = os.environ.get(VARIABLE)
    if named:
        if not _runs(Path(named)):
            raise UsageError(
                f"{VARIABLE}={named}: no program there\n  hint:    unset it, or name gamelane-proxy itself"
            )
        return Path(named)
    for candidate in _candidates():
        if _runs(candidate):
            return candidate
    raise UsageError(
        f"{PROGRAM} is not installed beside this command, not on the path and not built here\n"
        f"  hint:    `make proxy` builds it, or name it with {VARIABLE}=/path/to/{PROGRAM}"
    )


def _candidates() -> Iterator[Path]:
    yield Path(sys.executable).with_name(PROGRAM)
    on_path = shutil.which(PROGRAM)
    if on_path:
        yield Path(on_path)
    tree = Path(__file__).parents[3]
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target"))
    for profile in ("release", "debug"):
        yield target / profile / PROGRAM


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
