"""Frames of captures changed at random: through the analysis, and through a gateway beside a TCP connection."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .ledger import HERE, LackingError, Tally

ROOT = HERE.parent
CAPTURES = (ROOT / "tests" / "captures", ROOT.parent / "shared" / "captures")
# Resident memory of the analysis in KiB. It holds all captures and one changed file of 1500 frames.
MOST_MEMORY_KIB = 512 << 10

POLICY = """
name = "mutate"
[link]
up = "1gbit"
down = "1gbit"
[gateway]
shape = "100mbit"
voap = {}
priority = ["game"]
up = { queue = "priority", acks = "filter" }
down = { queue = "fq_codel" }
[[flow]]
name = "game"
app = "game"
model = "quake3"
"""


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Give half of the time to each."""
    program = example()
    yield analysis(program, seconds / 2, seed)
    yield gateway(program, seconds / 2, seed)


def example() -> Path:
    """Compile the Rust program that changes frames."""
    command = ["cargo", "build", "--quiet", "-p", "gamelane-capture", "--example", "mutate"]
    subprocess.run(command, cwd=ROOT, check=True)
    return built() / "examples" / "mutate"


def built() -> Path:
    """Return the folder of programs of the dev profile: they check for overflow."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


def captures() -> list[str]:
    """Return all captures that are here."""
    return sorted(str(file) for folder in CAPTURES for file in folder.glob("*.pcapng*"))


def analysis(program: Path, seconds: float, seed: int) -> Tally:
    """Analyse changed captures in one process."""
    tally = Tally("mutate", "analysis of changed captures")
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen([program, str(int(seconds)), str(seed), *captures()], stdout=out, stderr=said)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, said):
            file.seek(0)
        lines = said.read().splitlines()
        if child.returncode:
            last = next((line for line in reversed(lines) if line.startswith("file ")), "the first file")
            tally.lost.append(f"the analysis ended with {child.returncode} at {last}: {lines[-1] if lines else ''}")
        else:
            tally.counts = json.loads(out.read())
    if usage.ru_maxrss > MOST_MEMORY_KIB:
        tally.lost.append(f"{usage.ru_maxrss} KiB of memory, more than {MOST_MEMORY_KIB}")
    tally.seconds = time.monotonic() - began
    return tally


def gateway(program: Path, seconds: float, seed: int) -> Tally:
    """Send changed frames both ways through a gateway. It must live, and what passes beside them must arrive."""
    tally = Tally("mutate", "changed frames through a gateway")
    if os.geteuid() != 0:
        raise LackingError("root, for network namespaces")
    began = time.monotonic()
    with network() as (home, middle, internet), tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.toml"
        policy.write_text(POLICY, encoding="utf-8")
        # The gateway gives up root, and reads its policy again on SIGHUP.
        Path(folder).chmod(0o755)
        log = Path(folder) / "log"
        path = os.environ.get("GAMELANE_GATEWAY", str(built() / "gamelane-gateway"))
        words = [path, "run", "--lan", "lan", "--wan", "wan", str(policy)]
        with log.open("w") as file:
            process = subprocess.Popen(["ip", "netns", "exec", middle, *words], stderr=file, stdout=file)
        try:
            wait_for(lambda: "forwarding" in log.read_text() or process.poll() is not None)
            beside = Beside(home, internet)
            rounds = 0
            while time.monotonic() < began + seconds and process.poll() is None and not beside.failed:
                frames = Path(folder) / "frames.pcap"
                command = [str(program), "--frames", str(frames), "0", str(seed + rounds), *captures()]
                subprocess.run(command, check=True)
                for place in (home, internet):
                    tally.add(frames_sent=send(place, frames))
                rounds += 1
            beside.stop()
            tally.add(TCP_messages=beside.messages, pings=beside.pings)
            tally.lost.extend(beside.failed)
            if process.poll() is not None:
                tally.lost.append(f"the gateway ended with {process.returncode}: {log.read_text()[-300:]}")
            elif not (beside.messages and beside.pings):
                tally.lost.append(f"{beside.messages} messages and {beside.pings} pings passed")
        finally:
            process.terminate()
            process.wait(10)
    tally.seconds = time.monotonic() - began
    return tally


@contextmanager
def network() -> Iterator[tuple[str, str, str]]:
    """Make a home, a gateway and an internet, with the pairs of interfaces between them."""
    names = [f"glmutate{os.getpid()}{letter}" for letter in "hgi"]
    home, middle, internet = names
    try:
        for name in names:
            sh(f"ip netns add {name}")
            sh(f"ip netns exec {name} sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1")
        sh(
            f"ip link add lan netns {middle} type veth peer name eth0 netns {home}; "
            f"ip link add wan netns {middle} type veth peer name eth0 netns {internet}; "
            f"ip -n {middle} link set lan up; ip -n {middle} link set wan up"
        )
        for name, address in ((home, HOME), (internet, SERVER)):
            sh(
                f"ip -n {name} link set lo up; ip -n {name} link set eth0 up; "
                f"ip -n {name} addr add {address}/24 dev eth0; "
                f"ip netns exec {name} ethtool -K eth0 tx off tso off gso off gro off"
            )
        yield home, middle, internet
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


HOME, SERVER, PORT = "10.79.0.1", "10.79.0.2", 7000


def sh(script: str) -> None:
    """Run a script that must succeed."""
    subprocess.run(["sh", "-ec", script], check=True, stdout=subprocess.DEVNULL)


def wait_for(ready: object, most: float = 60) -> None:
    """Wait until it is true."""
    assert callable(ready)
    until = time.monotonic() + most
    while not ready() and time.monotonic() < until:
        time.sleep(0.05)


def send(place: str, file: Path) -> int:
    """Send the frames of a pcap from a namespace, and return how many the interface took."""
    data = file.read_bytes()
    sent, at = 0, 24
    with inside(place), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind(("eth0", 0))
        while at < len(data):
            (length,) = struct.unpack_from("<I", data, at + 8)
            frame = data[at + 16 : at + 16 + length]
            at += 16 + length
            try:
                sent += out.send(frame) > 0
            except OSError:
                # Too short, too long, or the queue is full.
                time.sleep(0.0002)
    return sent


@contextmanager
def inside(place: str) -> Iterator[None]:
    """Move this thread into a network namespace, and back: sockets stay where they were made."""
    with Path("/proc/thread-self/ns/net").open() as own, Path(f"/run/netns/{place}").open() as other:
        enter(other.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


def enter(namespace: int) -> None:
    """Call setns(2), which Python has since 3.12 only."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


CLONE_NEWNET = 0x4000_0000


class Beside:
    """A TCP connection and a ping that go on while frames are sent."""

    def __init__(self, home: str, internet: str) -> None:
        self.messages = self.pings = 0
        self.failed: list[str] = []
        self.over = threading.Event()
        with inside(internet):
            self.server = socket.create_server((SERVER, PORT))
        with inside(home):
            self.client = socket.create_connection((SERVER, PORT), timeout=60)
        self.accepted = self.server.accept()[0]
        self.home = home
        self.threads = [threading.Thread(target=work) for work in (self.echo, self.talk, self.ping)]
        for thread in self.threads:
            thread.start()

    def echo(self) -> None:
        """Send back what arrives."""
        while data := self.accepted.recv(65536):
            self.accepted.sendall(data)

    def talk(self) -> None:
        """Send messages; each must come back unchanged."""
        try:
            while not self.over.is_set():
                message = os.urandom(900)
                self.client.sendall(message)
                back = b""
                while len(back) < len(message):
                    part = self.client.recv(len(message) - len(back))
                    if not part:
                        raise ConnectionError("it was closed")
                    back += part
                if back != message:
                    raise ConnectionError("other bytes came back")
                self.messages += 1
        except OSError as error:
            self.failed.append(f"the TCP connection: {error}")

    def ping(self) -> None:
        """Count the pings that are answered."""
        while not self.over.is_set():
            command = ["ip", "netns", "exec", self.home, "ping", "-c1", "-W2", SERVER]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            self.pings += done.returncode == 0
            self.over.wait(0.1)

    def stop(self) -> None:
        """End both, and wait for them."""
        self.over.set()
        for thread in self.threads[1:]:
            thread.join()
        for own in (self.client, self.accepted, self.server):
            own.close()
        self.threads[0].join()
