"""`gamelane capture`: records an interface to rotating pcapng files and analyzes it at the same time."""

from __future__ import annotations

import json as formats
import os
import pwd
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.live import Live as Screen
from rich.text import Text

from gamelane import _native, whole
from gamelane.errors import ExitCode, LabError, OutputError, UsageError, aligned
from gamelane.quantity import parse
from gamelane.report import top_terminal
from gamelane.report.capture_terminal import show
from gamelane.terminal.stopping import Stop, stopping
from gamelane.terminal.talk import emit, say, stderr, stdout, writable

STEP_MS = 500
KEY_MS = 100
"""Longest time until a key is noticed."""
SMALLEST_FILE = 1 << 16


def capture(
    interface: str,
    out: Path | None,
    filter_: str,
    snaplen: int,
    rotate_size: str | None,
    rotate_time: str | None,
    keep: int | None,
    duration: str | None,
    packets: int | None,
    promiscuous: bool,
    ring: str,
    has_top: bool,
    json: bool,
    quiet: bool,
) -> int:
    """Record an interface until Ctrl-C or SIGTERM, then explain the lag and loss of the games on it."""
    if has_top and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "--live: needs a terminal for its screen and its keys\n"
            "  hint:    omit it: a line a minute says what was seen, and the verdict comes at the end"
        )
    limits = Limits(packets=packets, seconds=None if duration is None else _seconds("--duration", duration))
    rotation = (
        None if rotate_size is None else _bytes("--rotate-size", rotate_size, SMALLEST_FILE),
        None if rotate_time is None else int(_seconds("--rotate-time", rotate_time) * 1e9),
        keep,
    )
    if out is None and any(each is not None for each in rotation):
        raise UsageError("--rotate-size, --rotate-time and --keep need a folder for files\n  hint:    add -o DIR")
    live = _open(interface, snaplen, filter_, promiscuous, _bytes("--ring", ring, SMALLEST_FILE))
    drop_privileges()
    folder = None if out is None else writable(out, shared=True)
    # Until the end of the output: a signal that comes twice must not cut it off.
    with stopping() as stop:
        live.begin(None if folder is None else str(folder), *rotation, has_top)
        record = _show if has_top else _record
        error = record(live, interface, limits, stop, quiet=quiet)
        found, unwritten = _finish(live, folder)
        error = error or unwritten
        stop.leave_closed_terminal()
        if json:
            emit(found)
        else:
            show(found, stdout())
        if error is not None:
            say(f"error: {aligned(str(error))}")
        if folder is not None and not quiet:
            say(f"recorded: {folder}; `gamelane analyze {folder} -o REPORT` makes a report with plots")
    return 0 if error is None else ExitCode.CANNOT_RUN if isinstance(error, ConnectionError) else ExitCode.OUTPUT


class Limits:
    """The number of packets or the time after which a recording stops."""

    def __init__(self, *, packets: int | None, seconds: float | None) -> None:
        self.packets = packets
        self.until = None if seconds is None else time.monotonic() + seconds

    def reached(self, seen: _native.Progress) -> bool:
        """Return whether either limit is reached."""
        return (self.packets is not None and seen["packets"] >= self.packets) or (
            self.until is not None and time.monotonic() >= self.until
        )

    def step_ms(self) -> int:
        """Return how long to wait for packets at most, in milliseconds."""
        left = STEP_MS if self.until is None else 1000 * (self.until - time.monotonic())
        return max(0, min(STEP_MS, int(left)))


def drop_privileges() -> None:
    """Switch to the user who called sudo, if any, and drop all capabilities.

    Only this thread and threads started later lose them. No module imported earlier may have started a thread.
    """
    user = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and user.isdecimal() and int(user) != 0:
        group = int(os.environ.get("SUDO_GID", user))
        try:
            os.initgroups(pwd.getpwuid(int(user)).pw_name, group)
        except KeyError:
            os.setgroups([])
        os.setgid(group)
        os.setuid(int(user))
    _native.drop_privileges()


def _open(interface: str, snaplen: int, filter_: str, promiscuous: bool, ring: int) -> _native.Live:
    try:
        return _native.Live.open(interface, snaplen, filter_, promiscuous, ring)
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None
    except OSError as error:
        raise LabError(aligned(str(error))) from None


def _record(live: _native.Live, interface: str, limits: Limits, stop: Stop, *, quiet: bool) -> OSError | None:
    """Record until a limit, a signal or an error. Return the error: what was recorded before it is kept."""
    began = time.monotonic()
    with _line(quiet=quiet) as line:
        try:
            while not stop.asked:
                seen = live.step(limits.step_ms())
                stop.leave_closed_terminal()
                line(_told(interface, seen, time.monotonic() - began))
                if limits.reached(seen):
                    break
        except OSError as error:
            return error
    return None


def _show(live: _native.Live, interface: str, limits: Limits, stop: Stop, *, quiet: bool) -> OSError | None:  # noqa: ARG001
    """Like `_record`, with the screen of `--live` until q is pressed."""
    began, drawn = time.monotonic(), 0.0
    orders = list(top_terminal.ORDERS)
    flows: list[_native.FlowNow] = []
    paused = False
    with _keys() as pressed, Screen(console=stderr(), screen=True, auto_refresh=False) as screen:
        try:
            while not stop.asked:
                seen = live.step(min(KEY_MS, limits.step_ms()))
                stop.leave_closed_terminal()
                key = pressed()
                if key == "q" or limits.reached(seen):
                    break
                orders = orders[1:] + orders[:1] if key == "s" else orders
                paused ^= key == "p"
                if key is None and time.monotonic() - drawn < STEP_MS / 1000:
                    continue
                drawn = time.monotonic()
                flows = flows if paused else live.top(time.time_ns())
                told, size = _told(interface, seen, drawn - began), screen.console.size
                page = top_terminal.screen(flows, told, orders[0], size=size, paused=paused)
                screen.update(page, refresh=True)
        except OSError as error:
            return error
    return None


@contextmanager
def _keys() -> Iterator[Callable[[], str | None]]:
    """Return a function that gives the key that was pressed, if any. The terminal gives keys without Enter and echo."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield lambda: os.read(terminal, 1).decode("latin-1") if select.select([terminal], [], [], 0)[0] else None
    finally:
        with suppress(termios.error):  # the terminal may have been closed
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _finish(live: _native.Live, folder: Path | None) -> tuple[dict[str, Any], OSError | None]:
    analysis, seen, unwritten = live.finish()
    error = None if unwritten is None else OSError(unwritten)
    found: dict[str, Any] = formats.loads(analysis.text())
    found["recording"] = {**seen, "folder": None if folder is None else str(folder)}
    if folder is not None and error is None:
        try:
            whole.replace(folder / "analysis.json", whole.document(found))
        except OutputError as failed:
            error = failed
    return found, error


@contextmanager
def _line(*, quiet: bool) -> Iterator[Any]:
    """Return a function that shows progress: on a terminal one line in place, else one line a minute for a log."""
    if quiet:
        yield lambda _text: None
    elif sys.stderr.isatty():
        with Screen(console=stderr(), transient=True, refresh_per_second=4) as screen:
            yield lambda text: screen.update(Text(text))
    else:
        last = [0.0]

        def log(text: str) -> None:
            if time.monotonic() - last[0] >= LOG_SECONDS:
                last[0] = time.monotonic()
                say(text)

        yield log


LOG_SECONDS = 60.0


def _told(interface: str, seen: _native.Progress, seconds: float) -> str:
    parts = [
        f"{interface} {int(seconds) // 60}:{int(seconds) % 60:02}",
        f"{seen['packets']:,} packets",
        f"{seen['bytes'] / 1e6:,.1f} MB",
        f"{seen['dropped']:,} dropped",
        f"{seen['flows']:,} flows",
        f"{seen['games']} {'game' if seen['games'] == 1 else 'games'}",
    ]
    if seen["files"]:
        parts.append(f"file {seen['files']}")
    if seen["put_together"]:
        parts.append(
            f"{seen['put_together']:,} merged by offloading (avoid: `ethtool -K {interface} gro off gso off tso off`)"
        )
    return ", ".join(parts)


def _seconds(option: str, text: str) -> float:
    seconds = parse(text, "s")
    if seconds is None or seconds <= 0:
        raise UsageError(
            f"{option} {text}: not a time above 0\n  allowed: a number with ms, s, min, h or d, for example 10min"
        )
    return seconds


def _bytes(option: str, text: str, least: int) -> int:
    size = parse(text, "B")
    if size is None or size < least:
        raise UsageError(
            f"{option} {text}: not a size of {least // 1024}KiB or more\n"
            "  allowed: a number with B, KiB, MiB or GiB, for example 100MiB"
        )
    return int(size)
