#!/usr/bin/env python3
"""What the simulator says of the ways that bench/proxy/lossy.py measures: one line for each carriage and loss.

usage: .venv/bin/python bench/proxy/simulated.py [--seconds 120] [--set flow.players.tcp.timer=modified …]

The scenario is griwodz2006, the players' writes are the measured ones. Bytes are of Ethernet frames, both ways.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ETHERNET = 14
WAYS = {
    "direct": [],
    "1 TCP": ["carriage=mux", "carriers=1"],
    "4 TCP": ["carriage=mux", "carriers=4"],
    "1 connection of streams": ["carriage=streams", "carriers=1"],
    "datagrams with repeats": ["carriage=datagrams"],
}


def main() -> None:
    """Run every way at every loss and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    gamelane = Path(sys.executable).with_name("gamelane")
    for loss in (0, 1, 5):
        direct = (0, 0)
        for way, keys in WAYS.items():
            command = [gamelane, "run", "griwodz2006", "--json"]
            settings = [f"duration={arguments.seconds:g}s", f"flow.players.loss={loss}%", *arguments.set]
            for key in settings + [f"flow.players.{key}" for key in keys]:
                command += ["--set", key]
            done = subprocess.run([*map(str, command)], capture_output=True, check=False)
            if done.returncode:
                sys.exit(done.stderr.decode())
            players = json.loads(done.stdout)["runs"][0]["flows"]["players"]
            packets = players["up"]["sent"] + players["down"]["sent"]
            size = players["up"]["sent_bytes"] + players["down"]["sent_bytes"] + packets * ETHERNET
            if way == "direct":
                direct = (packets, size)
            delays = players["thin"]["down"]["delivery_ms"]
            shown = "  ".join(f"{name} {delays[name]:7.1f}" for name in ("p50", "p99", "p999"))
            print(
                f"loss {loss} %  {way:<24} {shown} ms   packets {packets:>7} {1 - packets / direct[0]:6.1%}   "
                f"bytes {size:>9} {1 - size / direct[1]:6.1%}   messages {players['thin']['down']['messages']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
