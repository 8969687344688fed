"""In a guest: a router with address translation whose line is a VLAN, and PPPoE on it, and what its gateway does there.

router_guest.py PROGRAM     runs everything, and prints what holds and what does not
router_guest.py ROLE …      the other processes of it
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SETUP = """
ip -all netns del
for each in home box provider; do ip netns add $each; ip -n $each link set lo up; done
ip -n box link add lan type veth peer name eth0 netns home
ip -n box link add wan type veth peer name line netns provider
ip -n box addr add 192.168.1.1/24 dev lan; ip -n home addr add 192.168.1.2/24 dev eth0
for each in box/lan box/wan home/eth0 provider/line; do ip -n ${each%/*} link set ${each#*/} up; done
ip -n home route add default via 192.168.1.1
for each in box/wan provider/line; do
    ip -n ${each%/*} link add link ${each#*/} name ${each#*/}.7 type vlan id 7
    ip -n ${each%/*} link set ${each#*/}.7 up
done
ip netns exec box sysctl -qw net.ipv4.ip_forward=1
ip netns exec box nft 'add table ip nat; add chain ip nat post { type nat hook postrouting priority srcnat; };
    add rule ip nat post oifname { "ppp0", "wan.7" } masquerade'
ip -n box addr add 100.65.0.2/24 dev wan.7; ip -n provider addr add 100.65.0.1/24 dev line.7
"""
POLICY = """
[link]
down = "5mbit"
up = "2mbit"
[gateway]
shape = { up = "1900kbit", down = "4mbit" }
"""
CLASSES = """
[[gateway.class]]
name = "first"
rate = "50%"
[[gateway.class]]
name = "rest"
rate = "50%"
[[gateway.rule]]
class = "first"
address = "192.168.1.2"
port = 5000
"""
CASES = (("fq_codel", "wan"), ("cake", "wan"), ("cake", "lan"), ("htb", "lan"), ("priority", "lan"))
"""Queues, and where packets down wait. Classes see no packets at an IFB interface."""
PROVIDERS = {"wan.7": "100.65.0.1", "ppp0": "100.64.0.1"}
"""Addresses at the far end of each line."""
PORT, LENGTH, SECONDS = 5000, 1000, 3.0
OFFERED_BPS, AT_ONCE = 8e6, 10
PACKETS = int(SECONDS * OFFERED_BPS / 8 / LENGTH)
HELLO = b"here I am"
"""Told apart from what still waits in a queue after the flood before."""
CARRIED = LENGTH / (LENGTH + 28)
"""Share of the payload in an IP packet of UDP."""
MANY = 400
PATIENCE_S = 10.0

AF_PPPOX = 24
SESSION = 1
PPPIOCGCHAN, PPPIOCATTCHAN, PPPIOCCONNECT, PPPIOCNEWUNIT, PPPIOCSNPMODE = (
    0x80047437,
    0x40047438,
    0x4004743A,
    0xC004743E,
    0x4008744B,
)
PPP_IP, NPMODE_PASS = 0x21, 0


def run(program: str) -> None:
    """Try each queue, with the packets down at both places."""
    subprocess.run(["sh", "-ec", SETUP], check=True)
    for case in CASES:
        _try(program, "wan.7", *case)
    try:
        socket.socket(AF_PPPOX, socket.SOCK_STREAM, 0).close()
    except OSError:
        sys.stdout.write("this kernel has no PPPoE\n")
        return
    ends = [_connected("box", "wan.7", "line.7"), _connected("provider", "line.7", "wan.7")]
    assert _until(lambda: "ppp0" in _in("box", "ip -br link") and "ppp0" in _in("provider", "ip -br link"))
    _in("box", "ip addr add 100.64.0.2 peer 100.64.0.1 dev ppp0; ip link set ppp0 up")
    _in("provider", "ip addr add 100.64.0.1 peer 100.64.0.2 dev ppp0; ip link set ppp0 up")
    for case in CASES:
        _try(program, "ppp0", *case)
    for end in ends:
        end.kill()


def _try(program: str, line: str, queue: str, down: str) -> None:
    """Start a gateway, flood it in both directions, and end it."""
    classes = CLASSES if queue in ("htb", "priority") else ""
    policy, log, plain = Path("router.toml"), Path("router.log"), _state()
    policy.write_text(f'{POLICY}up.queue = "{queue}"\ndown.queue = "{queue}"\n{classes}')
    words = [*IN["box"], program, "run", "--lan", "lan", "--wan", line, "--engine", "kernel", "--queue-down", down]
    with log.open("wb") as said:
        gateway = subprocess.Popen([*words, "--user", "root", str(policy)], stderr=said)
    if not _until(lambda: "queueing" in log.read_text()):
        sys.stdout.write(f"{log.read_text()}\n")
    rates = {"up": (_flood("home", PROVIDERS[line]), 1.9e6), "down": (_flood("provider", PROVIDERS[line]), 4e6)}

    def say(what: str, holds: bool, more: str = "") -> None:
        sys.stdout.write(f"{'yes' if holds else 'NO'}: {line} {queue} {down}: {what}{more}\n")

    for direction, (arrived, shaped) in rates.items():
        say(f"{direction} at its rate", abs(arrived / shaped / CARRIED - 1) < 0.02, f", {arrived / 1e6:.3f} Mbit/s")
    if classes:
        say("classes", _sorted(line) and _sorted("lan"))
    status = json.loads(_in("box", f"{program} status --json"))
    if status["watch"]["error"] is None:
        flood = max(status["flows"], key=lambda flow: flow["up"]["packets"])
        seen = flood["up"]["packets"] + sum(flood["up"]["drops"].values())
        is_home = flood["home"].startswith("192.168.1.2:")
        say("every packet up is seen", is_home and seen == PACKETS, f", {seen} of {flood['home']}")
    gateway.send_signal(signal.SIGTERM)
    gateway.wait()
    say("nothing stays", _until(lambda: _state() == plain))


def connect(device: str, address: str) -> None:
    """Hold one end of a PPPoE session without negotiation, as `ppp0` (pppoe(4), ppp_generic.rst)."""
    libc = ctypes.CDLL(None, use_errno=True)
    with socket.socket(AF_PPPOX, socket.SOCK_STREAM, 0) as session:
        remote = bytes.fromhex(address.replace(":", ""))
        where = struct.pack("=HIH6s16s", AF_PPPOX, 0, socket.htons(SESSION), remote, device.encode())
        if libc.connect(session.fileno(), where, len(where)) != 0:
            raise OSError(ctypes.get_errno(), "PPPoE")
        number = struct.pack("i", 0)
        channel = fcntl.ioctl(session, PPPIOCGCHAN, number)
        attached, unit = (os.open("/dev/ppp", os.O_RDWR) for _ in range(2))
        fcntl.ioctl(attached, PPPIOCATTCHAN, channel)
        made = fcntl.ioctl(unit, PPPIOCNEWUNIT, struct.pack("i", -1))
        fcntl.ioctl(attached, PPPIOCCONNECT, made)
        fcntl.ioctl(unit, PPPIOCSNPMODE, struct.pack("ii", PPP_IP, NPMODE_PASS))
        signal.pause()


def flood(host: str, provider: str) -> None:
    """Send datagrams faster than the line. The provider sends to where a first datagram came from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        if host == "home":
            to = (provider, PORT)
        else:
            sending.bind((provider, PORT))
            said, to = sending.recvfrom(LENGTH)
            while said != HELLO:
                said, to = sending.recvfrom(LENGTH)
        for number in range(PACKETS):
            sending.sendto(bytes(LENGTH), to)
            if number % AT_ONCE == 0:
                time.sleep(AT_ONCE * 8 * LENGTH / OFFERED_BPS)


def take(host: str, provider: str) -> None:
    """Print the bit/s that arrive from the second second on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taking:
        taking.settimeout(PATIENCE_S)
        if host == "home":
            taking.bind(("192.168.1.2", PORT))
            taking.sendto(HELLO, (provider, PORT))
        else:
            taking.bind((provider, PORT))
        taking.recv(LENGTH)
        begin, count = time.monotonic() + 1, 0
        while (now := time.monotonic()) < begin + SECONDS - 1.5:
            arrived = len(taking.recv(LENGTH))
            count += arrived if now > begin else 0
    sys.stdout.write(f"{8 * count / (SECONDS - 1.5)}\n")


def _connected(place: str, device: str, other: str) -> subprocess.Popen[bytes]:
    far = "provider" if place == "box" else "box"
    address = re.findall(r"link/ether (\S+)", _in(far, f"ip link show {other}"))[0]
    return subprocess.Popen([*IN[place], sys.executable, __file__, "connect", device, address])


def _flood(host: str, provider: str) -> float:
    """Return the bit/s that arrive while a host floods the line. The provider's side begins."""
    roles = {host: "flood", "provider" if host == "home" else "home": "take"}
    running = {}
    for place in ("provider", "home"):
        words = [*IN[place], sys.executable, __file__, roles[place], place, provider]
        running[roles[place]] = subprocess.Popen(words, stdout=subprocess.PIPE)
        time.sleep(0.5)
    running["flood"].wait()
    return float(running["take"].communicate()[0])


def _sorted(device: str) -> bool:
    """Return whether the flood went to the first class, and hardly anything to the other."""
    said = _in("box", f"tc -s class show dev {device}")
    first, rest = (int(each) for each in re.findall(r"leaf 6b\d: .*?Sent \d+ bytes (\d+) pkt", said, re.DOTALL))
    return first > MANY > 10 * rest


IN = {place: ["ip", "netns", "exec", place] for place in ("home", "box", "provider")}


def _in(place: str, line: str) -> str:
    return subprocess.run([*IN[place], "sh", "-c", line], check=True, capture_output=True, text=True).stdout


def _state() -> str:
    every = "tc qdisc show; for dev in lan wan.7 ppp0; do tc class show dev $dev; tc filter show dev $dev; done"
    return re.sub(r"direct_packets_stat \d+", "", _in("box", f"{every}; ip -br link; nft list ruleset"))


def _until(holds: Callable[[], bool]) -> bool:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


if __name__ == "__main__":
    roles: dict[str, Callable[..., None]] = {"connect": connect, "flood": flood, "take": take}
    if sys.argv[1] in roles:
        roles[sys.argv[1]](*sys.argv[2:])
    else:
        run(sys.argv[1])
