"""Builds the guest kernel from Debian's source package into the cache, by `gamelane doctor --build-kernel`.

An interrupted build continues where it stopped. The kernel appears in the cache only when it is whole. Its
configuration lies beside it, with a mark of what it was made from.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from gamelane import host, whole
from gamelane.errors import LabError
from gamelane.guest.patches import PATCHES
from gamelane.guest.uml import NAME, cache

SOURCE = "linux-source-6.12"
"""Package with the source, in Debian 13 and in the backports of Debian 12."""
TOOLS = {"flex": "flex", "bison": "bison", "bc": "bc", "gcc": "gcc", "make": "make", "xz": "xz-utils"}
HEADERS = {"/usr/include/gelf.h": "libelf-dev"}
DISK_GB = 3.0
COSTS = "153 MB of download, 2 GB of disk while it builds, 7 minutes of a CPU"
FILES = 1250
"""Files that are compiled, about: for the progress."""

Progress = Callable[[str, float], None]
"""Gets what is done now, and the share of it that is done."""


def lacking() -> str | None:
    """Return why this machine cannot build the kernel, and what to do; None if it can."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return "User-Mode-Linux needs Linux on x86-64"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "the source comes from Debian's package, which needs apt-get and dpkg-deb"
    absent = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    absent += [package for header, package in HEADERS.items() if not Path(header).exists()]
    if absent:
        return f"{', '.join(absent)} not found; install with `apt-get install {' '.join(absent)}`"
    if not (cache() / WORK / PACKED).exists() and not _available():
        return f"apt knows no package {SOURCE}; run `apt-get update`, or add Debian's backports"
    free = shutil.disk_usage(_existing(cache())).free / 1e9
    return None if free >= DISK_GB else f"{DISK_GB:g} GB of free disk needed in {cache()}, {free:.1f} GB are free"


def is_current() -> bool:
    """Whether the cache has a kernel that was made from what this version makes it from."""
    config = cache() / f"{NAME}.config"
    return (cache() / NAME).exists() and config.exists() and _mark() in config.read_text(encoding="utf-8")


def build(progress: Progress) -> Path:
    """Build the kernel, and return its path. Raise `LabError` if that is impossible here."""
    if why := lacking():
        raise LabError(f"--build-kernel: {why}")
    work = cache() / WORK
    work.mkdir(parents=True, exist_ok=True)
    with _alone(work):
        packed, source = work / PACKED, work / "source"
        if not source.exists():
            if not packed.exists():
                progress("downloading the source", 0)
                _download(work, packed)
            progress("unpacking the source", 0)
            _unpack(work, packed, source)
        for patch in PATCHES:
            patch.apply(source)
        progress("configuring", 0)
        _configure(source)
        for done in _compile(source):
            progress("compiling", min(done / FILES, 1))
        path = cache() / NAME
        config = (source / ".config").read_text(encoding="utf-8")
        whole.replace(path.with_name(f"{NAME}.config"), f"{config}{_mark()}\n")
        with whole.file(path) as part:
            shutil.copy(source / "linux", part)
        shutil.rmtree(work)
    return path


def _mark() -> str:
    """Return a line that names source, options and changes."""
    made = f"{SOURCE}{_options()}{PATCHES}"
    return f"# made from {SOURCE} and {hashlib.sha256(made.encode()).hexdigest()[:16]}"


def _options() -> str:
    return resources.files("gamelane.guest").joinpath("uml.config").read_text(encoding="utf-8")


def _download(work: Path, packed: Path) -> None:
    part = work / "download"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    _run(["apt-get", "download", SOURCE], part)
    next(part.glob("*.deb")).replace(packed)
    part.rmdir()


def _unpack(work: Path, packed: Path, source: Path) -> None:
    part = work / "unpacked"
    shutil.rmtree(part, ignore_errors=True)
    _run(["dpkg-deb", "-x", str(packed), str(part)], work)
    archive = next((part / "usr/src").glob("linux-source-*.tar.xz"))
    _run(["tar", "-xf", str(archive), "--strip-components=1", "--one-top-level=tree"], part)
    (part / "tree").replace(source)
    shutil.rmtree(part)


def _configure(source: Path) -> None:
    """Make the configuration, and check that this source has every option."""
    wanted = _options()
    (source / "gamelane.config").write_text(wanted, encoding="utf-8")
    _run(["make", "-s", "ARCH=um", "allnoconfig"], source)
    _run(["scripts/kconfig/merge_config.sh", "-m", ".config", "gamelane.config"], source)
    _run(["make", "-s", "ARCH=um", "olddefconfig"], source)
    got = set((source / ".config").read_text(encoding="utf-8").splitlines())
    absent = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in got]
    if absent:
        raise LabError(f"--build-kernel: {SOURCE} does not take {', '.join(absent)}")


def _compile(source: Path) -> Iterator[int]:
    """Compile, and yield the number of files so far."""
    words = ["make", "ARCH=um", f"-j{host.cores()}", "linux"]
    log = source / "build.log"
    done = 0
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(words, cwd=source, stdout=subprocess.PIPE, stderr=errors, text=True, env=_clean()) as make,
    ):
        for line in make.stdout or ():
            done += line.lstrip().startswith("CC ")
            yield done
    if make.returncode != 0:
        raise LabError(f"--build-kernel: make failed:\n{_last(log.read_text(encoding='utf-8'))}")


def _run(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=_clean())
    if done.returncode != 0:
        raise LabError(f"--build-kernel: {words[0]} failed:\n{_last(done.stderr or done.stdout)}")


def _clean() -> dict[str, str]:
    """Return the environment without variables that would change what `make` does."""
    return {name: value for name, value in os.environ.items() if name not in ("ARCH", "MAKEFLAGS", "CFLAGS", "LDFLAGS")}


def _last(said: str) -> str:
    return "\n".join(f"  {line}" for line in said.strip().splitlines()[-8:])


def _available() -> bool:
    """Whether apt knows the package."""
    done = subprocess.run(["apt-cache", "show", SOURCE], capture_output=True, check=False)
    return done.returncode == 0 and bool(done.stdout.strip())


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Keep others from building in the same folder."""
    with work.with_name(f"{WORK}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("--build-kernel: another process is building it in this cache") from None
        yield


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


WORK = "linux.uml.build"
PACKED = "source.deb"
