"""Coverage-guided fuzzing of each parser of outside bytes: a crash, a hang or unbounded memory is a loss."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .ledger import HERE, Tally

FUZZ = HERE.parent / "fuzz"


def targets() -> list[str]:
    """Return the names of all fuzz targets."""
    return sorted(file.stem for file in (FUZZ / "fuzz_targets").glob("*.rs"))


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Fuzz all targets in turn, each for an equal part of `seconds`."""
    if shutil.which("cargo-fuzz") is None:
        raise SystemExit("fuzz needs cargo-fuzz: rustup toolchain install nightly && cargo install cargo-fuzz")
    names = targets()
    for name in names:
        yield fuzz(name, max(1, int(seconds / len(names))), seed)


def fuzz(name: str, seconds: int, seed: int) -> Tally:
    """Fuzz one target. The search begins with the stored corpus; what it finds stays outside the repository."""
    tally = Tally("fuzz", f"`{name}`")
    found = FUZZ / "target" / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "+nightly", "fuzz", "run", name, str(found), str(FUZZ / "corpus" / name), "--"]
    limits = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=1024", f"-max_total_time={seconds}", f"-seed={seed}"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, *limits, "-print_final_stats=1"], cwd=FUZZ.parent, capture_output=True, text=True, check=False
    )
    tally.seconds = time.monotonic() - began
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    tally.add(executions=int(executions[1]) if executions else 0)
    if done.returncode:
        written = re.search(r"Test unit written to (\S+)", done.stderr)
        tally.lost.append(
            f"{name} fails on {Path(written[1]).name}" if written else done.stderr.strip().splitlines()[-1]
        )
    return tally
