#!/usr/bin/env python3
"""An online game's players over a long lossy path, direct and through pairs, all ways at once over one link. As root.

usage: bench/proxy/lossy.py BINARIES [--loss 0.01] [--delay-ms 100] [--seconds 120] [--players 175] [-o FILE.json]

BINARIES holds `gamelane-proxy` and `examples/players`, such as target/release. The players and their messages are those
of the scenario, which the simulator would draw as well. Two network namespaces are joined by a user-space link over tun
devices (after the link of the captures' README): a delay and independent loss each way, order kept, no rate limit.
Packets are counted by way, handshakes and acknowledgements included, with 14 B of Ethernet each as griwodz2006's table
has them. A delay is one way, from the server's write to the player having the whole message.
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
SCENARIO = Path(__file__).parents[2] / "scenarios/griwodz2006.toml"
ADDRESSES = ("10.79.9.1", "10.79.9.2")
NEW_NETWORK = 0x40000000
TUNSETIFF = 0x400454CA
TUN_WITHOUT_HEADER = 0x1001
ETHERNET = 14
TOGETHER = '[coalescing]\ndeadline = "{}"\n[timeouts]\nacknowledge = "2s"\n'
REPEAT = "[repeat]\nafter = {}\n"
WAYS = {
    "direct": None,
    "1 TCP": "carriers = 1\n",
    "1 TCP, 20 ms of company": "carriers = 1\n" + TOGETHER.format("20ms"),
    "1 TCP, 50 ms of company": "carriers = 1\n" + TOGETHER.format("50ms"),
    "4 TCP": "carriers = 4\n",
    "1 QUIC": 'carriers = 1\ntransport = "quic"\n',
    "1 QUIC, 50 ms of company": 'carriers = 1\ntransport = "quic"\n' + TOGETHER.format("50ms"),
    "2 TCP, repeats at 0.5 RTT": "carriers = 2\n" + REPEAT.format(0.5),
    "2 TCP, repeats at 1.25 RTT": "carriers = 2\n" + REPEAT.format(1.25),
    "1 QUIC, repeats at 0.5 RTT": 'carriers = 1\ntransport = "quic"\n' + REPEAT.format(0.5),
    "1 QUIC, repeats at 1.25 RTT": 'carriers = 1\ntransport = "quic"\n' + REPEAT.format(1.25),
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
        # Late packets would be the link's, not the path's.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
        libc = ctypes.CDLL(None, use_errno=True)
        for space, name in zip(SPACES, ("glm0", "glm1"), strict=True):
            with Path(f"/var/run/netns/{space}").open() as handle:
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
        self.bytes[port] = self.bytes.get(port, 0) + len(packet) + ETHERNET


def main() -> None:
    """Measure all ways at once and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--delay-ms", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--players", type=int, default=175)
    parser.add_argument("--scenario", type=Path, default=SCENARIO)
    parser.add_argument("--ways", help="only these, by their numbers from 0: 0,1,5")
    parser.add_argument("-o", type=Path, help="write JSON here")
    arguments = parser.parse_args()
    if arguments.ways:
        chosen = {int(number) for number in arguments.ways.split(",")}
        for number, way in enumerate(list(WAYS)):
            if number not in chosen:
                del WAYS[way]
    # Everything is measured beside whatever else the machine does.
    with contextlib.suppress(PermissionError):
        os.nice(-15)
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
        ports = measure(arguments, folder, stack)
        link.running = False
        link.join()
    report(arguments, link, ports)


def measure(
    arguments: argparse.Namespace, folder: Path, stack: contextlib.ExitStack
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

    program, tool = arguments.binaries / "gamelane-proxy", arguments.binaries / "examples/players"
    sh(program, "certificates", folder)
    start(0, tool, "serve", arguments.scenario, f"{ADDRESSES[0]}:7000", "--seconds", arguments.seconds)
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
        words = [tool, "join", target, "--players", arguments.players]
        command = ["ip", "netns", "exec", SPACES[1], *map(str, words)]
        loads[way] = subprocess.Popen(command, stdout=subprocess.PIPE)
        # The same message at the same instant on every way would be a burst that no path has.
        time.sleep(0.37)
    told = {way: json.loads(load.communicate()[0]) for way, load in loads.items()}
    return {way: (targets[way][0], told[way]) for way in WAYS}


def report(arguments: argparse.Namespace, link: Link, ports: dict[str, tuple[int, dict[str, object]]]) -> None:
    """Print the table."""
    print(
        f"{arguments.players} players of {arguments.scenario.stem}, {arguments.seconds:g} s, "
        f"{arguments.delay_ms:g} ms each way, loss {arguments.loss:g} each way; "
        f"the link was late by {link.latest * 1e3:.1f} ms at most"
    )
    direct = ports[next(iter(ports))][0]
    rows = []
    for way, (port, told) in ports.items():
        saved = {
            "packets": 1 - link.packets[port] / link.packets[direct],
            "bytes": 1 - link.bytes[port] / link.bytes[direct],
        }
        rows.append({"way": way, "packets": link.packets[port], "bytes": link.bytes[port], "saved": saved, **told})
        delays = told["delivery_ms"]
        players = told["delivery_ms_by_player"]["p99"]
        shown = "  ".join(f"{name} {delays[name]:7.1f}" for name in ("p50", "p99", "p999"))
        print(
            f"{way:<28} {shown} ms   p99 of the median, worst player {players['median_player']:6.1f} "
            f"{players['worst_player']:7.1f}   packets {link.packets[port]:>7} {saved['packets']:6.1%}   "
            f"bytes {link.bytes[port]:>9} {saved['bytes']:6.1%}   messages {told['messages']} failed {told['failed']}",
            flush=True,
        )
    if arguments.o:
        head = {"loss": arguments.loss, "delay_ms": arguments.delay_ms, "seconds": arguments.seconds}
        arguments.o.write_text(json.dumps(head | {"link_late_ms": link.latest * 1e3, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
