"""Modules of a Debian kernel, in the order in which they load, without their signatures.

An emulated processor would take 0.1 s to check each signature. Debian's kernel loads modules without one.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gamelane.errors import LabError

DEPENDS = re.compile(rb"\0depends=([\w,-]*)\0")
SIGNED = b"~Module signature appended~\n"
TRAILER = 12
"""Bytes of `struct module_signature`. The last four are the length of the signature."""
LARGEST = 16 << 20
"""No module is larger, in bytes."""


def in_order(tree: Path, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the wanted modules below `tree` and what they depend on, each after its own. Others are left out."""
    paths = {_name(path): path for path in tree.rglob("*.ko*")}
    done: set[str] = set()

    def with_needed(name: str) -> Iterator[tuple[str, bytes]]:
        if name in done or name not in paths:
            return
        done.add(name)
        data = _unsigned(_unpacked(paths[name]))
        found = DEPENDS.search(data)
        for needed in found[1].decode().split(",") if found else ():
            yield from with_needed(needed.replace("-", "_"))
        yield name, data

    for name in wanted:
        yield from with_needed(name)


def _name(path: Path) -> str:
    return path.name.split(".", 1)[0].replace("-", "_")


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".ko":
        return data
    if path.suffix != ".xz":
        raise LabError(f"{path}: modules packed in this way are not supported\n  allowed: .ko, .ko.xz")
    return lzma.LZMADecompressor().decompress(data, LARGEST)


def _unsigned(data: bytes) -> bytes:
    if not data.endswith(SIGNED):
        return data
    end = len(data) - len(SIGNED)
    length = int.from_bytes(data[end - 4 : end], "big")
    return data[: end - TRAILER - length] if length < end - TRAILER else data
