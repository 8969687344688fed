"""Reads a kernel's configuration: what the lab needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gamelane.lab.kernel.available import ALWAYS, Available

QUEUE, CONTROL, TYPES = "CONFIG_NET_SCH_", "CONFIG_TCP_CONG_", "CONFIG_DEBUG_INFO_BTF"


class Config:
    """The options that are built in or modules. None if there is no such file."""

    def __init__(self, path: Path) -> None:
        """Read `path` when it is asked."""
        self._path = path

    @cached_property
    def _options(self) -> Sequence[str]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except OSError:
            return ()
        return sorted(line[:-2] for line in lines if line.startswith("CONFIG_") and line.endswith(("=y", "=m")))

    @property
    def congestion_controls(self) -> Sequence[str]:
        """The congestion controls of its TCP."""
        return ("reno", *self._words(CONTROL))

    @property
    def available(self) -> Available:
        """What the engine `kernel` finds in it."""
        found = self._words(QUEUE)
        return Available((*ALWAYS, *found) if found else (), TYPES in self._options)

    def _words(self, prefix: str) -> list[str]:
        return [option.removeprefix(prefix).lower() for option in self._options if option.startswith(prefix)]
