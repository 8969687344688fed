"""`gamelane capture`: packets of an interface into rotating pcapng files, with a verdict at the end."""

from __future__ import annotations

import json as formats
import os
import pwd
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live as Screen
from rich.text import Text

from gamelane import _native, whole
from gamelane.analysis.capture import SCHEMA
from gamelane.analysis.capture_verdict import verdict
from gamelane.cli.talk import emit, say, stderr, stdout, writable
from gamelane.errors import LabError, OutputError, UsageError
from gamelane.quantity import parse
from gamelane.report.capture_terminal import show

OUTPUT, CANNOT_RUN = 3, 5
STEP_MS = 500
LARGEST_SNAPLEN = 262_144
SMALLEST_SNAPLEN = 64
SMALLEST_FILE = 1 << 16


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capture")(capture)


def capture(
    interface: Annotated[
        str, typer.Argument(metavar="IFACE", help="A network interface, or `any` for all.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Keep the packets there; without it they are only watched."),
    ] = None,
    filter_: Annotated[
        str, typer.Option("--filter", metavar="EXPR", help="Only packets that match, in tcpdump's language.")
    ] = "",
    snaplen: Annotated[
        int,
        typer.Option(
            min=SMALLEST_SNAPLEN,
            max=LARGEST_SNAPLEN,
            metavar="BYTES",
            help="Bytes kept of each packet. 128 keeps every header and no more of what is said.",
        ),
    ] = LARGEST_SNAPLEN,
    rotate_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Begin a new file before one grows larger: 100MiB.")
    ] = None,
    rotate_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Begin a new file when one spans this: 10min.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Keep the N latest files, remove older ones.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop after this; otherwise Ctrl-C stops.", show_default=False)
    ] = None,
    packets: Annotated[
        int | None, typer.Option("-c", "--packets", min=1, metavar="N", help="Stop after about N packets.")
    ] = None,
    promiscuous: Annotated[
        bool, typer.Option("--promiscuous", help="Packets for other machines too: behind a switch's mirror port.")
    ] = False,
    ring: Annotated[
        str, typer.Option(metavar="SIZE", help="The kernel's buffer: how far this command may fall behind.")
    ] = "32MiB",
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> int:
    """Record an interface until Ctrl-C, and say what happened to the games on it."""
    limits = Limits(packets=packets, seconds=None if duration is None else _seconds("--duration", duration))
    rotation = (
        None if rotate_size is None else _bytes("--rotate-size", rotate_size, SMALLEST_FILE),
        None if rotate_time is None else int(_seconds("--rotate-time", rotate_time) * 1e9),
        keep,
    )
    if out is None and any(each is not None for each in rotation):
        raise UsageError("--rotate-size, --rotate-time and --keep are about files\n  hint:    add -o DIR")
    live = _open(interface, snaplen, filter_, promiscuous, _bytes("--ring", ring, SMALLEST_FILE))
    drop_privileges()
    folder = None if out is None else writable(out)
    live.begin(None if folder is None else str(folder), *rotation)
    error = _record(live, interface, limits, quiet=quiet)
    found, unwritten = _finish(live, folder)
    error = error or unwritten
    if json:
        emit(found)
    else:
        show(found, stdout())
    if error is not None:
        say(f"error: {_indented(str(error))}")
    if folder is not None and not quiet:
        say(f"recorded: {folder}; `gamelane analyze {folder} -o REPORT` makes a report with plots")
    return 0 if error is None else CANNOT_RUN if isinstance(error, ConnectionError) else OUTPUT


class Limits:
    """When a recording ends by itself."""

    def __init__(self, *, packets: int | None, seconds: float | None) -> None:
        self.packets = packets
        self.until = None if seconds is None else time.monotonic() + seconds

    def reached(self, seen: _native.Progress) -> bool:
        """Whether one of them is reached."""
        return (self.packets is not None and seen["packets"] >= self.packets) or (
            self.until is not None and time.monotonic() >= self.until
        )

    def step_ms(self) -> int:
        """How long to wait for packets at most."""
        left = STEP_MS if self.until is None else 1000 * (self.until - time.monotonic())
        return max(0, min(STEP_MS, int(left)))


def drop_privileges() -> None:
    """Go on as the user who called sudo; else as who we are, without privileges.

    Only this thread and those it starts give them up, so nothing imported before may have started any.
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
        raise UsageError(_indented(str(error))) from None
    except OSError as error:
        raise LabError(_indented(str(error))) from None


def _record(live: _native.Live, interface: str, limits: Limits, *, quiet: bool) -> OSError | None:
    """Take packets until a limit, Ctrl-C or an error, which is returned: what was recorded stands."""
    began = time.monotonic()
    with _line(quiet=quiet) as line:
        try:
            while True:
                seen = live.step(limits.step_ms())
                line(_told(interface, seen, time.monotonic() - began))
                if limits.reached(seen):
                    return None
        except KeyboardInterrupt:
            return None
        except OSError as error:
            return error


def _finish(live: _native.Live, folder: Path | None) -> tuple[dict[str, Any], OSError | None]:
    text, seen, unwritten = live.finish()
    error = None if unwritten is None else OSError(unwritten)
    found: dict[str, Any] = {"schema": SCHEMA, "captures": [formats.loads(text)], "pair": None}
    found["verdict"] = verdict(found)
    found["recording"] = {**seen, "folder": None if folder is None else str(folder)}
    if folder is not None and error is None:
        try:
            whole.replace(folder / "analysis.json", whole.document(found))
        except OutputError as failed:
            error = failed
    return found, error


@contextmanager
def _line(*, quiet: bool) -> Iterator[Any]:
    """One line that changes on a terminal; elsewhere a line a minute, so that a log says that all is well."""
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
            f"{seen['put_together']:,} put together by offloading (`ethtool -K {interface} gro off gso off tso off`)"
        )
    return ", ".join(parts)


def _seconds(option: str, text: str) -> float:
    seconds = parse(text, "s")
    if seconds is None or seconds <= 0:
        raise UsageError(f"{option} {text}: not a time\n  allowed: a number with ms, s, min, h or d, e.g. 10min")
    return seconds


def _bytes(option: str, text: str, least: int) -> int:
    size = parse(text, "B")
    if size is None or size < least:
        raise UsageError(
            f"{option} {text}: not a size\n  allowed: from {least // 1024}KiB, with B, KiB, MiB or GiB, e.g. 100MiB"
        )
    return int(size)


def _indented(message: str) -> str:
    return message.replace("\nhint: ", "\n  hint:    ")
