"""The results of all campaigns: one line of JSON per subject and run in `ledger.jsonl`, and the table made of them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
LEDGER = HERE / "ledger.jsonl"
DOCUMENT = HERE.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- campaigns: make campaigns -->\n", "<!-- end of campaigns -->\n"


@dataclass
class Tally:
    """What a campaign did to one subject in one run.

    `counts` has the unit as its key ("executions", "kills"). `lost` has one sentence for each failure, with what
    repeats it. An entry here is a bug: it stays in the ledger, and `mended` names the fix. `measured` has figures
    of this run that have no sum, such as memory; they are not in the table.
    """

    campaign: str
    subject: str
    counts: dict[str, int] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    mended: str = ""
    seconds: float = 0.0
    seed: int = 0
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    commit: str = ""
    machine: str = field(default_factory=lambda: f"{os.cpu_count()} cores, Linux {platform.release()}")

    def add(self, **counts: int) -> None:
        """Add to the counts. An underscore becomes a space: `add(frames_mutated=3)`."""
        for unit, count in counts.items():
            name = unit.replace("_", " ")
            self.counts[name] = self.counts.get(name, 0) + count

    def write(self, ledger: Path = LEDGER) -> None:
        """Append this run as one line, with the commit it ran on."""
        self.commit = self.commit or revision()
        with ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self)) + "\n")


class LackingError(Exception):
    """A campaign needs something that this machine does not have, with the command that installs it."""


def revision() -> str:
    """Return the short commit, with `+` if the work tree differs from it."""
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def read(ledger: Path = LEDGER) -> list[Tally]:
    """Return all runs in the order in which they were written."""
    return [Tally(**json.loads(line)) for line in ledger.read_text(encoding="utf-8").splitlines() if line]


def table(tallies: Iterable[Tally]) -> str:
    """Return one row of Markdown per campaign and subject, with the sums of all runs."""
    groups: dict[tuple[str, str], list[Tally]] = defaultdict(list)
    for tally in tallies:
        groups[tally.campaign, tally.subject].append(tally)
    rows = ["| campaign | subject | done | minutes | lost |", "| --- | --- | --- | ---: | --- |"]
    for (campaign, subject), runs in sorted(groups.items()):
        total = Tally(campaign, subject)
        for run in runs:
            total.add(**run.counts)
        done = ", ".join(f"{count:,} {unit}" for unit, count in total.counts.items())
        minutes = sum(run.seconds for run in runs) / 60
        rows.append(f"| {campaign} | {subject} | {done} | {minutes:,.0f} | {losses(runs)} |")
    return "\n".join(rows) + "\n"


def losses(runs: list[Tally]) -> str:
    """Return the last cell of a row: what is lost still, and how many failures were mended."""
    found = sum(len(run.lost) for run in runs if run.mended)
    remains = [text for run in runs if not run.mended for text in run.lost]
    words = "; ".join(remains) if remains else "nothing"
    return f"{words} ({found} found and mended)" if found else words


def document() -> str:
    """Return docs/reliability.md with the table of today's ledger."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table(read())}\n{END}{after}"
