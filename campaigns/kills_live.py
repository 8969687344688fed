"""Kills of the programs that have interfaces and sockets. All of it is in network namespaces of the campaign's own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.cli.command import GAMELANE
from tests.cli.files import leftovers

from gamelane import programs
from gamelane.errors import LabError
from gamelane.lab.namespaces import Host, Lab

from .killing import ROOT, Blow, Ended, Running, Words, blow, wait
from .kills import DONE, INTERRUPTED, command_ended, household, in_start_of_python, snapshot
from .ledger import Tally

STOPPING = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
"""Signals that end a gateway; SIGHUP makes it read its policy again."""
FOUR = 4

PLAYERS = """
import socket, struct, time
client, server = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
client.bind(("127.0.0.1", 40000))
server.bind(("127.0.0.1", 27960))
number = 0
while True:
    client.sendto(struct.pack("<I", number) + bytes(30), ("127.0.0.1", 27960))
    number += 1
    time.sleep(0.001)
"""


def capture(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill a recording: its files are readable to the last whole block, and nothing is missing in between."""
    with Lab() as lab:
        host = lab.host("recorded")
        lab.start(host, sys.executable, "-c", PLAYERS)
        number = 0
        while time.monotonic() < until:
            number += 1
            folder = place / str(number)
            words: Words = [
                GAMELANE,
                "capture",
                "lo",
                "-o",
                folder,
                "--rotate-size",
                "64KiB",
                "--snaplen",
                "128",
                "--quiet",
            ]
            ended = Running(host.command(words)).kill(blow(chance, 3.0))
            files = sorted(folder.glob("*.pcapng"))
            wrong = list(ended.wrong)
            by_itself = {-each for each in ended.blow.signals}
            # Ctrl-C after another signal cuts it off.
            handled = files and not ended.blow.hard and signal.SIGINT not in ended.blow.signals[1:]
            allowed = {DONE} if handled else {DONE, INTERRUPTED, *by_itself}
            early = in_start_of_python(ended.stderr)
            if not early and (ended.code not in allowed or "Traceback" in ended.stderr):
                wrong.append(f"exit code {ended.code}: {ended.stderr.strip()[-300:]}")
            packets, torn, holes = read_pcapng(files)
            if torn and not ended.blow.hard:
                wrong.append(f"{torn} incomplete blocks")
            if torn > 1 or holes:
                wrong.append(f"{torn} incomplete blocks, {holes} packets are missing in between")
            if files and ended.code == DONE and not ended.blow.hard:
                seen = json.loads((folder / "analysis.json").read_text())["recording"]
                if seen["packets"] != packets or seen["dropped"]:
                    wrong.append(f"recorded {seen['packets']}, and the files have {packets}")
                if left := leftovers(folder):
                    wrong.append(f"left behind: {left[0]}")
            if packets and not wrong:
                wrong += _again(folder, packets, torn)
            tally.add(kills=1, second_signals=len(ended.blow.signals) - 1, packets_recorded=packets)
            tally.lost += [f"{ended.blow}: {text}" for text in wrong]
            shutil.rmtree(folder, ignore_errors=True)


def _again(folder: Path, packets: int, torn: int) -> list[str]:
    """Analyze what a kill left."""
    done = subprocess.run([GAMELANE, "analyze", folder, "--json"], check=False, capture_output=True, timeout=240)
    if done.returncode != (FOUR if torn else DONE):
        return [f"analyze: exit code {done.returncode}: {done.stderr.decode().strip()[-200:]}"]
    (flow,) = json.loads(done.stdout)["captures"][0]["flows"]
    found = flow["up"]["packets"] + flow["down"]["packets"]
    return [] if found == packets else [f"analyze found {found} of {packets} packets"]


def read_pcapng(files: list[Path]) -> tuple[int, int, int]:
    """Return the packets of a recording, its incomplete blocks, and the packets that are missing in between."""
    numbers, torn = [], 0
    for file in files:
        data, at = file.read_bytes(), 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data + bytes(8), at)
            if at + length > len(data) or length < 12:
                torn += 1
                break
            if struct.unpack_from("<I", data, at + length - 4)[0] != length:
                torn += FOUR  # no end of a file, but damage
            if kind == 6:  # an enhanced packet: 28 B, then Ethernet, IPv4 and UDP
                numbers.append(struct.unpack_from("<I", data, at + 28 + 14 + 20 + 8)[0])
            at += length
    span = numbers[-1] - numbers[0] + 1 if numbers else 0
    return len(numbers), torn, span - len(numbers)


def lab_runs(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill runs with real hosts: no process, no namespace and no temporary folder of theirs stays."""
    folder, temporary = place / "out", place / "tmp"
    temporary.mkdir()
    words: Words = [GAMELANE, "run", *household("--engine", "lab", "--quiet"), "-o", str(folder)]
    while time.monotonic() < until:
        before, stale = snapshot(folder), set(temporary.iterdir())
        ended = Running(words, env={"TMPDIR": str(temporary)}).kill(blow(chance, 9.0))
        wrong = command_ended(ended, snapshot(folder) == before)
        left = set(temporary.iterdir())
        if not ended.blow.hard and left - stale:
            wrong.append(f"left behind: {min(left - stale).name}")
        tally.add(kills=1, second_signals=len(ended.blow.signals) - 1)
        tally.lost += [f"{ended.blow}: {text}" for text in wrong]


def traffic(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill either end of a match: the records are whole to the last second, `join` reads them, the port is free."""
    program, scenario = programs.TRAFFIC.find(), place / "match.toml"
    place.chmod(0o755)
    scenario.write_text(MATCH)
    here, there = place / "here.rec", place / "there.rec"
    with Lab() as lab:
        host = lab.host("match")
        while time.monotonic() < until:
            for file in (here, there):
                file.unlink(missing_ok=True)
            server = Running(host.command([program, "serve", scenario, "-o", there]))
            wrong = [] if server.says("listening") else [f"no next start: {server.stderr}"]
            client = Running(host.command([program, "send", scenario, "--to", "127.0.0.1:27960", "-o", here]))
            victim, file, other = chance.choice([(server, there, client), (client, here, server)])
            ended = victim.kill(blow(chance, 4.0))
            killed_at = time.monotonic_ns()
            rest = other.hit(Blow(0, (signal.SIGTERM,)))
            soft = {DONE, 6} if not ended.blow.hard else {DONE, 6, -signal.SIGKILL}
            started = here.exists() and here.stat().st_size > 0
            by_itself = set() if started else {-each for each in ended.blow.signals}
            for of, allowed in ((ended, soft | by_itself), (rest, {DONE, 6} | (set() if started else {-15}))):
                wrong += of.wrong
                if of.code not in allowed or of.running.orphans():
                    wrong.append(f"exit code {of.code}: {of.stderr.strip()[-200:]}")
            if started and not wrong:
                wrong += _records(file, killed_at, hard=ended.blow.hard)
            if started and not wrong and chance.random() < JOINED:
                join: Words = [GAMELANE, "traffic", "join", scenario, here, there, "-o", place / "out"]
                done = subprocess.run(join, check=False, capture_output=True, text=True, timeout=240)
                if done.returncode and "no packet" not in done.stderr:
                    wrong.append(f"join: exit code {done.returncode}: {done.stderr.strip()[-200:]}")
            who = "server" if victim is server else "client"
            tally.add(kills=1, second_signals=len(ended.blow.signals) - 1)
            tally.lost += [f"{who}, {ended.blow}: {text}" for text in wrong]


POLICY = """name = "killed"
[link]
up = "100mbit"
down = "100mbit"
[gateway]
up = { queue = "fq_codel" }
down = { queue = "fq_codel" }
[[flow]]
name = "game"
app = "game"
model = "quake3"
"""
MATCH = POLICY.replace("[link]", 'duration = "5s"\n[link]')
RECORD = 40
JOINED = 0.2
"""Share of the matches whose records are joined, which takes longer than a match."""
LATEST_NS = 2_000_000_000


def _records(file: Path, killed_at: int, *, hard: bool) -> list[str]:
    """Check that a file has whole records, and none is missing but those of the last moment before SIGKILL."""
    data = file.read_bytes()
    if len(data) % RECORD:
        return [f"{file.name} ends amid a record"] if not hard else []
    last = max((struct.unpack_from("<Q", data, at + 24)[0] for at in range(0, len(data), RECORD)), default=0)
    return [f"{file.name} lacks the last {(killed_at - last) / 1e9:.1f} s"] if killed_at - last > LATEST_NS else []


SERVER = "10.9.0.2"


class Line:
    """A player and a server, and a machine between them, whose interfaces have all offloads on."""

    def __init__(self, lab: Lab, place: Path) -> None:
        self.player, self.bridge, self.server = lab.host("player"), lab.host("bridge", bridge=True), lab.host("server")
        lab.link(self.player, self.bridge, names=("eth0", "home"))
        lab.link(self.server, self.bridge, names=("eth0", "wan"))
        for host, last in ((self.player, 1), (self.server, 2)):
            host.run("ip", "addr", "add", f"10.9.0.{last}/24", "dev", "eth0")
        for name in ("home", "wan"):
            self.bridge.run("ethtool", "-K", name, "gro", "on", "gso", "on", "tso", "on")
        self.policy = place / "policy.toml"
        place.chmod(0o755)
        self.policy.write_text(POLICY)

    def state(self, host: Host) -> str:
        """Return what a program could have changed: interfaces, offloads, queue disciplines, programs."""
        links = host.ip("-d", "link", "show")
        # Not the carrier, which comes and goes with AF_XDP programs.
        kept = [
            {key: link.get(key) for key in ("ifname", "mtu", "master", "qdisc", "promiscuity", "xdp")}
            | {"up": "UP" in link["flags"]}
            for link in links
        ]
        offloads = "".join(host.run("ethtool", "-k", link["ifname"]) for link in links)
        return json.dumps(kept, indent=1) + offloads + host.run("tc", "qdisc") + _ends(host)

    def becomes(self, host: Host, before: str) -> bool:
        """Wait until a host is as it was before; return whether that is so."""

        def same() -> bool:
            try:
                return self.state(host) == before
            except LabError:
                return False  # an interface went while it was asked for

        return wait(same)

    def answers(self) -> bool:
        """Whether the server answers the player."""
        words = self.player.command(["ping", "-n", "-q", "-c", "1", "-W", "1", SERVER])
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    def duplicates(self) -> bool:
        """Whether the server answers one question twice."""
        words = self.player.command(["ping", "-n", "-c", "3", "-i", "0.05", "-W", "1", SERVER])
        return "DUP" in subprocess.run(words, check=False, capture_output=True, text=True).stdout


def _ends(host: Host) -> str:
    """Return the programs at the hooks of interfaces, where this machine can list them."""
    try:
        return host.run("bpftool", "net") if shutil.which("bpftool") else ""
    except LabError:
        return ""


@contextmanager
def line(place: Path) -> Iterator[Line]:
    """Make the hosts, and remove them."""
    with Lab() as lab:
        yield Line(lab, place)


def gateway(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill a gateway, and start the next one at once. In the end everything is as it was before."""
    program = programs.GATEWAY.find()
    with line(place) as between:
        found = between.state(between.bridge)
        while time.monotonic() < until:
            way = chance.choice(["packet", "xdp"])
            words = between.bridge.command(
                [program, "run", "--lan", "home", "--wan", "wan", between.policy, "--io", way, "--listen", "none"]
            )
            running = Running(words)
            drawn = blow(chance, 0.8, STOPPING)
            if chance.random() < 0.25:
                drawn = Blow(drawn.after_s, (signal.SIGHUP, *drawn.signals[:1]), drawn.between_s)
            ended = running.kill(drawn)
            wrong = list(ended.wrong)
            allowed = {DONE} if "forwarding" in ended.stderr else {DONE, *(-each for each in drawn.signals)}
            if ended.code not in (allowed | {-signal.SIGKILL} if drawn.hard else allowed):
                wrong.append(f"exit code {ended.code}: {ended.stderr.strip()[-200:]}")
            if chance.random() < 0.5:
                wrong += _next_gateway(between, words)
                tally.add(next_starts=1)
            wrong += [f"still runs: {orphan}" for orphan in running.orphans()]
            if not between.becomes(between.bridge, found):
                wrong.append(f"not as before: {difference(found, between.state(between.bridge))}")
            tally.add(kills=1, second_signals=len(drawn.signals) - 1)
            tally.lost += [f"--io {way}, {drawn}: {text}" for text in wrong]
            if wrong:
                for name in ("home", "wan"):
                    between.bridge.run("ethtool", "-K", name, "gro", "on", "gso", "on", "tso", "on")


def difference(before: str, after: str) -> str:
    """Return the lines that differ."""
    old, new = before.splitlines(), after.splitlines()
    return "; ".join([*(f"no {each}" for each in old if each not in new), *(each for each in new if each not in old)])[
        :300
    ]


def _next_gateway(between: Line, words: list[str]) -> list[str]:
    """Start the next gateway at once; it forwards with all offloads off, and ends."""
    after = Running(words)
    wrong = []
    if not after.says("forwarding"):
        wrong.append(f"the next one does not start: {after.process.poll()}, {after.stderr.strip()[-200:]}")
    else:
        if not wait(between.answers):
            wrong.append("the next one does not forward")
        on = [
            f"{name}: {row.strip()}"
            for name in ("home", "wan")
            for row in between.bridge.run("ethtool", "-k", name).splitlines()
            if row.startswith("generic-receive-offload: on")
        ]
        if on:
            wrong.append(f"beside the next one, {on[0]}")
    ended = after.hit(Blow(0, (signal.SIGTERM,)))
    return wrong + ended.wrong + [f"the next one leaves {orphan}" for orphan in after.orphans()]


def fail_open(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill the gateway of the fail-open script, or the script itself: the link goes on, by exactly one of both."""
    script, program = ROOT / "packaging" / "gateway" / "fail-open", programs.GATEWAY.find()
    with line(place) as between:
        found = between.state(between.bridge)
        words = between.bridge.command([script, "run", "home", "wan", between.policy, "--listen", "none"])
        env = {"GAMELANE_GATEWAY": str(program)}
        while time.monotonic() < until:
            running = Running(words, env=env)
            wrong = [] if running.says("forwarding") else [f"no start: {running.stderr[-200:]}"]
            time.sleep(chance.uniform(0, 0.5))
            what = chance.choice(["gateway", "script"])
            drawn = blow(chance, 0, STOPPING if what == "gateway" else (*STOPPING, signal.SIGHUP))
            if what == "gateway":
                for each in drawn.signals:
                    for pid in _gateways(running):
                        os.kill(pid, each)
                    time.sleep(drawn.between_s)
                if not wait(between.answers):
                    wrong.append("the link is dead")
            else:
                wrong += running.hit(drawn).wrong
                if not drawn.hard and not running.is_gone():
                    wrong.append("the script ended, and its gateway did not")
                # A script that is killed while it ends cannot make the bridge any more.
                killed_late = signal.SIGKILL in drawn.signals[1:]
                if not killed_late and not wait(between.answers):
                    wrong.append("the link is dead after the script ended")
            after = Running(words, env=env)  # beside what a kill left
            time.sleep(chance.uniform(0.5, 3))
            if not wait(between.answers):
                wrong.append("the link is dead after the next start")
            if between.duplicates():
                wrong.append("bridge and gateway both forward after the next start")
            for script_of in (running, after):
                script_of.signal_all(signal.SIGTERM)
                wrong += [f"still runs: {orphan}" for orphan in script_of.orphans()]
                script_of.end()
            subprocess.run(between.bridge.command([script, "close", "home", "wan"]), check=True)
            if not between.becomes(between.bridge, found):
                wrong.append(f"not as before: {difference(found, between.state(between.bridge))}")
            tally.add(kills=1, second_signals=len(drawn.signals) - 1, next_starts=1)
            tally.lost += [f"{what}, {drawn}: {text}" for text in wrong]


def _gateways(running: Running) -> list[int]:
    """Return the gateways among the processes of a script, without what restores their offloads."""
    found = []
    for pid in running.family():
        try:
            if b"\0run\0--lan" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def impair(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill an impairment of one interface, or between two: interfaces are as before, and the next one starts."""
    program = programs.IMPAIR.find()
    with line(place) as between:
        between.bridge.run("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        for name in ("home", "wan"):
            between.bridge.run("ip", "link", "set", name, "master", "br0")
        between.bridge.run("ip", "link", "set", "br0", "up")
        found = {host: between.state(host) for host in (between.player, between.bridge)}
        kinds = ["one interface"] * 2 + ["two interfaces"]
        while time.monotonic() < until:
            kind = chance.choice(kinds)
            one = kind == "one interface"
            host = between.player if one else between.bridge
            if not one:
                between.bridge.run("ip", "link", "del", "br0")
                bare = between.state(host)
            words: Words = ["eth0"] if one else ["home", "--to", "wan"]
            log = place / "changes.jsonl"
            log.unlink(missing_ok=True)
            command = host.command([program, "run", *words, "--delay", "5ms", "--log", log])
            wrong: list[str] = []
            running = Running(command)
            ended = running.kill(blow(chance, 0.6))
            wrong += _impaired(ended, log)
            before = found[host] if one else bare
            if not between.becomes(host, before):
                wrong.append(f"not as before: {difference(before, between.state(host))}")
            if one and not wait(between.answers):
                wrong.append("the link is dead")
            after = Running(command)
            if not after.says("impairing"):
                wrong.append(f"the next one does not start: {after.stderr.strip()[-200:]}")
            elif not wait(between.answers):
                wrong.append("the next one does not forward")
            wrong += after.hit(Blow(0, (signal.SIGTERM,))).wrong
            wrong += [f"still runs: {orphan}" for orphan in (*running.orphans(), *after.orphans())]
            if not one:
                between.becomes(host, before)
                between.bridge.run("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0")
                for name in ("home", "wan"):
                    between.bridge.run("ip", "link", "set", name, "master", "br0")
                between.bridge.run("ip", "link", "set", "br0", "up")
            tally.add(kills=1, second_signals=len(ended.blow.signals) - 1, next_starts=1)
            tally.lost += [f"{kind}, {ended.blow}: {text}" for text in wrong]


def _impaired(ended: Ended, log: Path) -> list[str]:
    """Check exit code and log. After a signal that can be handled, the log says that it ended."""
    wrong = list(ended.wrong)
    begun = "impairing" in ended.stderr
    allowed = {DONE} if begun else {DONE, *(-each for each in ended.blow.signals)}
    if ended.code not in (allowed | {-signal.SIGKILL} if ended.blow.hard else allowed):
        wrong.append(f"exit code {ended.code}: {ended.stderr.strip()[-200:]}")
    rows = [json.loads(row)["what"] for row in log.read_text().splitlines()] if log.exists() else []
    if begun and not ended.blow.hard and rows[-1:] != ["end"]:
        wrong.append(f"the log has {rows}")
    return wrong


SUBJECTS: list[tuple[str, Callable[[Tally, Random, float, Path], None]]] = [
    ("`gamelane run --engine lab`", lab_runs),
    ("`gamelane capture`", capture),
    ("`gamelane-gateway`", gateway),
    ("`fail-open` with `gamelane-gateway`", fail_open),
    ("`gamelane-impair`", impair),
    ("`gamelane-traffic`", traffic),
]
