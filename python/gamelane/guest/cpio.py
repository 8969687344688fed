"""Writes cpio archives in the format `newc`: Linux unpacks them into the root of a guest that has it in memory.

See `Documentation/driver-api/early-userspace/buffer-format.rst` in Linux. Archives may follow each other in one file.
Links are not written: a file that has several names is there several times.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import BinaryIO

FOLDER, PROGRAM, FILE = 0o040755, 0o100755, 0o100644
ALIGNED = 4


class Archive:
    """Writes files to an archive. Their folders come before them by themselves."""

    def __init__(self, to: BinaryIO) -> None:
        """Begin an archive at the end of `to`."""
        self._to = to
        self._names: set[PurePosixPath] = {PurePosixPath("/")}

    def folder(self, path: str | Path) -> None:
        """Add a folder; nothing if it is there."""
        self._begin(PurePosixPath(path), FOLDER, 0, b"")

    def add(self, source: Path, path: str | Path | None = None) -> None:
        """Add a file of the host, at its own path unless another is given. The first at a path stays."""
        status = source.stat()
        mode = PROGRAM if status.st_mode & 0o111 else FILE
        self._begin(PurePosixPath(path or source), mode, int(status.st_mtime), source.read_bytes())

    def data(self, path: str, data: bytes, mode: int = FILE) -> None:
        """Add a file from its content."""
        self._begin(PurePosixPath(path), mode, 0, data)

    def end(self) -> None:
        """End the archive."""
        self._write("TRAILER!!!", 0, 0, b"")

    def _begin(self, path: PurePosixPath, mode: int, mtime_s: int, data: bytes) -> None:
        if path in self._names:
            return
        self._names.add(path)
        self.folder(str(path.parent))
        self._write(str(path).lstrip("/"), mode, mtime_s, data)

    def _write(self, name: str, mode: int, mtime_s: int, data: bytes) -> None:
        spelled = name.encode() + b"\0"
        inode, links, owner, device, check = len(self._names), 1, 0, 0, 0
        numbers = (inode, mode, owner, owner, links, mtime_s, len(data), *[device] * 4, len(spelled), check)
        self._padded(b"070701" + b"".join(b"%08X" % number for number in numbers) + spelled)
        self._padded(data)

    def _padded(self, data: bytes) -> None:
        self._to.write(data)
        self._to.write(bytes(-len(data) % ALIGNED))
