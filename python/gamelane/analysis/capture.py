"""Analyzes captures: the document of docs/json-schema.md, and tables in batches. Rust does the work."""

from __future__ import annotations

import os

from gamelane import _native
from gamelane.errors import UsageError, aligned

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from gzip import GzipFile
    from typing import Any, BinaryIO

    import numpy as np
    import numpy.typing as npt

    Columns = dict[str, npt.NDArray[np.generic]]
    OnBatch = Callable[[int, str, Columns], None]

STDIN = "-"
RECORDINGS = (".pcap", ".pcapng", ".cap")
PACKED = ("", ".gz", ".zst")
GZIP = b"\x1f\x8b"
BLOCK = 1 << 20
"""Bytes of two files compared at a time."""


def read(
    captures: Sequence[str],
    on_batch: OnBatch | None = None,
    *,
    interfaces: tuple[int, int] | None = None,
    words: str = "",
    flows: Sequence[int] = (),
) -> _native.Analysis:
    """Analyze captures. Tables go to `on_batch` while the captures are read.

    A folder is one recording whose files follow each other by name. Two captures are taken as the same traffic at two
    points and compared; more than two are analyzed alone. With `interfaces`, two interfaces of one capture are
    compared; the file is read once for each.
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
    paths = [(path, _files(path)) for path in captures]
    if interfaces is None:
        _refuse_twice(paths)
    if len(paths) == 2:
        paths = [_only(name, files) for name, files in paths]
    try:
        found = _native.analyze_captures(paths, on_batch, interfaces=interfaces, words=words, flows=list(flows))
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None
    if interfaces is not None and not found.problems:
        _both_there(captures[0], found.packets, interfaces)
    return found


def analyze(captures: Sequence[str], on_batch: OnBatch | None = None) -> dict[str, Any]:
    """Return the document of docs/json-schema.md, as `read`."""
    import json  # noqa: PLC0415 - loads slowly, and --json needs none

    document: dict[str, Any] = json.loads(read(captures, on_batch).text())
    return document


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


def _refuse_twice(paths: Sequence[tuple[str, list[str]]]) -> None:
    """Refuse a capture that is there twice: it has no second point, and its games would count twice."""
    for at, (name, files) in enumerate(paths):
        for earlier, others in paths[:at]:
            if len(files) == len(others) and all(map(_have_same_content, files, others)):
                both = f"{name}: the same capture was given twice" if name == earlier else ""
                raise UsageError(
                    f"{both or f'{earlier} and {name}: these are the same capture'}\n"
                    "  allowed: captures of different points, for example of the player and of the server\n"
                    f"  hint:    gamelane analyze {earlier}"
                )


def _have_same_content(file: str, other: str) -> bool:
    """Return whether two files have the same bytes, also if one of them is packed with gzip."""
    if STDIN in (file, other) or not (os.path.isfile(file) and os.path.isfile(other)):  # noqa: PTH113 - likewise
        return False
    if os.path.samefile(file, other):  # noqa: PTH121 - likewise
        return True
    import zlib  # noqa: PLC0415 - likewise

    try:
        with _unpacked(file) as first, _unpacked(other) as second:
            while (block := first.read(BLOCK)) == second.read(BLOCK):
                if not block:
                    return first.tell() > 0
    except (OSError, EOFError, zlib.error):
        return False
    return False


def _unpacked(file: str) -> BinaryIO | GzipFile:
    import gzip  # noqa: PLC0415 - likewise

    with open(file, "rb") as plain:  # noqa: PTH123 - likewise
        packed = plain.read(2) == GZIP
    return gzip.open(file) if packed else open(file, "rb")  # noqa: PTH123 - likewise


def _only(name: str, files: list[str]) -> tuple[str, list[str]]:
    if len(files) > 1:
        raise UsageError(
            f"{name}: a recording of {len(files)} files cannot be compared with another\n"
            f"  hint:    merge it into one file with `mergecap -w one.pcapng {name}/*`"
        )
    return files[0], files


def _twice(captures: Sequence[str]) -> Sequence[str]:
    if len(captures) == 1 and captures[0] != STDIN:
        return [captures[0]] * 2
    raise UsageError(
        "--interfaces: needs one capture file with both interfaces\n  hint:    two captures are compared without it"
    )


def _both_there(file: str, packets: Sequence[int], interfaces: tuple[int, int]) -> None:
    for seen, interface in zip(packets, interfaces, strict=True):
        if not seen:
            raise UsageError(
                f"--interfaces: {file} has no packet of interface {interface}\n  hint:    interfaces count from 0"
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
        log, error = _native.connection_log(capture, flow, words)
    except ValueError as error:
        raise UsageError(aligned(str(error))) from None
    if log is None:
        raise UsageError(
            f"--flow {flow}: no such flow in {capture}\n  hint:    `gamelane analyze {capture} --csv` lists them"
        )
    return log, error
