"""The kinds of guests. So far there is one, `uml.UserModeLinux`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

SCRIPT = "init.sh"


class Guest(Protocol):
    """A kernel that runs as a process, and sees the files of the host."""

    @property
    def label(self) -> str:
        """What results say about it: kind and version."""

    @property
    def congestion_controls(self) -> Sequence[str]:
        """TCP congestion controls of its kernel, by the kernel's names."""

    @property
    def queues(self) -> Sequence[str]:
        """Queue disciplines of its kernel, by the kernel's names."""

    def command(self) -> Sequence[str]:
        """Return the words that boot it, in the folder of the case.

        Its first process runs `SCRIPT` of that folder, and prints to standard output.
        """

    def environment(self, seed: int) -> dict[str, str]:
        """Return the variables of its own process. Chance in the guest follows `seed`."""

    def script(self, folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> str:
        """Return the script: makes `folder` writable, runs `words` in it, and switches the guest off."""
