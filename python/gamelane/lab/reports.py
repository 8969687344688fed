"""Reports of the lab's own applications; the kinds are those of the table `app`."""

from __future__ import annotations

import threading
from dataclasses import dataclass

CHUNK, STALL, TRANSFER = "chunk", "stall", "transfer"


@dataclass(frozen=True)
class Report:
    """A chunk, stall or transfer that ended: monotonic nanoseconds of the end, and its duration."""

    at_ns: int
    flow: int
    kind: str
    index: int
    bytes: int
    took_ns: int


class Reports:
    """Collects reports from any thread."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._reports: list[Report] = []
        self.failure: str | None = None
        """Why an application failed; None if none did."""

    def fail(self, why: str) -> None:
        """Note that an application failed."""
        self.failure = why

    def add(self, report: Report) -> None:
        """Add a report."""
        with self._lock:
            self._reports.append(report)

    def all(self) -> list[Report]:
        """Return all reports in order of time."""
        with self._lock:
            return sorted(self._reports, key=lambda report: report.at_ns)
