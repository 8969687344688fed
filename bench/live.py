"""What recording an interface costs: packets lost and processor time per packet, beside tcpdump and dumpcap.

usage: sudo .venv/bin/python bench/live.py [SECONDS]    default: 4 s of each rate and program

A pair of virtual interfaces joins two network namespaces made for this; datagrams of 100 bytes from 64 ports cross it
at paced rates, and as fast as one sender can; nobody answers them. Each program takes the other end, writes what it
sees to a file, and is measured by its own processor time, less what it takes to record nothing. `gamelane capture`
also follows every flow.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

RATES = (20_000, 50_000, 100_000, 0)
"""Packets a second; 0 is as fast as it goes."""
SEND = """
import socket, sys, time
rate, seconds, sockets, data = int(sys.argv[1]), float(sys.argv[2]), [], bytes(100)
for port in range(40000, 40064):
    sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sockets[-1].bind(("10.0.0.1", port))
count, start = 0, time.perf_counter()
while (now := time.perf_counter() - start) < seconds:
    for _ in range(max(int(now * rate) - count, 0) if rate else 1000):
        sockets[count % 64].sendto(data, ("10.0.0.3", 27960))
        count += 1
    if rate:
        time.sleep(0.001)
print(count)
"""
COMMANDS = {
    "gamelane capture": [
        str(Path(sys.executable).with_name("gamelane")), "capture", "taken", "-o", "FOLDER", "--json", "-q",
    ],
    "tcpdump": ["tcpdump", "-i", "taken", "-n", "-B", "32768", "-w", "FOLDER/a.pcap"],
    "dumpcap": ["dumpcap", "-q", "-i", "taken", "-B", "32", "-w", "FOLDER/a.pcapng"],
}  # fmt: skip


MAC = "02:00:00:00:00:02"


class Taken(NamedTuple):
    """What one recording came to."""

    sent: int
    packets: int
    dropped: int
    cpu_s: float


def main() -> None:
    """Measure and print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    ends = [f"gamelane-bench-{os.getpid()}-{end}" for end in ("from", "to")]
    print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {seconds:g} s each")
    try:
        _join(*ends)
        there = [name for name, command in COMMANDS.items() if shutil.which(command[0])]
        nothing = {name: _take(name, 0, 0.0, ends).cpu_s for name in there}
        print("nothing recorded: " + ", ".join(f"{name} {cpu_s:.2f} s" for name, cpu_s in nothing.items()))
        for rate in RATES:
            for name in there:
                _tell(name, rate, _take(name, rate, seconds, ends), nothing[name])
    finally:
        for end in ends:
            subprocess.run(["ip", "netns", "delete", end], check=False)
    print(f"load after: {os.getloadavg()[0]:.1f}")


def _join(sender: str, taker: str) -> None:
    for end in (sender, taker):
        subprocess.run(["ip", "netns", "add", end], check=True)
    pair = ["given", "type", "veth", "peer", "name", "taken", "address", MAC, "netns", taker]
    subprocess.run(["ip", "-n", sender, "link", "add", *pair], check=True)
    for end, name, address in ((sender, "given", "10.0.0.1/24"), (taker, "taken", "10.0.0.2/24")):
        subprocess.run(["ip", "-n", end, "address", "add", address, "dev", name], check=True)
        subprocess.run(["ip", "-n", end, "link", "set", name, "up"], check=True)
    subprocess.run(["ip", "-n", sender, "neigh", "add", "10.0.0.3", "lladdr", MAC, "dev", "given"], check=True)


def _take(name: str, rate: int, seconds: float, ends: list[str]) -> Taken:
    sender, taker = ends
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)  # tcpdump and dumpcap write as other users
        words = [word.replace("FOLDER", folder) for word in COMMANDS[name]]
        inside = ["ip", "netns", "exec", taker, *words]
        with (Path(folder) / "out").open("w+") as out, (Path(folder) / "err").open("w+") as err:
            process = subprocess.Popen(inside, stdout=out, stderr=err)
            try:
                time.sleep(2.0)
                send = ["ip", "netns", "exec", sender, sys.executable, "-c", SEND, str(rate), str(seconds)]
                sent = subprocess.run(send, capture_output=True, text=True, check=True)
                time.sleep(1.0)
            finally:
                process.send_signal(signal.SIGINT)
            _, _, usage = os.wait4(process.pid, 0)
            out.seek(0)
            err.seek(0)
            packets, dropped = _counts(name, out.read(), err.read())
        return Taken(int(sent.stdout), packets, dropped, usage.ru_utime + usage.ru_stime)


def _counts(name: str, out: str, err: str) -> tuple[int, int]:
    """Packets written, and those the program says it missed."""
    if name == "gamelane capture":
        recording = json.loads(out)["recording"]
        return int(recording["packets"]), int(recording["dropped"])
    if name == "tcpdump":
        found = [re.search(rf"(\d+) packets? {what}", err) for what in ("captured", "dropped by kernel")]
        packets, dropped = (int(each.group(1)) if each else -1 for each in found)
        return packets, dropped
    told = re.search(r"received/dropped on interface '\w+': (\d+)/(\d+)", err)
    return (int(told.group(1)), int(told.group(2))) if told else (-1, -1)


def _tell(name: str, rate: int, taken: Taken, nothing_s: float) -> None:
    offered = f"{rate:,}/s" if rate else "as fast as it goes"
    cpu_s = taken.cpu_s - nothing_s
    print(
        f"{offered}: {name} took {taken.packets:,} of {taken.sent:,}, dropped {taken.dropped:,}; "
        f"processor {cpu_s:.2f} s, {1e6 * cpu_s / max(taken.packets, 1):.2f} us a packet",
        flush=True,
    )


if __name__ == "__main__":
    main()
