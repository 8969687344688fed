"""In a guest: a gateway on a line that gets narrower, and what its kernel's shaper has for a rate.

autorate_guest.py PROGRAM     runs everything, and prints what holds and what does not
autorate_guest.py take        takes what comes, over TCP
autorate_guest.py send        sends for some seconds, over TCP
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path

SETUP = """
for each in home box line internet; do ip netns add $each; ip -n $each link set lo up; done
ip -n box link add lan type veth peer name eth0 netns home
ip -n box link add wan type veth peer name near netns line
ip -n line link add far type veth peer name eth0 netns internet
for each in home/eth0 box/lan box/wan line/near line/far internet/eth0; do ip -n ${each%/*} link set ${each#*/} up; done
ip -n home addr add 10.1.0.1/24 dev eth0; ip -n box addr add 10.1.0.254/24 dev lan
ip -n box addr add 10.2.0.1/24 dev wan; ip -n internet addr add 10.2.0.2/24 dev eth0
ip -n home route add default via 10.1.0.254; ip -n internet route add default via 10.2.0.1
ip -n line link add br0 type bridge forward_delay 0; ip -n line link set br0 up
ip -n line link set near master br0; ip -n line link set far master br0
ip netns exec box sysctl -qw net.ipv4.ip_forward=1
ip netns exec line tc qdisc add dev far root handle 1: netem limit 400 rate 8mbit delay 10ms
ip netns exec line tc qdisc add dev near root handle 1: netem limit 400 delay 10ms
"""
NARROWER = "ip netns exec line tc qdisc change dev far root handle 1: netem limit 400 rate 3mbit delay 10ms"
POLICY = """
[link]
up = "8mbit"
down = "50mbit"
[gateway]
up = {{ queue = "{queue}" }}
shape = {{ up = "7mbit" }}
autorate = {{ up = {{ lowest = "500kbit", highest = "7mbit" }} }}
"""
SERVER = ("10.2.0.2", 5000)
NARROW_BPS, SECONDS = 3e6, 12


def run(program: str) -> None:
    """Try a queue below HTB, and CAKE with its own rate."""
    subprocess.run(["sh", "-ec", SETUP], check=True)
    for queue, shown in (("fq_codel", "tc class show dev wan classid 6a0:1"), ("cake", "tc qdisc show dev wan")):
        subprocess.run(["sh", "-ec", NARROWER.replace("3mbit", "8mbit")], check=True)
        Path("home.toml").write_text(POLICY.format(queue=queue))
        words = ["--engine", "kernel", "--lan", "lan", "--wan", "wan", "--queue-down", "lan", "home.toml"]
        gateway = subprocess.Popen(["ip", "netns", "exec", "box", program, "run", *words, "--listen", "none"])
        here = (sys.executable, __file__)
        take = subprocess.Popen(["ip", "netns", "exec", "internet", *here, "take"])
        time.sleep(2)
        send = subprocess.Popen(["ip", "netns", "exec", "home", *here, "send"])
        rates = {_rate(shown)}
        subprocess.run(["sh", "-ec", NARROWER], check=True)
        while send.poll() is None:
            time.sleep(0.2)
            rates.add(_rate(shown))
        last = min(rates)
        _say(queue, "its rate follows", 7e6 in rates and last < NARROW_BPS, sorted(rates))
        _say(queue, "more than once", len(rates) > 3)
        gateway.terminate()
        gateway.wait()
        take.kill()
        take.wait()
        _say(queue, "nothing stays", "6a0:" not in _box("tc qdisc show dev wan"))


def _say(queue: str, what: str, holds: bool, why: object = "") -> None:
    sys.stdout.write(f"{'yes' if holds else 'no'}: {queue}: {what}, {why}\n")


def _rate(line: str) -> float:
    """Return the rate that the kernel shows."""
    number, unit = re.search(r"(?:rate|bandwidth) (\d+)([KMG]?)bit", _box(line)).groups()  # type: ignore[union-attr]
    return float(number) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]


def _box(line: str) -> str:
    return subprocess.run(
        ["ip", "netns", "exec", "box", "sh", "-c", line], capture_output=True, text=True, check=True
    ).stdout


def take() -> None:
    """Take what comes."""
    with socket.create_server(("", SERVER[1])) as at:
        link, _ = at.accept()
        with link:
            while link.recv(1 << 16):
                pass


def send() -> None:
    """Send for some seconds."""
    with socket.create_connection(SERVER) as link:
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            link.sendall(bytes(1 << 14))


if __name__ == "__main__":
    if sys.argv[1] == "take":
        take()
    elif sys.argv[1] == "send":
        send()
    else:
        run(sys.argv[1])
