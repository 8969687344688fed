"""`gamelane run` with an engine that has real hosts, and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from tests.cli.command import GAMELANE

HOUSEHOLD = """
name = "two-hosts"
duration = "3s"
seed = 3
[link]
down = "12mbit"
up = "1mbit"
rtt = "40ms"
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
host = "console"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
host = "phone"
tcp = { congestion = "newreno", receive_window = "64KiB" }
"""


class Command:
    """The command with its own temporary folder, so that its leftovers differ from other tests' processes."""

    def __init__(self, folder: Path, scenario: str) -> None:
        self.place = folder / "working"
        self.place.mkdir(exist_ok=True)
        self.scenario = folder / "scenario.toml"
        self.scenario.write_text(scenario)
        self.environment = {**os.environ, "TMPDIR": str(self.place)}

    def start(self, *words: str | Path, engine: str = "lab") -> subprocess.Popen[str]:
        command = [GAMELANE, "run", str(self.scenario), "--engine", engine, *map(str, words)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, process_group=0
        )

    def run(self, *words: str | Path, engine: str = "lab") -> tuple[str, str]:
        with self.start(*words, engine=engine) as process:
            said, complaint = process.communicate(timeout=600)
        assert process.returncode == 0, complaint
        return said, complaint

    def processes(self) -> list[str]:
        """Return the command lines of its processes: those that name its folder."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.place) in line:
                    found.append(line)
        return found

    def gone(self) -> None:
        deadline = time.monotonic() + 120
        while running := self.processes():
            assert time.monotonic() < deadline, running
            time.sleep(0.05)
