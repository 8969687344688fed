"""Analyzes captures: the document of docs/json-schema.md, a verdict in words, and tables as Parquet.

Rust does the work per packet.
"""

from __future__ import annotations

import json
import os

from gamelane import _native
from gamelane.analysis.capture_verdict import verdict
from gamelane.errors import UsageError, aligned

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    Columns = dict[str, npt.NDArray[np.generic]]
    OnBatch = Callable[[int, str, Columns], None]

SCHEMA = 1
STDIN = "-"


RECORDINGS = (".pcap", ".pcapng", ".cap")
PACKED = ("", ".gz", ".zst")


def analyze(
    captures: Sequence[str],
    on_batch: OnBatch | None = None,
    *,
    interfaces: tuple[int, int] | None = None,
    words: str = "",
    flows: Sequence[int] = (),
) -> dict[str, Any]:
    """Analyze captures. Tables go to `on_batch` while the captures are read.

    A folder is one recording whose files follow each other by name. Two captures are taken as the same traffic at two
    points and compared. With `interfaces`, two interfaces of one capture are compared; the file is read once for each.
    `words` is a filter: the other packets are left out. `flows` are the numbers of the flows to report, of one capture.
    """
    if interfaces is not None:
        captures = _twice(captures)
    if list(captures).count(STDIN) > 1:
        raise UsageError("-: standard input can be read only once\n  hint:    give the other capture as a file")
    if flows and (len(captures) != 1 or interfaces is not None):
        raise UsageError(
            "--flow: the numbers are those of one capture\n  hint:    choose flows of two captures with --filter, for "
            "example --filter 'host 10.0.0.2 and port 27960'"
        )
    paths = [_files(path) for path in captures]
    found: dict[str, Any] = {"schema": SCHEMA}
    if len(paths) == 2:
        first, second = (_only(name, files) for name, files in zip(captures, paths, strict=True))
        found |= json.loads(_native.compare_selected(first, second, on_batch, interfaces, words))
        if interfaces is not None:
            _both_there(found, interfaces)
    else:
        found["captures"] = [
            json.loads(_one(name, paths[number], _numbered(on_batch, number), words, flows))
            for number, name in enumerate(captures)
        ]
        found["pair"] = None
    if flows:
        found["captures"][0]["flows_total"] = len(found["captures"][0]["flows"])
    found["verdict"] = verdict(found)
    return found


def _one(name: str, files: list[str], on_batch: OnBatch | None, words: str, flows: Sequence[int]) -> str:
    try:
        return _native.analyze_selected(name, files, on_batch, words, list(flows))
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None


def _files(path: str) -> list[str]:
    if path == STDIN or not os.path.isdir(path):  # noqa: PTH112 - pathlib loads slowly
        return [path]
    from pathlib import Path  # noqa: PLC0415 - likewise

    endings = tuple(kind + packing for kind in RECORDINGS for packing in PACKED)
    try:
        files = sorted(str(file) for file in Path(path).iterdir() if file.name.endswith(endings) and file.is_file())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if not files:
        raise UsageError(
            f"{path}: no captures in this folder\n  allowed: files that end in {', '.join(RECORDINGS)}, also with "
            "gzip or zstd compression"
        )
    return files


def _only(name: str, files: list[str]) -> str:
    if len(files) > 1:
        raise UsageError(
            f"{name}: a recording of {len(files)} files cannot be compared with another\n"
            f"  hint:    merge it into one file with `mergecap -w one.pcapng {name}/*`"
        )
    return files[0]


def _twice(captures: Sequence[str]) -> Sequence[str]:
    if len(captures) == 1 and captures[0] != STDIN:
        return [captures[0]] * 2
    raise UsageError(
        "--interfaces: needs one capture file with both interfaces\n  hint:    two captures are compared without it"
    )


def _both_there(found: Mapping[str, Any], interfaces: tuple[int, int]) -> None:
    for capture, interface in zip(found["captures"], interfaces, strict=True):
        if not capture["packets"] and not capture["error"]:
            raise UsageError(
                f"--interfaces: {capture['file']} has no packet of interface {interface}\n"
                "  hint:    interfaces count from 0"
            )


def keeps_whole_flows(words: str) -> bool:
    """Return whether a filter keeps all packets of a flow or none; refuse what is not a filter."""
    try:
        return _native.keeps_whole_flows(words)
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None


def connection_log(capture: str, flow: int, words: str = "") -> tuple[str, str | None]:
    """Return one connection packet by packet as griwodz2006, Fig. 6, does, and the error that ended the capture."""
    try:
        log, error = _native.log_selected(capture, flow, words)
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None
    if log is None:
        raise UsageError(
            f"--flow {flow}: no such flow in {capture}\n  hint:    `gamelane analyze {capture} --csv` lists them"
        )
    return log, error


def complaints(found: Mapping[str, Any]) -> list[str]:
    """Return a message for each part of the captures that could not be read."""
    said = []
    for capture in found["captures"]:
        for error in [capture["error"], *capture["further_errors"]]:
            if error is None:
                continue
            hint = f"\n  hint:    {error['hint']}" if error["hint"] else ""
            said.append(f"{error['message']}{hint}")
    return said


def unread(found: Mapping[str, Any]) -> bool:
    """Return whether nothing of one of the captures could be read."""
    return any(capture["error"] and not capture["flows_total"] for capture in found["captures"])


def _numbered(on_batch: OnBatch | None, number: int) -> OnBatch | None:
    if on_batch is None:
        return None

    def take(_capture: int, table: str, columns: Columns) -> None:
        on_batch(number, table, columns)

    return take
