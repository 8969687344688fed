"""`gamelane analyze`: explains lag, loss and retransmissions in captures."""

from __future__ import annotations

import json as formats
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamelane import whole
from gamelane.analysis.capture import connection_log, keeps_whole_flows, read
from gamelane.commands.unread import told
from gamelane.errors import ExitCode, UsageError, aligned
from gamelane.terminal.talk import emit, printing, say, say_where, stdout, writable

if TYPE_CHECKING:
    from gamelane.analysis.capture_frames import TableWriter
    from gamelane.analysis.capture_paths import Found, RoundTrips

DOCUMENT = "analysis.json"
PAGE = "report.html"


def analyze(
    captures: Sequence[str],
    json: bool,
    out: Path | None,
    interfaces: str | None,
    remedies: int | None,
    shared_paths: bool,
    words: str,
    flows: Sequence[int],
    csv: bool,
    log: bool,
    quiet: bool,
) -> int:
    """Explain lag, loss and retransmissions of the games in captures, with the cause of each."""
    if log:
        return _log(captures, flows, words)
    if csv and json:
        raise UsageError("--csv and --json: both print to standard output\n  hint:    keep one of them")
    if not keeps_whole_flows(words):
        say(
            f"--filter '{words}' keeps parts of flows only: what it leaves out looks lost, so nobody is blamed\n"
            "  hint:    omit src, dst and lengths. src and dst keep one direction; host, net and port keep both"
        )
    with nullcontext() if out is None else _tables(writable(out)) as tables:
        trips = _round_trips(tables) if shared_paths else None
        pair = None if interfaces is None else _two(interfaces)
        analysis = read(captures, trips or tables, interfaces=pair, words=words, flows=flows)
        more = not analysis.unread and (remedies is not None or trips is not None)
        if json and tables is None and not more:
            analysis.print(sys.stdout.isatty())
            return told(analysis)
        found = formats.loads(analysis.text())
        if remedies is not None and more:
            _replay(found, remedies)
        tested = _share(found, trips) if trips is not None and more else None
        with printing():
            if json:
                emit(found)
            elif csv:
                _print_csv(found)
            elif any(analysis.packets) or not analysis.problems:
                _show(found, formats.dumps(found) if more else analysis.text(), detailed=bool(flows))
        page = None if tables is None else _write(tables, found, tested)
    code = told(analysis)
    hint = (
        "-o DIR adds a report with plots and tables.\n--flow ID shows one flow, and --flow ID --log all of its packets."
    )
    say_where(page, "" if json or csv or flows or code else hint, quiet=quiet)
    return code


def _tables(folder: Path) -> TableWriter:
    from gamelane.analysis.capture_frames import TableWriter  # noqa: PLC0415 - Polars loads slowly

    return TableWriter(folder)


def _round_trips(tables: TableWriter | None) -> RoundTrips:
    from gamelane.analysis.capture_paths import RoundTrips  # noqa: PLC0415 - SciPy loads slowly

    return RoundTrips(tables)


def _share(found: dict[str, Any], trips: RoundTrips) -> Found:
    from gamelane.analysis import capture_paths  # noqa: PLC0415 - SciPy loads slowly

    found["shared_paths"], tested = capture_paths.shared(found, trips)
    found["verdict"]["headline"] += " " + capture_paths.sentence(found["shared_paths"])
    return tested


def _show(found: dict[str, Any], text: str, *, detailed: bool) -> None:
    from gamelane.report.capture_terminal import show  # noqa: PLC0415 - Rich loads slowly, and --json needs none

    show(text, stdout())
    if detailed:
        from gamelane.report import flow_terminal  # noqa: PLC0415 - likewise

        for flow in found["captures"][0]["flows"]:
            flow_terminal.show(flow, stdout())


def _write(tables: TableWriter, found: dict[str, Any], tested: Found | None) -> Path:
    """Write tables, page and document together: if the document exists, the folder is complete."""
    from gamelane.analysis import capture_paths  # noqa: PLC0415 - SciPy loads slowly
    from gamelane.report.capture import page  # noqa: PLC0415 - Altair loads slowly

    with whole.Together(tables.folder, DOCUMENT, stale=(capture_paths.FILE,)) as files:
        tables.join(files)
        if tested is not None:
            capture_paths.write_table(files, tested)
        with files.file(PAGE) as partial:
            partial.write_text(page(files.staging, found, tested), encoding="utf-8")
        described = whole.document(found | {"files": files.listed()})
        with files.file(DOCUMENT) as partial:
            partial.write_text(described, encoding="utf-8")
    return tables.folder / PAGE


def _two(interfaces: str) -> tuple[int, int]:
    first, _, second = interfaces.partition(",")
    if not (first.isdecimal() and second.isdecimal()) or int(first) == int(second):
        raise UsageError(f"--interfaces {interfaces}: not two different numbers\n  allowed: A,B, for example 0,1")
    return int(first), int(second)


def _replay(found: dict[str, Any], seeds: int) -> None:
    from gamelane import capture_remedies  # noqa: PLC0415 - the simulator's SciPy loads slowly

    found["remedies"] = capture_remedies.remedies(found, seeds)
    found["verdict"]["headline"] += " " + capture_remedies.sentence(found["remedies"])


def _print_csv(found: dict[str, Any]) -> None:
    from gamelane.analysis import flow_csv  # noqa: PLC0415 - not needed otherwise

    flow_csv.write(found, sys.stdout)
    for capture in found["captures"]:
        if not capture["flows_total"]:
            say(f"{capture['file']}: {found['verdict']['headline']}")
        if left_out := capture.get("flows_left_out", {}).get("flows"):
            say(
                f"{capture['file']}: {len(capture['flows']):,} of {capture['flows_total']:,} flows; {left_out:,} with "
                "fewer packets are left out\n  hint:    choose others with --filter"
            )


def _log(captures: Sequence[str], flows: Sequence[int], words: str) -> int:
    if len(flows) != 1 or len(captures) != 1:
        raise UsageError(
            "--log needs one --flow and exactly one capture\n  hint:    gamelane analyze CAPTURE --flow 0 --log"
        )
    text, error = connection_log(captures[0], flows[0], words)
    sys.stdout.write(text)
    if error is not None:
        say(f"error: {aligned(error)}")
        return ExitCode.PARTIAL
    return 0
