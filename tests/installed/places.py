"""A small Debian with Python and no compiler. What `make dist` built is installed in it, without a network."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from gamelane.guest.uml import cache
from tests.needs import lacking

DIST = Path(os.environ.get("GAMELANE_DIST", Path(__file__).parents[2] / "dist"))
MACHINE = platform.machine()
RELEASE, PYTHON = "bookworm", "3.11"
TOOLS = ("mmdebstrap", "unshare", "tar")


def made(pattern: str) -> Path:
    """Return the only file in `dist/` with such a name."""
    found = list(DIST.glob(pattern))
    if not found:
        lacking(f"{DIST}/{pattern} is missing: `make dist` builds it")
    [file] = found
    return file


class Place:
    """The root of a system, in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command in namespaces of its own. It must end with `code`. Return what it prints."""
        own = ("--mount", "--net", "--pid", "--fork", f"--mount-proc={self.root}/proc")
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


def debian(folder: Path) -> Place:
    """Unpack the system into a folder. It is fetched once."""
    if os.geteuid() != 0 or not all(map(shutil.which, TOOLS)):
        lacking(f"needs root, {', '.join(TOOLS)}")
    kept = cache() / "roots" / f"{RELEASE}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{os.getpid()}-{kept.name}")
        words = ["--quiet", "--variant=apt", "--include=python3-venv", RELEASE]
        subprocess.run(["mmdebstrap", *words, partial], check=True, timeout=600)
        partial.rename(kept)
    subprocess.run(["tar", "-xf", kept, "-C", folder], check=True)
    return Place(folder)
