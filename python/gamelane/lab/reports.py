"""What applications of the lab say of themselves, in the words of the `app` table."""

from __future__ import annotations

import threading
from dataclasses import dataclass

CHUNK, STALL, TRANSFER = "chunk", "stall", "transfer"


@dataclass(frozen=True)
class Report:
    """Something finished: monotonic nanoseconds, and how long it took."""

    at_ns: int
    flow: int
    kind: str
    index: int
    bytes: int
    took_ns: int


class Reports:
    """Takes reports from any thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._reports: list[Report] = []
        self.failure: str | None = None
        """Why an application ended that should not have."""

    def fail(self, why: str) -> None:
        """An application could not go on."""
        self.failure = why

    def add(self, report: Report) -> None:
        """Keep one."""
        with self._lock:
            self._reports.append(report)

    def all(self) -> list[Report]:
        """Return what there is, in order of time."""
        with self._lock:
            return sorted(self._reports, key=lambda report: report.at_ns)
