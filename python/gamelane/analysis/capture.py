"""Captures analysed: the document of docs/json-schema.md, with a verdict in words, and tables as Parquet.

Everything per packet happens in the native half; polars is loaded only where tables are written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamelane import _native
from gamelane.analysis.capture_verdict import verdict
from gamelane.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

SCHEMA = 1
STDIN = "-"


def analyze(
    captures: Sequence[str], folder: Path | None = None, *, interfaces: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Read captures and say what happened; with a folder, write a Parquet file of each table there.

    Two captures are taken for two points that saw the same traffic, and compared; with `interfaces`, so are two
    interfaces of one capture, which is read once for each.
    """
    paths = list(captures)
    if interfaces is not None:
        paths = _twice(paths)
    if paths.count(STDIN) > 1:
        raise UsageError("-: standard input can be read once only\n  hint:    give the other capture as a file")
    for path in paths:
        if path != STDIN and os.path.isdir(path):  # noqa: PTH112 - pathlib takes longer to load than most of this
            raise UsageError(f"{path}: this is a folder\n  hint:    give the captures in it, as {path}/*.pcap")
    writer = None if folder is None else _writer(folder)
    found: dict[str, Any] = {"schema": SCHEMA}
    if len(paths) == 2:
        found |= json.loads(_native.compare_captures(paths[0], paths[1], writer, interfaces))
        if interfaces is not None:
            _both_there(found, interfaces)
    else:
        found["captures"] = [
            json.loads(_native.analyze_capture(path, None if writer is None else _numbered(writer, number)))
            for number, path in enumerate(paths)
        ]
        found["pair"] = None
    found["verdict"] = verdict(found)
    if folder is not None:
        from gamelane.analysis.capture_frames import finish  # noqa: PLC0415 - polars takes long to load

        finish(folder, found)
    return found


def _twice(paths: list[str]) -> list[str]:
    if len(paths) == 1 and paths[0] != STDIN:
        return paths * 2
    raise UsageError(
        "--interfaces: one capture from a file holds both\n  hint:    two captures are compared as they are"
    )


def _both_there(found: Mapping[str, Any], interfaces: tuple[int, int]) -> None:
    for capture, interface in zip(found["captures"], interfaces, strict=True):
        if not capture["packets"] and not capture["error"]:
            raise UsageError(
                f"--interfaces: {capture['file']} has no packet of {interface}; they count from 0"
            )


def connection_log(capture: str, flow: int) -> tuple[str, str | None]:
    """Return one connection packet by packet as griwodz2006's figure 6 does, and what cut the capture short."""
    try:
        log, error = _native.connection_log(capture, flow)
    except ValueError as error:
        raise UsageError(_indented(str(error))) from None
    if log is None:
        raise UsageError(f"--connection {flow}: no such flow in {capture}\n  hint:    the table numbers them from 0")
    return log, error


def complaints(found: Mapping[str, Any]) -> list[str]:
    """What of the captures could not be read, one message each."""
    said = []
    for capture in found["captures"]:
        if error := capture["error"]:
            hint = f"\n  hint:    {error['hint']}" if error["hint"] else ""
            said.append(f"{error['message']}{hint}")
    return said


def unread(found: Mapping[str, Any]) -> bool:
    """Whether one of the captures gave nothing at all."""
    return any(capture["error"] and not capture["flows_total"] for capture in found["captures"])


Columns = Mapping[str, "npt.NDArray[np.generic]"]


def _writer(folder: Path):  # type: ignore[no-untyped-def]
    from gamelane.analysis.capture_frames import TableWriter  # noqa: PLC0415 - polars takes long to load

    return TableWriter(folder)


def _numbered(writer, number: int):  # type: ignore[no-untyped-def]
    def take(_capture: int, table: str, columns: Columns) -> None:
        writer(number, table, columns)

    return take


def _indented(message: str) -> str:
    return message.replace("\nhint: ", "\n  hint:    ")
