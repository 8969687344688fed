"""Steps of the wall clock, from a day back to ten years ahead, while programs run: none is disturbed by it.

libfaketime (`apt-get install faketime`) changes CLOCK_REALTIME of one program, and no other clock. The machine's clock
stays. A packet's time stamp comes from the kernel, so it does not step: stamps that go back are in the tests of
`crates/live` and `crates/capture`, and one-way delays of `gamelane-traffic` mean nothing here.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.cli.command import GAMELANE

from gamelane import programs
from gamelane.lab.namespaces import Host, Lab

from .killing import Blow, Running, Words
from .kills import SWEEP, WRITERS, digests
from .kills_live import MATCH, PLAYERS, line, read_pcapng
from .ledger import LackingError, Tally

STEPS = ("-1d", "-1h", "-1s", "+1s", "+1h", "+1d", "+30d", "+1y", "+10y", "+0")
EVERY_S = 0.4
LIBRARIES = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
DONE, PEER = 0, 6


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Step the clock under all programs in turn, each for an equal part of `seconds`."""
    library = next(LIBRARIES, None)
    if library is None:
        raise LackingError("libfaketime: apt-get install faketime")
    for name, campaign in SUBJECTS:
        tally = Tally("clock", name)
        until = time.monotonic() + seconds / len(SUBJECTS)
        with tempfile.TemporaryDirectory(prefix="gamelane-clock-") as place:
            Path(place).chmod(0o755)
            campaign(tally, Random(f"{seed} {name}"), until, Clock(library, Path(place)))
        yield tally


class Clock:
    """The wall clock of the programs that are started with `env`."""

    def __init__(self, library: Path, place: Path) -> None:
        self.place = place
        self._file = place / "clock"
        self.set("+0")
        self.env = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, step: str) -> None:
        """Set the clock, relative to the machine's."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{step}\n")
        new.replace(self._file)

    def words(self) -> list[str]:
        """Return the start of a command line that sets the clock: a program in a namespace gets no environment."""
        return ["env", *(f"{key}={value}" for key, value in self.env.items())]

    def steps(self, chance: Random, while_true: Callable[[], bool]) -> int:
        """Step at random moments as long as the condition holds; return how often."""
        count = 0
        while while_true():
            self.set(chance.choice(STEPS))
            count += 1
            time.sleep(chance.uniform(0.1, 2 * EVERY_S))
        self.set("+0")
        return count


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return int(at.getsockname()[1])


class Echo:
    """A server that returns what it gets, and a client that counts what it misses."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            at, _ = self.listener.accept()
            threading.Thread(target=self._return, args=(at,), daemon=True).start()

    @staticmethod
    def _return(at: socket.socket) -> None:
        with at:
            try:
                while data := at.recv(1 << 16):
                    at.sendall(data)
            except OSError:
                return


def proxy(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """Streams through a pair of proxies live on; a certificate that has expired is refused for new carriers."""
    program, place = str(programs.PROXY.find()), clock.place
    subprocess.run([program, "certificates", place / "ca", "--days", "60"], check=True, capture_output=True)
    for key in (place / "ca").glob("*.key"):
        key.chmod(0o644)
    echo, near_at, far_at, pages = Echo(), free_port(), free_port(), free_port()
    tls = 'certificate = "ca/{0}.pem"\nkey = "ca/{0}.key"\nauthority = "ca/authority.pem"\n'
    (place / "far.toml").write_text(
        f'listen = "127.0.0.1:{far_at}"\nserver = "127.0.0.1:{echo.port}"\n[tls]\n{tls.format("far")}'
    )
    (place / "near.toml").write_text(
        f'listen = "127.0.0.1:{near_at}"\nfar = "127.0.0.1:{far_at}"\n'
        f'[tls]\n{tls.format("near")}[admin]\nlisten = "127.0.0.1:{pages}"\n'
    )
    far = Running([program, "far", place / "far.toml"], env=clock.env)
    near = Running([program, "near", place / "near.toml"], env=clock.env)
    if not near.says("carrier"):
        tally.lost.append(f"no start: {near.stderr[-300:]} {far.stderr[-300:]}")
    with socket.create_connection(("127.0.0.1", near_at), timeout=60) as stream:
        number = 0
        while time.monotonic() < until:
            clock.set(chance.choice(STEPS))
            for _ in range(20):
                message = number.to_bytes(8, "big")
                stream.sendall(message)
                back = b""
                while len(back) < len(message) and (more := stream.recv(8 - len(back))):
                    back += more
                if back != message:
                    tally.lost.append(f"message {number} came back as {back!r}")
                    return
                number += 1
                time.sleep(0.02)
            tally.add(steps=1)
        clock.set("+1y")
        status = subprocess.run([program, "status", place / "near.toml"], check=False, capture_output=True, text=True)
        if "expired" not in status.stdout + near.stderr + far.stderr:
            tally.lost.append(f"nothing tells that certificates have expired: {status.stdout[:300]}")
        other = place / "other.toml"
        other.write_text(
            (place / "near.toml")
            .read_text()
            .replace(str(near_at), str(free_port()))
            .replace(str(pages), str(free_port()))
        )
        late = Running([program, "near", other])  # by its own clock, both certificates are valid
        if late.wait(30) != PEER:
            tally.lost.append(f"an expired certificate made a carrier: {late.end()}, {late.stderr[-300:]}")
        stream.sendall(b"the stream lives")
        if stream.recv(16) != b"the stream lives":
            tally.lost.append("the stream ended when certificates had expired")
    tally.add(messages=number)
    clock.set("+0")
    for each in (near, far):
        tally.lost += each.hit(Blow(0, (signal.SIGTERM,))).wrong
        tally.lost += [f"said: {row}" for row in each.stderr.splitlines() if "panicked" in row]


def gateway(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """A gateway forwards each packet in its time, and its recording replays identically."""
    program = programs.GATEWAY.find()
    with line(clock.place) as between:
        words: Words = [program, "run", "--lan", "home", "--wan", "wan", between.policy]
        running = Running(between.bridge.command([*clock.words(), *words, "--tap", clock.place / "tap"]))
        if not running.says("forwarding"):
            tally.lost.append(f"no start: {running.stderr[-300:]}")
            return
        sent, received, said = echoes(tally, chance, until, clock, between.player)
        # An echo may be on its way when ping ends.
        if sent - received > 1:
            tally.lost.append(f"{sent - received} of {sent} echoes lost: {said[-200:]}")
        asked: Words = [*clock.words(), program, "status", "--json"]
        clock.set("+10y")
        status = json.loads(between.bridge.run(*asked))
        if status["queues"]["up"]["sojourn_ms"]["max"] > 1000:
            tally.lost.append(f"a packet waited {status['queues']['up']['sojourn_ms']['max']} ms")
        tally.lost += running.hit(Blow(0, (signal.SIGTERM,))).wrong
        done = subprocess.run([program, "replay", clock.place / "tap"], check=False, capture_output=True, text=True)
        if not done.stdout.startswith("identical"):
            tally.lost.append(f"replay: {done.stdout[:300]}{done.stderr[-200:]}")


def echoes(tally: Tally, chance: Random, until: float, clock: Clock, player: Host) -> tuple[int, int, str]:
    """Step the clock while `player` pings the other end. Return echoes sent and received, and what ping said."""
    ping: Words = ["ping", "-n", "-q", "-i", "0.02", "-w", str(max(2, int(until - time.monotonic()))), "10.9.0.2"]
    with subprocess.Popen(player.command(ping), stdout=subprocess.PIPE, text=True) as pings:
        tally.add(steps=clock.steps(chance, lambda: pings.poll() is None))
        assert pings.stdout is not None
        said = pings.stdout.read()
    sent, received = (int(part.split()[0]) for part in said.split("---\n")[1].split(", ")[:2])
    tally.add(echoes=received)
    return sent, received, said


def impair(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """An impaired path delays each packet as long as it was set, and the log has its lines."""
    program, log = programs.IMPAIR.find(), clock.place / "log"
    with line(clock.place) as between:
        between.bridge.run("ip", "link", "add", "br0", "type", "bridge", "forward_delay", "0")
        for name in ("home", "wan"):
            between.bridge.run("ip", "link", "set", name, "master", "br0")
        between.bridge.run("ip", "link", "set", "br0", "up")
        words: Words = [program, "run", "eth0", "--delay", "10ms", "--log", log, "--duration", "1h"]
        running = Running(between.player.command([*clock.words(), *words]))
        if not running.says("impairing"):
            tally.lost.append(f"no start: {running.stderr[-300:]}")
            return
        sent, received, said = echoes(tally, chance, until, clock, between.player)
        least = float(said.split("= ")[1].split("/")[0])
        if sent - received > 2 or least < 20:
            tally.lost.append(f"{sent - received} of {sent} echoes lost, the fastest took {least} ms")
        ended = running.hit(Blow(0, (signal.SIGTERM,)))
        tally.lost += ended.wrong + ([f"exit code {ended.code}"] if ended.code else [])
        if [json.loads(row)["what"] for row in log.read_text().splitlines()] != ["begin", "end"]:
            tally.lost.append(f"the log has {log.read_text()[:200]}")


def traffic(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """Both ends play a match to its end and count the same packets."""
    program, scenario = programs.TRAFFIC.find(), clock.place / "match.toml"
    scenario.write_text(MATCH)
    with Lab() as lab:
        host = lab.host("match")
        while time.monotonic() < until:
            here, there = clock.place / "here.rec", clock.place / "there.rec"
            server = Running(host.command([*clock.words(), program, "serve", scenario, "-o", there, "--once"]))
            server.says("listening")
            client = Running(host.command([*clock.words(), program, "send", scenario, "-o", here]))
            tally.add(matches=1, steps=clock.steps(chance, client.lasts))
            ended = client.hit(Blow(0, (signal.SIGTERM,)))
            flow = json.loads(ended.stdout)["flows"]["game"] if ended.code == DONE else None
            if flow is None or flow["client"]["sent"] != flow["server"]["received"] or flow["client"]["sent"] < 100:
                tally.lost.append(f"exit code {ended.code}, {ended.stdout[:300]}{ended.stderr[-200:]}")
            server.hit(Blow(0, (signal.SIGTERM,)))


def capture(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """A recording has all packets, rotates by its limits, and its analysis is whole."""
    with Lab() as lab:
        host = lab.host("recorded")
        lab.start(host, sys.executable, "-c", PLAYERS)
        while time.monotonic() < until:
            folder = clock.place / "recorded"
            shutil.rmtree(folder, ignore_errors=True)
            words: Words = [
                GAMELANE,
                "capture",
                "lo",
                "-o",
                folder,
                "--rotate-time",
                "1s",
                "--duration",
                "4s",
                "--quiet",
            ]
            running = Running(host.command([*clock.words(), *words]))
            tally.add(steps=clock.steps(chance, running.lasts))
            ended = running.hit(Blow(0, (signal.SIGTERM,)))
            files = sorted(folder.glob("*.pcapng"))
            packets, torn, holes = read_pcapng(files)
            seen = json.loads((folder / "analysis.json").read_text())["recording"]
            if ended.code or torn or holes or seen["packets"] != packets or not 3 <= len(files) <= 6:
                tally.lost.append(
                    f"exit code {ended.code}, {len(files)} files, {torn} torn, {packets} of {seen['packets']} packets"
                )
            tally.add(recordings=1, packets=packets)


def runs(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """A run gives the same bytes."""
    writer, folder = WRITERS[0], clock.place / "out"
    reference = writer.reference(0, folder)
    while time.monotonic() < until:
        running = Running(writer.words(0, folder), env=clock.env)
        tally.add(runs=1, steps=clock.steps(chance, running.lasts))
        if code := running.end():
            tally.lost.append(f"exit code {code}: {running.stderr[-300:]}")
        tally.lost += writer.state(folder, [reference], torn=False, had=True)


def sweep(tally: Tally, chance: Random, until: float, clock: Clock) -> None:
    """A sweep that is stopped and goes on under another date gives the same table, and keeps its runs."""
    file, folder = clock.place / "stepped.toml", clock.place / "out"
    file.write_text(SWEEP)
    words: Words = [GAMELANE, "sweep", file, "--quiet", "-o"]
    subprocess.run([*words, folder], check=True, capture_output=True, timeout=240)
    wanted = digests(folder)
    while time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        first = Running([*words, folder], env=clock.env)
        first.kill(Blow(chance.uniform(1, 3), (signal.SIGTERM,)))
        second = Running([*words, folder], env=clock.env)
        tally.add(sweeps=1, steps=clock.steps(chance, second.lasts))
        if second.end() or digests(folder) != wanted:
            tally.lost.append(f"exit code {second.end()}, or another table: {second.stderr[-300:]}")


SUBJECTS: list[tuple[str, Callable[[Tally, Random, float, Clock], None]]] = [
    ("`gamelane-proxy`", proxy),
    ("`gamelane-gateway`", gateway),
    ("`gamelane-impair`", impair),
    ("`gamelane-traffic`", traffic),
    ("`gamelane capture`", capture),
    ("`gamelane run -o`", runs),
    ("`gamelane sweep`", sweep),
]
