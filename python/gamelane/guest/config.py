"""Reads a kernel's configuration: which queue disciplines and congestion controls it has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gamelane.lab.kernel.available import ALWAYS

QUEUE, CONTROL = "CONFIG_NET_SCH_", "CONFIG_TCP_CONG_"


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
    def queues(self) -> Sequence[str]:
        """Its queue disciplines; empty if unknown."""
        found = self._words(QUEUE)
        return (*ALWAYS, *found) if found else ()

    def _words(self, prefix: str) -> list[str]:
        return [option.removeprefix(prefix).lower() for option in self._options if option.startswith(prefix)]
