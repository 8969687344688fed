"""A small Debian without a compiler. What `make dist` built is installed in it, without a network."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from gamelane.guest.uml import cache
from tests.needs import lacking

ROOT = Path(__file__).parents[2]
DIST = Path(os.environ.get("GAMELANE_DIST", ROOT / "dist"))
MACHINE = platform.machine()
RELEASE, PYTHON = "bookworm", "3.11"


def made(pattern: str) -> Path:
    """Return the file in `dist/` with such a name, of this commit."""
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    commit = DIST / "COMMIT"
    if not commit.exists() or commit.read_text() != head:
        lacking(f"{DIST} is not of this commit: `make dist` builds it")
    found = list(DIST.glob(pattern))
    if len(found) != 1:
        lacking(f"{DIST} has {len(found)} files {pattern}: remove {DIST}, and `make dist`")
    return found[0]


def download(wheel: Path, folder: Path) -> None:
    """Fetch a wheel's dependencies into a folder, as wheels for the small Debian."""
    platforms = [f"--platform=manylinux{each}_{MACHINE}" for each in ("2014", "_2_17", "_2_27", "_2_28")]
    words = ["download", "-q", "--only-binary=:all:", f"--python-version={PYTHON}", *platforms, "-d"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, *words, folder, wheel], check=True, timeout=600)


class Place:
    """The root of a system, in a folder."""

    def __init__(self, root: Path) -> None:
        if os.geteuid() != 0 or not shutil.which("unshare"):
            lacking("needs root and unshare")
        self.root = root

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command in namespaces of its own. It must end with `code`. Return what it prints."""
        own = ("--mount", "--net", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root}/proc")
        done = subprocess.run(
            ["unshare", *own, "chroot", str(self.root), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8"},
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def debian(folder: Path, packages: str) -> Place:
    """Unpack the system with some packages into a folder."""
    subprocess.run(["tar", "-xf", packed_debian(packages), "-C", folder], check=True)
    return Place(folder)


def packed_debian(packages: str) -> Path:
    """Return the system as an archive. It is fetched once."""
    kept = cache() / "roots" / f"{RELEASE}-{MACHINE}-{packages}.tar"
    if not kept.exists():
        if not shutil.which("mmdebstrap"):
            lacking("needs mmdebstrap, to make a small Debian")
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{os.getpid()}-{kept.name}")
        words = ["--quiet", "--variant=apt", f"--include={packages}", RELEASE]
        subprocess.run(["mmdebstrap", *words, partial], check=True, timeout=600)
        partial.rename(kept)
    return kept
