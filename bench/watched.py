"""What it costs to watch Linux's queues: a kernel bridge alone and with `gamelane-gateway truth`, in turns.

Needs what bench/gateway.py needs: `python -m bench.watched target/release/gamelane-gateway`. Packets have 1500 B and no
offload joins them, so a packet costs as much as it can. The last lines are medians, and the share that watching adds.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.gateway import busy, clean, iperf, kernel, network, own, sent, unkernel

TURNS = 7
RATES = {"1 Gbit/s": "1gbit burst 125k cburst 125k", "unshaped": None}
"""Without a burst of a millisecond, HTB's timers hold 1 Gbit/s down to 650 Mbit/s."""


def measure(program: str, rate: str | None, *, watched: bool) -> tuple[float, float, float, int]:
    """Return Mbit/s, us of CPU per packet, the program's own of them, and events lost."""
    kernel(rate)
    with tempfile.NamedTemporaryFile() as said:
        words = ["ip", "netns", "exec", "glbg", program, "truth", "wan", "--down", "lan", "--json", "--user", "root"]
        running = subprocess.Popen(words, stdout=said, stderr=subprocess.DEVNULL) if watched else None
        before, own_before, packets_before = busy(), own(running.pid) if running else 0.0, sent()
        end = iperf()
        cpu, packets = busy() - before, sent() - packets_before
        own_cpu, lost = 0.0, 0
        if running:
            own_cpu = own(running.pid) - own_before
            running.terminate()
            running.wait()
            lost = json.loads(Path(said.name).read_text())["watch"]["lost"]
    unkernel()
    return end["sum_received"]["bits_per_second"] / 1e6, cpu / packets * 1e6, own_cpu / packets * 1e6, lost


def main(program: str) -> None:
    """Print the table."""
    clean()
    network()
    try:
        print(f"{'':10}{'':10}{'Mbit/s':>10}{'us/packet':>11}{'own us':>9}{'lost':>8}")
        for label, rate in RATES.items():
            rows: dict[bool, list[tuple[float, float, float, int]]] = {False: [], True: []}
            for turn in range(TURNS):
                # Which is first changes, in case the machine does.
                for watched in (turn % 2 == 0, turn % 2 == 1):
                    row = measure(program, rate, watched=watched)
                    rows[watched].append(row)
                    name = "watched" if watched else "alone"
                    print(f"{label:10}{name:10}{row[0]:10.0f}{row[1]:11.2f}{row[2]:9.2f}{row[3]:8}", flush=True)
            alone, watched_too = (
                [statistics.median(column) for column in zip(*rows[watched], strict=True)] for watched in (False, True)
            )
            less, more = (1 - watched_too[0] / alone[0]) * 100, (watched_too[1] / alone[1] - 1) * 100
            print(f"{label}: {less:.1f} % less throughput, {more:.1f} % more CPU", flush=True)
    finally:
        clean()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/gamelane-gateway")
