"""What the `tc` lines of `gamelane tune` do in this kernel: a game beside floods, shares of DRR, and rates of TCP.

Run as root: `python -m bench.lines`. It needs tc, nft, ethtool and iperf3, and takes two minutes.
"""

from __future__ import annotations

import json
import os
import time

from tests.lab.routed import Routed, routed

from gamelane import _native
from gamelane.apply import recipes
from gamelane.lab.namespaces import Host, Lab

ECHO = """
import socket
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind(("", 27960))
print("listening", flush=True)
while True:
    packet, sender = at.recvfrom(2000)
    at.sendto(packet, sender)
"""
GAME = """
import socket, struct, threading, time
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.settimeout(5)
at.connect(("10.9.2.2", 27960))
waited = []
def receive():
    while len(waited) < 250:
        try:
            sent = struct.unpack("d", at.recv(2000)[:8])[0]
        except TimeoutError:
            return
        waited.append((time.monotonic() - sent) * 1e3)
receiver = threading.Thread(target=receive)
receiver.start()
for _ in range(250):
    at.send(struct.pack("d", time.monotonic()) + bytes(52))
    time.sleep(0.02)
receiver.join()
waited.sort()
at = lambda share: waited[min(len(waited) - 1, int(share * len(waited)))]
print(f"{len(waited)} of 250 back, p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, largest {at(1):.2f} ms")
"""
FLOOD = """
import socket, sys, time
host, port, bps = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
sent = 0
while time.monotonic() < start + 9:
    at.sendto(bytes(1172), (host, port))
    sent += 1
    time.sleep(max(0, start + sent * 9600 / bps - time.monotonic()))
"""
SCENARIO = """
name = "lines"
question = "What do the lines do?"
duration = "10s"
[link]
up = "{up}"
down = "{down}"
rtt = "40ms"
[gateway]
up = {{ queue = "{queue}", limit = "{limit}" }}
down = {{ queue = "{queue}", limit = "{limit}" }}
[[gateway.class]]
name = "game"
rate = "50%"
quantum = "3000B"
[[gateway.class]]
name = "rest"
rate = "50%"
quantum = "1500B"
priority = 1
[[gateway.rule]]
class = "game"
protocol = "udp"
port = 27960
[[flow]]
name = "game"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"""


def gateway(lab: Lab, queue: str, *, up: str = "1mbit", down: str = "12mbit") -> Routed:
    """Make the hosts, and paste the lines."""
    hosts = routed(lab)
    text = SCENARIO.format(queue=queue, up=up, down=down, limit="100p" if queue == "fifo" else "50p")
    said = hosts.paste(recipes(_native.Scenario.parse(text, "lines.toml", []))["tc"].lines())
    if said:
        raise RuntimeError(said)
    return hosts


def flood(lab: Lab, host: Host, to: str, port: int, bps: float) -> None:
    """Send UDP for nine seconds."""
    lab.start(host, "python3", "-c", FLOOD, to, str(port), str(bps))


def game(queue: str) -> str:
    """Measure a game's round trip while UDP floods both directions."""
    with Lab() as lab:
        hosts = gateway(lab, queue)
        echo = lab.start(hosts.internet, "python3", "-c", ECHO)
        assert echo.stdout is not None
        echo.stdout.readline()
        flood(lab, hosts.home, "10.9.2.2", 999, 2e6)
        flood(lab, hosts.internet, "10.9.1.2", 999, 20e6)
        time.sleep(1)
        return hosts.home.run("python3", "-c", GAME).strip()


def shares(queue: str) -> str:
    """Count the packets of two floods during six seconds."""
    with Lab() as lab:
        hosts = gateway(lab, queue)
        for port in (27960, 999):
            flood(lab, hosts.home, "10.9.2.2", port, 1.5e6)
        time.sleep(2)
        before = hosts.packets("eth0")
        time.sleep(6)
        after = hosts.packets("eth0")
        return ", ".join(f"{name} {after[name] - before[name]}" for name in ("1:10", "1:20"))


def rates() -> str:
    """Return what TCP gets of 50 Mbit/s up and 300 Mbit/s down."""
    with Lab() as lab:
        hosts = gateway(lab, "fifo", up="50mbit", down="300mbit")
        lab.start(hosts.internet, "iperf3", "-s")
        time.sleep(0.5)
        found = []
        for reverse in ([], ["-R"]):
            said = hosts.home.run("iperf3", "-c", "10.9.2.2", "-t", "4", "-O", "1", "-J", *reverse)
            found.append(json.loads(said)["end"]["sum_received"]["bits_per_second"] / 1e6)
        return "up {:.1f} Mbit/s, down {:.1f} Mbit/s".format(*found)


if __name__ == "__main__":
    print(f"# Linux {os.uname().release}, load average {os.getloadavg()[0]:.0f}")
    for each in ("fifo", "priority", "drr", "htb"):
        print(f"game beside floods, {each}: {game(each)}", flush=True)
    for each in ("drr", "htb", "priority"):
        print(f"packets of 1200 B in 6 s, two floods, {each}: {shares(each)}", flush=True)
    print(f"TCP, 50/300 Mbit/s shaped to 95 %: {rates()}")
