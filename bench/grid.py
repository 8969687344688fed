"""The grid of collom2016 as one command: wall time, CPU time, memory, and whether cost is linear.

usage: bench/grid.py [QUICK]     QUICK makes every eighth run only
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
GAMELANE = ROOT / ".venv" / "bin" / "gamelane"
SWEEP = ROOT / "sweeps" / "collom2016.toml"


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    made: int


def main() -> None:
    """Measure and print."""
    share = 8 if "QUICK" in sys.argv[1:] else 1
    with tempfile.TemporaryDirectory(prefix="gamelane-grid-") as folder:
        place = Path(folder)
        start = _measure(place / "start", SWEEP, "--part", "1/2000")
        rows = [("the whole grid", _measure(place / "whole", SWEEP, "--part", f"1/{share}"))]
        rows += [(f"1/{of} of it", _measure(place / f"part{of}", SWEEP, "--part", f"1/{of * share}")) for of in (2, 4)]
        half = place / "half.toml"
        half.write_text(SWEEP.read_text() + '\n[set]\n"duration" = "30s"\n')
        rows.append(("30 s instead of 60 s", _measure(place / "half", half, "--part", f"1/{share}")))
    cores = len(os.sched_getaffinity(0))
    print(f"grid of collom2016, {cores} cores, load before {os.getloadavg()[2]:.1f}")
    print(f"starting the command, checking 1120 combinations, {start.made} of their runs: {start.cpu_s:.2f} s of CPU\n")
    print(f"{'':22}{'runs made':>10}{'wall s':>9}{'CPU s':>9}{'CPU ms a run':>14}{'peak MiB':>10}")
    for name, cost in rows:
        per_run = 1000 * (cost.cpu_s - start.cpu_s) / max(cost.made - start.made, 1)
        print(f"{name:22}{cost.made:10}{cost.wall_s:9.1f}{cost.cpu_s:9.1f}{per_run:14.1f}{cost.peak_mib:10.0f}")
    whole = rows[0][1]
    print(
        f"\nCPU over wall: {whole.cpu_s / whole.wall_s:.2f} of {cores} cores; alone on them it would take "
        f"{whole.cpu_s / cores:.0f} s"
    )
    print(f"600 s of two cores are 1200 s of CPU: {1200 / whole.cpu_s:.0f} times what it takes")


def _measure(out: Path, sweep: Path, *words: str) -> Cost:
    command = [str(GAMELANE), "sweep", str(sweep), "-o", str(out), "--no-report", "--quiet", *words]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    made = (out / "journal.jsonl").read_bytes().count(b"\n")
    return Cost(time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, made)


if __name__ == "__main__":
    main()
