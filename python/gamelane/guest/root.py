"""The root of a guest that does not see the host's files: Python, gamelane and the tools of the lab, all in memory.

They have the same paths as on the host. Nothing is read from the host while a case runs, so the time that a read takes
cannot change what happens in the guest.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from gamelane.errors import LabError
from gamelane.guest.cpio import Archive

TOOLS = (
    *("sh", "cat", "mkdir", "mount", "sync", "tar", "true", "insmod"),
    *("ip", "tc", "sysctl", "ethtool", "tcpdump", "unshare", "nsenter", "setpriv"),
)
"""What the lab and the guest's first script run."""
PACKAGES = {"insmod": "kmod", "ip": "iproute2", "tc": "iproute2", "sysctl": "procps"}
"""Debian packages of tools, where their names differ."""
PYTHON_PACKAGES = ("gamelane", "numpy")
"""What `gamelane.guest.inside` may import besides the standard library. Pages of the web need NumPy."""
TABLES = ("/etc/passwd", "/etc/group", "/etc/ld.so.cache", "/etc/protocols", "/etc/services")
LEFT_OUT = {
    "__pycache__",
    "test",
    "tests",
    "site-packages",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "tkinter",
    "lib2to3",
}
U32 = 0xFFFFFFFF
LIBRARY = re.compile(r"^\s+(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)


def lacking() -> str | None:
    """Return which tools are missing on this machine, and what to do; None if all are there."""
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not absent:
        return None
    packages = dict.fromkeys(PACKAGES.get(tool, tool) for tool in absent)
    return f"{', '.join(absent)} not found\n  hint:    apt-get install {' '.join(packages)}"


def search_path() -> str:
    """Return the variable `PYTHONPATH` of a guest: the folders of its packages."""
    return ":".join(dict.fromkeys(str(package.parent) for package in _packages()))


def add_to(archive: Archive, needed: Sequence[Path]) -> None:
    """Add the root and the files `needed` besides to an archive. Raise `LabError` if a tool is missing."""
    if why := lacking():
        raise LabError(f"--vm: {why}")
    binaries = [Path(sys.executable), *map(Path, filter(None, map(shutil.which, TOOLS))), *needed]
    archive.add(Path(shutil.which("sh") or "/bin/sh"), "/bin/sh")
    environment = Path(sys.prefix) / "pyvenv.cfg"
    for path in [environment, *map(Path, TABLES)]:
        if path.is_file():
            archive.add(path)
    trees = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    for tree in dict.fromkeys([*trees, *_packages()]):
        for path in _files(tree):
            archive.add(path)
            if path.suffix == ".py":
                archive.data(importlib.util.cache_from_source(str(path)), _compiled(path))
            if ".so" in path.suffixes:
                binaries.append(path)
    for path in binaries:
        archive.add(path)
    for path in _libraries(binaries):
        archive.add(path)


def _packages() -> Iterator[Path]:
    """Yield the folders of packages, and of the libraries that come with them."""
    for name in PYTHON_PACKAGES:
        found = importlib.util.find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise LabError(f"--vm: the Python package {name} is not found")
        folder = Path(found.submodule_search_locations[0])
        yield folder
        if (libraries := folder.with_name(f"{name}.libs")).is_dir():
            yield libraries


def _files(tree: Path) -> Iterator[Path]:
    """Yield the files below a folder, also of linked folders."""
    for path in sorted(tree.iterdir()):
        if path.is_dir():
            if path.name not in LEFT_OUT and not path.name.startswith("config-"):
                yield from _files(path)
        elif path.is_file():
            yield path


def _compiled(path: Path) -> bytes:
    """Return compiled Python, whether the host has compiled it yet or not: a guest would take longer without it."""
    status = path.stat()
    numbers = (0, int(status.st_mtime) & U32, status.st_size & U32)
    head = importlib.util.MAGIC_NUMBER + b"".join(number.to_bytes(4, "little") for number in numbers)
    kept = Path(importlib.util.cache_from_source(str(path)))
    if kept.is_file() and (data := kept.read_bytes()).startswith(head):
        return data
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError:  # a file for another version of Python
        return b""
    return head + marshal.dumps(code)


def _libraries(binaries: Sequence[Path]) -> list[Path]:
    """Return the shared libraries that programs and extension modules need, and the loader."""
    done = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False)
    found = {os.path.normpath(path) for path in LIBRARY.findall(done.stdout)}
    return [Path(path) for path in sorted(found)]
