"""In a guest with every queue: starts, changes and ends gateways behind each, and prints what holds and what does not.

life_guest.py PROGRAM     runs everything
life_guest.py take PORT   counts the datagrams that arrive, until half a second passes without one
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SETUP = """
ip netns add home; ip netns add internet; ip netns add box
ip -n box link add lan type veth peer name eth0 netns home
ip -n box link add wan type veth peer name eth0 netns internet
ip -n home addr add 10.1.0.1/24 dev eth0; ip -n internet addr add 10.1.0.2/24 dev eth0
ip -n box link add br0 type bridge forward_delay 0
ip -n box link set lan master br0; ip -n box link set wan master br0
for each in box/lan box/wan box/br0 home/eth0 internet/eth0; do ip -n ${each%/*} link set ${each#*/} up; done
ip netns exec home ping -q -c 1 10.1.0.2 > /dev/null
"""
POLICY = """
[link]
down = "20mbit"
up = "2mbit"
[gateway]
shape = {{ up = "{rate}", down = "19mbit" }}
up = {{ {queue} }}
down = {{ {queue} }}
"""
DATAGRAMS, LENGTH = 16, 1000
"""Too few for a queue to drop one: they take less time than PIE's burst and CoDel's interval. CAKE marks them."""
SERVER, PORT = "10.1.0.2", 5000
PATIENCE_S = 5.0
FOREIGN = {
    "root": ("tc qdisc add dev wan root handle 1: cake bandwidth 3mbit", "cake 1:"),
    "ingress": ("tc qdisc add dev wan ingress", "ingress ffff:"),
}


def run(program: str, queues: list[str], more: str) -> None:
    """Try each queue; `more` is the policy's end for those with classes."""
    subprocess.run(["sh", "-ec", SETUP], check=True)
    plain = _state()
    for queue in queues:
        has_classes = any(word in queue for word in ("priority", "drr", "htb"))
        gateway = Gateway(program, queue, more if has_classes else "")
        gateway.start()
        _say(queue, "a second gateway is refused", "another gateway runs on it" in gateway.second())
        _say(queue, "a reload loses nothing", gateway.reload())
        gateway.end(signal.SIGTERM)
        _say(queue, "SIGTERM leaves nothing", _becomes(plain))
        gateway.start()
        gateway.end(signal.SIGKILL)
        _say(queue, "SIGKILL leaves nothing", _becomes(plain))
        gateway.start("--persist")
        lasting = _state()
        gateway.end(signal.SIGKILL)
        time.sleep(0.5)
        _say(queue, "--persist leaves everything", _state() == lasting != plain)
        gateway.undo()
        _say(queue, "undo leaves nothing", _becomes(plain))
    gateway = Gateway(program, queues[0], "")
    for where, (line, name) in FOREIGN.items():
        _box(line)
        theirs = _state()
        said = gateway.fails()
        _say(where, "a foreign queue stays", name in said and "--replace" in said and _state() == theirs)
        gateway.start("--replace")
        _say(where, "--replace names it", name in gateway.log.read_text())
        gateway.end(signal.SIGTERM)
        _say(where, "--replace removes it", _becomes(plain))
    said = Gateway(program, 'queue = "dualpi2"', "").fails()
    _say("dualpi2", "the module is named", "this kernel has no sch_dualpi2" in said and _state() == plain)


class Gateway:
    """A gateway and its files."""

    def __init__(self, program: str, queue: str, more: str) -> None:
        """Write its policy."""
        self.program, self.queue, self.more = program, queue, more
        self.policy, self.log = Path("life.toml"), Path("life.log")
        self.running: subprocess.Popen[bytes] | None = None
        self.write("1900kbit")

    def write(self, rate: str) -> None:
        """Write the policy with a rate upstream."""
        self.policy.write_text(POLICY.format(rate=rate, queue=self.queue) + self.more)

    def words(self, *options: str) -> list[str]:
        """Return the words that start it."""
        ends = ["--lan", "lan", "--wan", "wan", "--engine", "kernel", "--listen", "none", "--user", "root"]
        return [*IN_BOX, self.program, "run", *ends, str(self.policy), *options]

    def start(self, *options: str) -> None:
        """Start it, and wait until it is ready."""
        with self.log.open("wb") as log:
            self.running = subprocess.Popen(self.words(*options), stderr=log)
        _until(lambda: "queueing" in self.log.read_text())

    def fails(self) -> str:
        """Start it in vain; return what it says."""
        done = subprocess.run(self.words(), capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        return done.stderr if done.returncode else f"it started\n{done.stderr}"

    second = fails

    def reload(self) -> bool:
        """Change the rate while packets wait; return whether all of them arrive."""
        taking = subprocess.Popen(
            ["ip", "netns", "exec", "internet", sys.executable, __file__, "take", str(PORT)], stdout=subprocess.PIPE
        )
        time.sleep(0.5)
        words = ["ip", "netns", "exec", "home", sys.executable, __file__, "send", str(PORT)]
        subprocess.run(words, check=True)
        waiting = int(re.findall(r"backlog \d+b (\d+)p", _box("tc -s qdisc show dev wan"))[0])
        self.write("1800kbit")
        assert self.running is not None
        self.running.send_signal(signal.SIGHUP)
        _until(lambda: "1800Kbit" in _box("tc class show dev wan; tc qdisc show dev wan"))
        still = int(re.findall(r"backlog \d+b (\d+)p", _box("tc -s qdisc show dev wan"))[0])
        arrived = int(taking.communicate()[0])
        self.write("1900kbit")
        return waiting > 0 and still > 0 and arrived == DATAGRAMS

    def end(self, how: signal.Signals) -> None:
        """End it."""
        assert self.running is not None
        self.running.send_signal(how)
        self.running.wait()

    def undo(self) -> None:
        """Remove what it left. Offloads that it switched off stay so."""
        subprocess.run([*IN_BOX, self.program, "undo", "--lan", "lan", "--wan", "wan"], check=True, capture_output=True)
        _box("for each in lan wan; do ethtool -K $each tso on gso on; done")


def take(port: int) -> None:
    """Count datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taking:
        taking.bind((SERVER, port))
        taking.settimeout(PATIENCE_S)
        count = 0
        try:
            while taking.recv(2048):
                count += 1
                taking.settimeout(0.5)
        except TimeoutError:
            sys.stdout.write(f"{count}\n")


def send(port: int) -> None:
    """Send datagrams at once, which support ECN."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
        for _ in range(DATAGRAMS):
            sending.sendto(bytes(LENGTH), (SERVER, port))


IN_BOX = ["ip", "netns", "exec", "box"]


def _box(line: str) -> str:
    return subprocess.run([*IN_BOX, "sh", "-c", line], check=True, capture_output=True, text=True).stdout


def _state() -> str:
    """Return every setting of the gateway's machine that a gateway may change."""
    every = "tc qdisc show; for dev in lan wan; do tc class show dev $dev; tc filter show dev $dev; done"
    every += "; ip -br link; nft list ruleset"
    offloads = "for each in lan wan; do ethtool -k $each | grep -E 'offload'; done"
    # CAKE lists flows as classes while they have packets.
    return re.sub(r"direct_packets_stat \d+|class cake .*\n", "", _box(f"{every}; {offloads}"))


def _becomes(state: str) -> bool:
    return _until(lambda: _state() == state)


def _until(holds: Callable[[], bool]) -> bool:
    ends = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def _say(queue: str, what: str, holds: bool) -> None:
    sys.stdout.write(f"{'yes' if holds else 'NO'}: {what}: {queue}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    roles = {"take": take, "send": send}
    if sys.argv[1] in roles:
        roles[sys.argv[1]](int(sys.argv[2]))
    else:
        run(sys.argv[1], Path("queues").read_text().splitlines(), Path("classes.toml").read_text())
