"""How long a link is interrupted if its gateway is killed under `packaging/gateway/fail-open`, and when it comes back.

Needs what bench/gateway.py needs, and ping: `python -m bench.outage target/release/gamelane-gateway`. A host at home
pings the internet every 2 ms. The longest pause between two answers counts, less these 2 ms.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from bench.gateway import POLICY, clean, network, sh

TURNS = 10
EVERY_MS = 2
AWAY_S = 2.0
"""The script waits so long before it starts the gateway again."""
SCRIPT = Path(__file__).parents[1] / "packaging" / "gateway" / "fail-open"


def gateway(program: str) -> int:
    """Return the process of the gateway."""
    running = map(int, sh("ip netns pids glbg").split())
    return next(pid for pid in running if Path(f"/proc/{pid}/exe").resolve() == Path(program).resolve())


def pauses(program: str) -> tuple[float, float]:
    """Kill the gateway once; return the pauses in ms around its death and around its return."""
    words = ["-D", "-n", "-i", str(EVERY_MS / 1e3), "-w", "6", "10.78.0.2"]
    with subprocess.Popen(["ip", "netns", "exec", "glbh", "ping", *words], stdout=subprocess.PIPE, text=True) as ping:
        time.sleep(1)
        killed = time.time()
        os.kill(gateway(program), signal.SIGKILL)
        said = ping.communicate()[0]
    at = [float(each) for each in re.findall(r"^\[([\d.]+)\] \d+ bytes", said, re.MULTILINE)]
    gaps = [(after - before, before) for before, after in pairwise(at)]
    died = max(gap for gap, begin in gaps if begin < killed + AWAY_S / 2)
    returned = max(gap for gap, begin in gaps if begin >= killed + AWAY_S / 2)
    return died * 1e3 - EVERY_MS, returned * 1e3 - EVERY_MS


def main(program: str) -> None:
    """Print a row for each turn, and the medians."""
    clean()
    network()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write(POLICY.format(gateway='up = { queue = "fq_codel" }'))
        policy.flush()
        words = ["ip", "netns", "exec", "glbg", "env", f"GAMELANE_GATEWAY={program}", str(SCRIPT)]
        script = subprocess.Popen([*words, "run", "lan", "wan", policy.name], stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            print(f"{'killed, ms':>12}{'back, ms':>12}")
            rows = []
            for _ in range(TURNS):
                rows.append(pauses(program))
                print(f"{rows[-1][0]:12.0f}{rows[-1][1]:12.0f}", flush=True)
            medians = [statistics.median(column) for column in zip(*rows, strict=True)]
            print(f"{medians[0]:12.0f}{medians[1]:12.0f}  medians")
        finally:
            script.terminate()
            script.wait()
            clean()


if __name__ == "__main__":
    main(sys.argv[1])
