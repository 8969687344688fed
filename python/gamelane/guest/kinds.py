"""The kinds of guests: `uml.UserModeLinux` and `qemu.Qemu`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gamelane.lab.kernel.available import Available

SCRIPT = "init.sh"


class Guest(Protocol):
    """A kernel that runs as a process."""

    @property
    def label(self) -> str:
        """What results say about it: kind and version."""

    @property
    def congestion_controls(self) -> Sequence[str]:
        """TCP congestion controls of its kernel, by the kernel's names."""

    @property
    def available(self) -> Available:
        """What the engine `kernel` finds in its kernel."""

    @property
    def virtual_time(self) -> bool:
        """Whether its clock jumps to the next timer instead of waiting: timers are never late."""

    def command(self, seed: int) -> Sequence[str]:
        """Return the words that boot it, in the folder of the case. Chance in the guest follows `seed`.

        Its first process runs `SCRIPT` of that folder, and prints to standard output.
        """

    def environment(self, seed: int) -> dict[str, str]:
        """Return the variables of its own process. Chance in the guest follows `seed`."""

    def script(self, folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> str:
        """Return the script: makes `folder` writable, runs `words` in it, and switches the guest off."""

    def pack(self, folder: Path, needed: Sequence[Path]) -> None:
        """Give it `folder`, which has its script by now, and the files `needed` besides, if it does not see them.

        These are gamelane's programs and the files that the scenario names.
        """

    def unpack(self, folder: Path) -> None:
        """Bring what it wrote into `folder`, if it did not write there itself. Its bytes are not to be trusted."""
