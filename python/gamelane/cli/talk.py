"""Talk on stderr, data on stdout."""

from __future__ import annotations

import json
import os
import sys

from gamelane.errors import OutputError

TYPE_CHECKING = False  # without typing, which is slow to load
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from rich.console import Console
    from rich.progress import Progress

WIDTH_WITHOUT_TERMINAL = 160


def stdout() -> Console:
    """Tables go here; wide enough not to wrap when piped."""
    from rich.console import Console  # noqa: PLC0415 - takes long to load, and --json needs none

    wide = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(width=wide, highlight=False, soft_wrap=False)


def stderr() -> Console:
    """Everything that is not the result."""
    from rich.console import Console  # noqa: PLC0415 - as above

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(message: str) -> None:
    """Say something to the person, not to the pipe."""
    stderr().print(message, markup=False)


def emit(document: Any) -> None:
    """Print a JSON document: indented for a person, on one line for a program, which is many times faster."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")


def progress(*, quiet: bool) -> Progress:
    """Return a bar on a terminal, nothing elsewhere."""
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=stderr(),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )


def emit_line(document: Any) -> None:
    """Print one line of JSON, at once, for a machine that follows."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def writable(folder: Path) -> Path:
    """Make the folder and prove that files can be written to it, before any time is spent on filling it."""
    probe = folder / f".gamelane-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be written to: {error.strerror}\n"
            "  hint:    give another folder with -o, or change its permissions"
        ) from None
    return folder
