"""User-Mode-Linux with time travel: a kernel as one process. Time jumps to the next timer, and a CPU takes none.

See `Documentation/virt/uml/user_mode_linux_howto_v2.rst` in Linux, and `time-travel=` there. A loop that polls the
clock without sleeping hardly moves it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gamelane.errors import LabError
from gamelane.guest.config import Config
from gamelane.guest.kinds import SCRIPT
from gamelane.lab.kernel.available import Available

VARIABLE = "GAMELANE_UML"
NAME = "linux.uml"
MEMORY_MIB = 4096
"""Memory of a guest. The host gives it pages as they are used."""
BEGINS_S = 1_700_000_000
"""Wall clock of a guest when it boots, Unix time. It is always the same, so that runs repeat."""
MOUNT = "/mnt"
"""Where a guest sees the folder that it may change. Every Linux has this folder (FHS 3.0, 3.12)."""
HERE = "/proc/self/cwd"
"""The working directory of the process, as a guest sees it before it has a `/proc` of its own."""
OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"


def cache() -> Path:
    """Return the folder of what gamelane builds on this machine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gamelane"


@dataclass(frozen=True)
class UserModeLinux:
    """A built kernel."""

    path: Path
    virtual_time: bool = True

    @classmethod
    def find(cls) -> UserModeLinux:
        """Return the kernel that `GAMELANE_UML` names, or the one in the cache; raise `LabError` if there is none."""
        named = os.environ.get(VARIABLE)
        path = Path(named) if named else cache() / NAME
        if not os.access(path, os.X_OK):
            raise LabError(
                f"--vm: no kernel for guests at {path}\n  hint:    `gamelane doctor --build-kernel` builds one"
            )
        return cls(path)

    @cached_property
    def label(self) -> str:
        """Kind and version."""
        return f"User-Mode-Linux {self._version}"

    @cached_property
    def _version(self) -> str:
        """Return the version: `linux.uml --version` prints it."""
        said = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=False, timeout=10)
        return said.stdout.strip() or "of unknown version"

    @cached_property
    def _config(self) -> Config:
        """The configuration beside it."""
        return Config(self.path.with_name(f"{self.path.name}.config"))

    @property
    def congestion_controls(self) -> Sequence[str]:
        """The congestion controls of its TCP."""
        return self._config.congestion_controls

    @property
    def available(self) -> Available:
        """What the engine `kernel` finds in its kernel."""
        return self._config.available

    def command(self, seed: int) -> Sequence[str]:  # noqa: ARG002 - the seed is a variable of the process
        """Return the words that boot it. The console is standard output.

        They are the same for every run: the kernel mixes its command line into its chance.
        """
        return (
            str(self.path),
            f"mem={MEMORY_MIB}M",
            "rootfstype=hostfs",
            "root=/dev/root",
            "ro",
            "time-travel=inf-cpu",
            f"time-travel-start={BEGINS_S}000000000",
            "uml_dir=./",
            "con=none",
            "con0=fd:0,fd:1",
            "quiet",
            "panic=-1",
            "init=/bin/sh",
            "--",
            f"{HERE}/{SCRIPT}",
        )

    def environment(self, seed: int) -> dict[str, str]:
        """Return variables of the process itself: its memory is a file, in memory if there is room."""
        return {**os.environ, "TMPDIR": _roomy(), "GAMELANE_SEED": str(seed)}

    def script(self, folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> str:
        """Return the script of the first process."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
        return (
            "mount -t proc proc /proc\nmount -t sysfs sysfs /sys\nmount -t devtmpfs devtmpfs /dev\n"
            "mkdir -p /dev/shm\nmount -t tmpfs tmpfs /dev/shm\nmount -t tmpfs tmpfs /run\n"
            f"mount -t hostfs none {MOUNT} -o {shlex.quote(str(folder))}\n"
            f"{exports}export TMPDIR={MOUNT}\ncd {MOUNT}\n"
            f"{shlex.join(words)} </dev/null\n"
            f"{shlex.quote(sys.executable)} -c {shlex.quote(OFF)}\n"
        )

    def pack(self, folder: Path, needed: Sequence[Path]) -> None:
        """Do nothing: it sees the host's files."""

    def unpack(self, folder: Path) -> None:
        """Do nothing: it writes to the host's folder."""


def _roomy() -> str:
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= MEMORY_MIB << 20:
        return str(shared)
    return tempfile.gettempdir()
