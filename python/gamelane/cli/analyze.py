"""`gamelane analyze`: what really happened to the game, from captures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gamelane import whole
from gamelane.analysis.capture import analyze as read_captures
from gamelane.analysis.capture import connection_log, unread
from gamelane.cli.prompt import PARTLY, tell
from gamelane.cli.talk import say, writable
from gamelane.errors import UsageError

if TYPE_CHECKING:
    from gamelane.analysis.capture_frames import TableWriter
    from gamelane.analysis.capture_paths import Found, RoundTrips

DOCUMENT = "analysis.json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("analyze")(analyze)


def analyze(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE…",
            help="pcap or pcapng, packed with gzip or zstd or not; a folder of a recording's files; - for standard "
            "input. Two are compared: the same traffic seen at two points.",
            show_default=False,
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write report.html, JSON and tables there.")
    ] = None,
    interfaces: Annotated[
        str | None,
        typer.Option(
            "--interfaces",
            metavar="A,B",
            help="Compare two interfaces of one capture, by number from 0: a router's two sides in one file.",
        ),
    ] = None,
    remedies: Annotated[
        int | None,
        typer.Option(
            "--remedies",
            metavar="N",
            min=1,
            help="Replay the writes of thin TCP connections N times with linear timeouts, modified RTO and bundling, "
            "over the round trip and loss measured: what each would have saved.",
        ),
    ] = None,
    shared_paths: Annotated[
        bool,
        typer.Option(
            "--shared-paths",
            help="Test by round trips which TCP connections may share a path: groups, and a matrix in the report.",
        ),
    ] = False,
    connection: Annotated[
        int | None, typer.Option("--connection", metavar="ID", min=0, help="With --log: which flow, by its number.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Print one connection packet by packet, annotated.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> int:
    """Say what happened to the games of captures: who waited, what was lost, and what each wait was for."""
    if log or connection is not None:
        return _log(captures, connection, log=log)
    folder = None if out is None else writable(out)
    tables = None if folder is None else _tables(folder)
    trips = _round_trips(tables) if shared_paths else None
    pair = None if interfaces is None else _two(interfaces)
    found = read_captures(captures, trips or tables, interfaces=pair)
    if remedies is not None and not unread(found):
        _replay(found, remedies)
    tested = None
    if trips is not None and not unread(found):
        tested = _share(found, trips)
    page = None if folder is None else _write(folder, found, tested)
    return tell(found, page, json=json, quiet=quiet)


def _tables(folder: Path) -> TableWriter:
    from gamelane.analysis.capture_frames import TableWriter  # noqa: PLC0415 - polars takes long to load

    for stale in (folder / DOCUMENT, folder / "report.html"):
        stale.unlink(missing_ok=True)
    return TableWriter(folder)


def _round_trips(tables: TableWriter | None) -> RoundTrips:
    from gamelane.analysis.capture_paths import RoundTrips  # noqa: PLC0415 - statistics take long to load

    return RoundTrips(tables)


def _share(found: dict[str, Any], trips: RoundTrips) -> Found:
    from gamelane.analysis import capture_paths  # noqa: PLC0415 - statistics take long to load

    found["shared_paths"], tested = capture_paths.shared(found, trips)
    found["verdict"]["headline"] += " " + capture_paths.sentence(found["shared_paths"])
    return tested


def _write(folder: Path, found: dict[str, Any], tested: Found | None) -> Path:
    """Write tables, then the page, then the document: where that is, all is."""
    from gamelane.analysis import capture_frames, capture_paths  # noqa: PLC0415 - polars takes long to load
    from gamelane.report.capture import write_page  # noqa: PLC0415 - plots take long to load

    capture_frames.finish(folder)
    if tested is not None:
        capture_paths.write_table(folder, tested)
    page = write_page(folder, found, tested)
    whole.replace(folder / DOCUMENT, whole.document(found))
    return page


def _two(interfaces: str) -> tuple[int, int]:
    first, _, second = interfaces.partition(",")
    if not (first.isdecimal() and second.isdecimal()) or int(first) == int(second):
        raise UsageError(f"--interfaces: {interfaces!r}; allowed are two different numbers, as 0,1")
    return int(first), int(second)


def _replay(found: dict[str, Any], seeds: int) -> None:
    from gamelane.analysis import capture_remedies  # noqa: PLC0415 - the simulator's statistics take long to load

    found["remedies"] = capture_remedies.remedies(found, seeds)
    found["verdict"]["headline"] += " " + capture_remedies.sentence(found["remedies"])


def _log(captures: list[str], connection: int | None, *, log: bool) -> int:
    if not log or connection is None or len(captures) != 1:
        raise UsageError(
            "--connection and --log go together, with one capture\n"
            "  hint:    gamelane analyze CAPTURE --connection 0 --log"
        )
    text, error = connection_log(captures[0], connection)
    sys.stdout.write(text)
    if error is not None:
        message = error.replace("\nhint: ", "\n  hint:    ")
        say(f"error: {message}")
        return PARTLY
    return 0
