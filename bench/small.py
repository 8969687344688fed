"""What a program costs a router: size, time to start, and the gateway's memory with many flows.

Needs root and iproute2: `python -m bench.small FOLDER` with the programs of an archive of `make dist`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.gateway import clean, end, gateway, kernel, network, unkernel

STARTS = 21
FLOWS = 50_000
PACKETS_A_FLOW = 4
SEND = f"""
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for turn in range({PACKETS_A_FLOW}):
    for flow in range({FLOWS}):
        out.sendto(b"x" * 60, ("10.78.0.2", 1024 + flow))
        if flow % 100 == 0:
            time.sleep(0.005)
"""


def starts_ms(program: Path) -> float:
    """Median time from start to end of `--version`."""
    took = []
    for _ in range(STARTS):
        began = time.monotonic()
        subprocess.run([program, "--version"], stdout=subprocess.DEVNULL, check=True)
        took.append(time.monotonic() - began)
    return 1000 * statistics.median(took)


def memory_mb(pid: int) -> float:
    """Peak memory of a process."""
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1000


QUEUES = {"user": "fq_codel", "kernel": "fifo"}
"""A queue for each engine that any kernel has."""


def with_flows(program: Path, engine: str) -> tuple[float, float]:
    """Peak memory of the gateway before traffic, and after packets of all flows."""
    network()
    if engine != "user":
        kernel(None)
    queue = f'{{ queue = "{QUEUES[engine]}" }}'
    running = gateway(str(program), f'shape = "50mbit"\nup = {queue}\ndown = {queue}', "--engine", engine)
    try:
        before = memory_mb(running.pid)
        subprocess.run(["ip", "netns", "exec", "glbh", sys.executable, "-c", SEND], check=True, timeout=300)
        time.sleep(2)
        return before, memory_mb(running.pid)
    finally:
        end(running)
        if engine != "user":
            unkernel()
        clean()


def main(folder: Path) -> None:
    """Print the tables."""
    print(f"{'program':20}{'MB':>6}{'start, ms':>11}")
    for program in sorted(folder.glob("gamelane-*")):
        print(f"{program.name:20}{program.stat().st_size / 1e6:6.2f}{starts_ms(program):11.1f}", flush=True)
    print(f"\n{'gateway, ' + format(FLOWS, ',') + ' flows':24}{'before, MB':>11}{'after, MB':>11}")
    for engine in ("user", "kernel"):
        before, after = with_flows(folder / "gamelane-gateway", engine)
        print(f"{'engine ' + engine:24}{before:11.1f}{after:11.1f}", flush=True)


if __name__ == "__main__":
    clean()
    main(Path(sys.argv[1]))
