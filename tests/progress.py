"""Says which file of tests has finished, how many tests that were, and how long they took. Used by `make test`."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass

import pytest


@dataclass
class Done:
    """What is known of a file whose tests run."""

    tests: int = 0
    took_s: float = 0.0
    failed: int = 0


class Progress:
    """Prints a line for a file as soon as its worker goes on to another."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.terminal = terminal
        self.began = time.monotonic()
        self.files: dict[str, Done] = defaultdict(Done)
        self.now: dict[object, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file, worker = report.nodeid.split("::")[0], getattr(report, "node", None)
        before = self.now.setdefault(worker, file)
        if before != file:
            self.show(before)
            self.now[worker] = file
        if report.when == "call":
            for name, why in report.user_properties:
                self.terminal.write_line(f"        {report.nodeid}: {name}: {why}")
        done = self.files[file]
        done.took_s += report.duration
        done.failed += report.failed
        done.tests += report.when == "call" or (report.when == "setup" and not report.passed)

    def pytest_sessionfinish(self) -> None:
        for file in list(self.files):
            self.show(file)

    def show(self, file: str) -> None:
        if done := self.files.pop(file, None):
            minutes, seconds = divmod(round(time.monotonic() - self.began), 60)
            failed = f"  {done.failed} FAILED" if done.failed else ""
            self.terminal.write_line(
                f"{minutes:>3}:{seconds:02}  {file:<42} {done.tests:>8} tests {done.took_s:6.1f} s{failed}"
            )
            self.terminal.flush()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(terminal))


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """Return no dot for a test that passed."""
    if report.passed:
        return ("passed" if report.when == "call" else "", "", "")
    return None
