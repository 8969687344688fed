#!/usr/bin/env python3
"""175 thin streams over a long lossy path, direct and through pairs, all ways at once over the same link. Needs root.

usage: bench/proxy/lossy.py BINARIES [--loss 0.01] [--delay-ms 100] [--seconds 60] [--streams 175] [--rate 1.15]

Two network namespaces are joined by a user-space link over tun devices (after the link of the captures' README): a delay each
way, independent loss each way, order kept, no rate limit. It counts packets and bytes by way. The load's echo makes each
message cross the link twice, so times are round trips: what a player waits for an answer.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SPACES = ("glm-far", "glm-near")
ADDRESSES = ("10.79.9.1", "10.79.9.2")
NEW_NETWORK = 0x40000000
TUNSETIFF = 0x400454CA
TUN_WITHOUT_HEADER = 0x1001
WAYS = {
    "direct": None,
    "1 TCP carrier": "carriers = 1\n",
    "4 TCP carriers": "carriers = 4\n",
    "1 TCP carrier, 20 ms together": 'carriers = 1\n[coalescing]\ndeadline = "20ms"\n',
    "2 TCP carriers, repeats at half an RTT": "carriers = 2\n[repeat]\nafter = 0.5\n",
    "1 QUIC carrier": 'carriers = 1\ntransport = "quic"\n',
}


def sh(*words: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([*map(str, words)], check=True, stdout=subprocess.DEVNULL)


class Link(threading.Thread):
    """Delays and drops packets between the two namespaces, and counts them by the port of the far end."""

    def __init__(self, delay: float, loss: float) -> None:
        super().__init__(daemon=True)
        self.delay, self.loss = delay, loss
        self.packets: dict[int, int] = {}
        self.bytes: dict[int, int] = {}
        self.latest = 0.0
        self.running = True
        self.ends: list[int] = []

    def run(self) -> None:
        """Pass packets on until told to stop."""
        libc = ctypes.CDLL(None, use_errno=True)
        for space, name in zip(SPACES, ("glm0", "glm1"), strict=True):
            with Path(f"/var/run/netns/{space}").open() as handle:  # noqa: SIM117
                if libc.setns(handle.fileno(), NEW_NETWORK) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_WITHOUT_HEADER))
            self.ends.append(end)
        dice, pending, serial = random.Random(7), [], 0
        while self.running:
            wait = pending[0][0] - time.monotonic() if pending else 0.2
            ready, _, _ = select.select(self.ends, [], [], max(0.0, wait))
            for side, end in enumerate(self.ends):
                if end not in ready:
                    continue
                for _ in range(64):
                    try:
                        packet = os.read(end, 65536)
                    except BlockingIOError:
                        break
                    self.count(side, packet)
                    if dice.random() >= self.loss:
                        serial += 1
                        heapq.heappush(pending, (time.monotonic() + self.delay, serial, 1 - side, packet))
            while pending and pending[0][0] <= time.monotonic():
                due, _, side, packet = heapq.heappop(pending)
                self.latest = max(self.latest, time.monotonic() - due)
                os.write(self.ends[side], packet)

    def count(self, side: int, packet: bytes) -> None:
        """Count a packet for the way whose far port it has."""
        at = (packet[0] & 15) * 4 + (0 if side == 0 else 2)
        port = int.from_bytes(packet[at : at + 2], "big")
        self.packets[port] = self.packets.get(port, 0) + 1
        self.bytes[port] = self.bytes.get(port, 0) + len(packet)


def main() -> None:
    """Measure all ways at once and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--delay-ms", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--streams", type=int, default=175)
    parser.add_argument("--rate", type=float, default=1.15)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        for space in SPACES:
            sh("ip", "netns", "add", space)
            stack.callback(subprocess.run, ["ip", "netns", "del", space], check=False)
            sh("ip", "-n", space, "link", "set", "lo", "up")
        link = Link(arguments.delay_ms / 1e3, arguments.loss)
        link.start()
        while len(link.ends) < len(SPACES):
            time.sleep(0.05)
        for index, space in enumerate(SPACES):
            sh("ip", "-n", space, "addr", "add", ADDRESSES[index], "peer", ADDRESSES[1 - index], "dev", f"glm{index}")
            sh("ip", "-n", space, "link", "set", f"glm{index}", "up")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = measure(arguments, folder, stack, link)
        link.running = False
        link.join()
    report(arguments, link, ports)


def measure(
    arguments: argparse.Namespace, folder: Path, stack: contextlib.ExitStack, link: Link
) -> dict[str, tuple[int, dict[str, object]]]:
    """Run every way and return its far port and what its load told."""

    def start(space: int, *words: object) -> None:
        process = subprocess.Popen(
            ["ip", "netns", "exec", SPACES[space], *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)

    program, tool = arguments.binaries / "gamelane-proxy", arguments.binaries / "examples/load"
    sh(program, "certificates", folder)
    start(0, tool, "echo", f"{ADDRESSES[0]}:7000")
    targets = {}
    for number, (way, keys) in enumerate(WAYS.items()):
        far_port = 7000 + number
        targets[way] = (far_port, f"{ADDRESSES[0]}:7000" if keys is None else f"127.0.0.1:{far_port}")
        if keys is None:
            continue
        for end, addresses in (
            ("far", f'listen = "{ADDRESSES[0]}:{far_port}"\nserver = "{ADDRESSES[0]}:7000"\n'),
            ("near", f'listen = "127.0.0.1:{far_port}"\nfar = "{ADDRESSES[0]}:{far_port}"\n'),
        ):
            table = f'[tls]\ncertificate = "{end}.pem"\nkey = "{end}.key"\nauthority = "authority.pem"\n'
            file = folder / f"{end}{number}.toml"
            file.write_text(addresses + keys + table)
            start(int(end == "near"), program, end, file)
    time.sleep(3)
    loads = {}
    for way, (_, target) in targets.items():
        words = [tool, "run", target, "--streams", arguments.streams, "--rate", arguments.rate]
        words += ["--seconds", arguments.seconds]
        command = ["ip", "netns", "exec", SPACES[1], *map(str, words)]
        loads[way] = subprocess.Popen(command, stdout=subprocess.PIPE)
    told = {way: json.loads(load.communicate()[0]) for way, load in loads.items()}
    return {way: (targets[way][0], told[way]) for way in WAYS}


def report(arguments: argparse.Namespace, link: Link, ports: dict[str, tuple[int, dict[str, object]]]) -> None:
    """Print the table."""
    print(
        f"{arguments.streams} streams, {arguments.delay_ms:g} ms each way, loss {arguments.loss:g} each way; "
        f"the link was late by {link.latest * 1e3:.1f} ms at most"
    )
    direct = ports["direct"][0]
    for way, (port, told) in ports.items():
        trips = told["round_trip_us"]
        shown = "  ".join(f"{name} {trips[name] / 1e3:7.1f}" for name in ("p50", "p99", "p999"))
        packets = 1 - link.packets[port] / link.packets[direct]
        size = 1 - link.bytes[port] / link.bytes[direct]
        print(
            f"{way:<40} {shown} ms   packets {link.packets[port]:>7} saved {packets:6.1%}   "
            f"bytes {link.bytes[port]:>9} saved {size:6.1%}   failed {told['failed']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
