"""In a guest with every queue: runs `gamelane-gateway truth` beside a game and uploads, and prints what both saw.

truth_guest.py PROGRAM            runs everything; one line of JSON for each queue
truth_guest.py serve|send|upload  the two ends
"""

from __future__ import annotations

import json
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

RATE = "4mbit"
SHAPED = ("pfifo limit 50", "codel", "pie", "fq_codel", "fq_pie")
ALONE = (f"cake bandwidth {RATE} besteffort", "fq_codel")
"""CAKE splits large packets. An empty FQ-CoDel lets packets pass by it."""
SHAPER = f"""
tc qdisc add dev wan root handle 1: htb default 10
tc class add dev wan parent 1: classid 1:10 htb rate {RATE}
tc qdisc add dev wan parent 1:10
"""
SETUP = """
ip netns add home; ip netns add internet
ip link add lan type veth peer name eth0 netns home
ip link add wan type veth peer name eth0 netns internet
ip link set lan up; ip link set wan up
ip addr add 10.1.0.254/24 dev lan; ip addr add 10.2.0.254/24 dev wan; sysctl -qw net.ipv4.ip_forward=1
ip -n home addr add 10.1.0.1/24 dev eth0; ip -n home link set eth0 up; ip -n home route add default via 10.1.0.254
ip -n internet addr add 10.2.0.2/24 dev eth0; ip -n internet link set eth0 up
ip -n internet route add 10.1.0.0/24 via 10.2.0.254
ip -n home link set eth0 gso_max_size 5000
ip link set lo up
"""
SERVER, GAME, UPLOAD = "10.2.0.2", 2112, 5201
SECONDS = 5.0
EVERY_S = 0.02
LATEST_S = 0.5
"""Longest wait for the last packet."""


def run(program: str) -> None:
    """Watch each queue."""
    _shell(SETUP)
    server = _start("internet", "serve")
    time.sleep(0.5)
    queues = {f"htb {words}": f"{SHAPER.rstrip()} {words}" for words in SHAPED}
    queues |= {words: f"tc qdisc add dev wan root {words}" for words in ALONE}
    for name, lines in queues.items():
        subprocess.run("tc qdisc del dev wan root", shell=True, stderr=subprocess.DEVNULL, check=False)
        _shell(lines)
        words = [
            program,
            "truth",
            "wan",
            "--down",
            "lan",
            "--seconds",
            str(int(SECONDS) + 1),
            "--json",
            "--user",
            "root",
        ]
        with Path("said").open("w") as said, Path("errors").open("w") as errors:
            watching = subprocess.Popen(words, stdout=said, stderr=errors)
            while watching.poll() is None and "watching" not in Path("errors").read_text():
                time.sleep(0.01)
            ends = [_start("home", "upload"), _start("home", "send")]
            watching.wait()
            *_, sent = [end.communicate()[0] for end in ends]
        try:
            status = json.loads(Path("said").read_text())
        except ValueError:
            _say(Path("errors").read_text())
            continue
        _say(json.dumps({"queue": name, "delays_ms": json.loads(sent), "status": status}))
    server.kill()


def serve() -> None:
    """Answer the game, with the time at which each packet arrived, and take uploads."""
    threading.Thread(target=_sink, daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as answering:
        answering.bind((SERVER, GAME))
        while True:
            packet, whence = answering.recvfrom(2048)
            answering.sendto(struct.pack("d", time.monotonic()) + packet[8:], whence)


def send() -> None:
    """Send a game's packets for a while, and print the median and the 95th percentile of the way there in ms."""
    delays: list[float] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as game:
        game.connect((SERVER, GAME))
        game.settimeout(EVERY_S)
        begin = time.monotonic()
        number = 0
        while (now := time.monotonic()) < begin + SECONDS + LATEST_S:
            if begin + number * EVERY_S <= now < begin + SECONDS:
                game.send(struct.pack("dd", now, now) + bytes(76))
                number += 1
            try:
                game.settimeout(
                    max(min(begin + number * EVERY_S, begin + SECONDS + LATEST_S) - time.monotonic(), 0.0005)
                )
                there, sent = struct.unpack("dd", game.recv(2048)[:16])
                delays.append(1e3 * (there - sent))
            except OSError:
                continue
    _say(json.dumps([statistics.median(delays), statistics.quantiles(delays, n=20)[18]] if len(delays) > 2 else []))


def upload() -> None:
    """Upload over two connections for a while."""
    ends = [socket.create_connection((SERVER, UPLOAD)) for _ in range(2)]
    for end in ends:
        # What is not sent at the end is not to be sent.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        threading.Thread(target=_fill, args=(end,), daemon=True).start()
    time.sleep(SECONDS)


def _fill(end: socket.socket) -> None:
    while True:
        end.sendall(bytes(1 << 16))


def _sink() -> None:
    with socket.create_server((SERVER, UPLOAD), backlog=16) as listening:
        while True:
            threading.Thread(target=_take, args=(listening.accept()[0],), daemon=True).start()


def _take(end: socket.socket) -> None:
    try:
        while end.recv(1 << 16):
            pass
    except OSError:
        pass


def _start(place: str, role: str) -> subprocess.Popen[str]:
    words = ["ip", "netns", "exec", place, sys.executable, __file__, role]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _shell(script: str) -> None:
    subprocess.run(["sh", "-ec", script], check=True)


if __name__ == "__main__":
    roles = {"serve": serve, "send": send, "upload": upload}
    roles.get(sys.argv[1], lambda: run(sys.argv[1]))()
