"""Writes results to stdout and messages to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress

from gamelane.errors import OutputError

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from rich.console import Console
    from rich.progress import Progress

WIDTH_WITHOUT_TERMINAL = 160


def stdout() -> Console:
    """Return a console for results. Without a terminal and without $COLUMNS it is wide enough not to wrap tables."""
    from rich.console import Console  # noqa: PLC0415 - loads slowly, and --json needs none

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH_WITHOUT_TERMINAL
    return Console(width=wide, highlight=False, soft_wrap=False, markup=False)


def stderr() -> Console:
    """Return a console for progress bars."""
    from rich.console import Console  # noqa: PLC0415 - as above

    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


@contextmanager
def printing() -> Iterator[None]:
    """Print results in the block. If nobody reads stdout any more, or its disk is full, the command goes on."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # Rich exits
        leave_stdout()
    except OSError as error:
        leave_stdout()
        unprinted.append(error)


unprinted: list[OSError] = []
"""Why results could not be printed. Files are written nevertheless."""


def deliver(
    document: Any, file: Path | None, show: Callable[[], None], *, json: bool, pages: Sequence[str] = ()
) -> None:
    """Write a document to a file, if one is given, and print it, as JSON or by `show`, also if the disk is full.

    Pictures of an earlier document, and its `pages`, disappear with it.
    """
    from gamelane import whole  # noqa: PLC0415 - as above

    try:
        if file is not None:
            with (
                whole.Together(file.parent, file.name, stale=(*pages, *PICTURES)) as files,
                files.file(file.name) as partial,
            ):
                partial.write_text(whole.document(document), encoding="utf-8")
    finally:
        with printing():
            if json:
                emit(document)
            else:
                show()


PICTURES = ("figures/*.png", "figures/*.svg")


def leave_stdout() -> None:
    """Write nothing more to stdout, also when Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(message: str) -> None:
    """Print a message for the person at the keyboard."""
    with suppress(OSError):  # a full disk, or nobody reads it
        sys.stderr.write(f"{message}\n")


def say_where(page: Path | None, hint: str = "", *, quiet: bool) -> None:
    """Say where the report is; without one, how to get one. There is no hint after an error."""
    if quiet:
        return
    if page is not None:
        say(f"report: {page}")
    elif hint and not unprinted:
        say(hint)


def emit(document: Any) -> None:
    """Print a JSON document: indented on a terminal, else on one line, which is many times faster."""
    import json  # noqa: PLC0415 - as above

    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")


class Unseen:
    """Stands for a progress bar where nobody would see it."""

    def __enter__(self) -> Unseen:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_task(self, *_: object, **_given: object) -> Any:
        """Return the task, which is none."""

    def update(self, *_: object, **_given: object) -> None:
        """Show nothing."""


def progress(*, quiet: bool) -> Progress | Unseen:
    """Return a progress bar; one that shows nothing if stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        return Unseen()
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=stderr(),
        transient=True,
    )


def emit_line(document: Any) -> None:
    """Print one line of JSON and flush it, so that a program can follow."""
    import json  # noqa: PLC0415 - as above

    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def writable(folder: Path, *, shared: bool = False) -> Path:
    """Create the folder and check that files can be written to it, before a long run starts.

    Unless the folder is `shared`, other commands are kept out of it until this process ends.
    """
    from gamelane.whole import PREFIX, claim  # noqa: PLC0415 - as above

    probe = folder / f"{PREFIX}{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink(missing_ok=True)  # a command that claims the folder removes it too
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot write to this folder: {error.strerror}\n"
            "  hint:    choose another folder with -o, or change its permissions"
        ) from None
    if not shared and (place := folder.resolve()) not in _CLAIMED:
        _CLAIMED[place] = claim(folder)
    return folder


_CLAIMED: dict[Path, int] = {}
