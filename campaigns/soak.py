"""PostgreSQL, redis and games through a pair of proxies, while carriers die, processes stop, and ends are killed.

One pair has TCP carriers, the other QUIC, side by side, each in a network namespace of its own. There `ss -K` aborts
sockets, and nftables drops the packets of one carrier or changes its port, as a NAT does that forgot it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gamelane.analysis.stats import t_quantile
from gamelane.programs import PROXY

from . import soak_load as use
from .ledger import LackingError, Tally, revision

NEAR, FAR, SERVER, POSTGRES, REDIS = 7000, 7700, 7777, 5432, 6379
ADMIN = {"near": 9700, "far": 9701}
GAMES = 200
KILLS = 0.1
"""Part of the time in which the ends are killed, not the carriers."""
WITHIN = 10.0
"""Seconds after a kill within which a new stream must be served. Near's longest pause between attempts is 5 s."""
SAMPLE = 10.0
KEYS = """
carriers = 3
refuse_after = "60s"  # longer than a process is stopped
{transport}
[coalescing]
deadline = "2ms"
[timeouts]
keep_alive = "1s"
silence = "5s"
[tls]
certificate = "{end}.pem"
key = "{end}.key"
authority = "authority.pem"
[admin]
listen = "127.0.0.1:{admin}"
"""
RULES = """
table inet soak {
    set silent { type inet_service . inet_service; flags timeout; }
    map moved { type inet_service : inet_service; flags timeout; }
    map back { type inet_service : inet_service; flags timeout; }
    chain out {
        type filter hook output priority 0;
        udp sport 7700 udp dport set udp dport map @back
    }
    chain in {
        type filter hook input priority 0;
        meta l4proto { tcp, udp } th sport . th dport @silent drop
        udp dport 7700 udp sport set udp sport map @moved
    }
}
"""


def lacking() -> str:
    """Return what the campaign cannot do without; empty if it is all there."""
    if os.geteuid() != 0:
        return "root"
    return ", ".join(name for name in ("unshare", "ip", "ss", "nft") if shutil.which(name) is None)


def run(seconds: float, seed: int, transports: tuple[str, ...] = ("tcp", "quic")) -> Iterator[Tally]:
    """Soak a pair with TCP carriers and one with QUIC, both at once."""
    if missing := lacking():
        raise LackingError(missing)
    commit = revision()
    with tempfile.TemporaryDirectory(prefix="gamelane-soak-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        # A build must not change the program under the soak.
        shutil.copy(PROXY.find(), folder)
        workers = []
        for number, transport in enumerate(transports):
            # All that a worker starts ends with it.
            command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-m"]
            command += ["campaigns.soak", transport, str(folder), str(seconds), str(seed + number)]
            workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        try:
            for worker in workers:
                out, _ = worker.communicate(timeout=seconds + 600)
                if worker.returncode:
                    raise SystemExit(f"soak: a worker ended with {worker.returncode}")
                for line in out.splitlines():
                    yield Tally(**json.loads(line) | {"commit": commit})
        finally:
            for worker in workers:
                worker.kill()


class Pair:
    """Two proxies, and what is done to them."""

    def __init__(self, folder: Path, transport: str, tally: Tally) -> None:
        self.folder, self.transport, self.tally = folder, transport, tally
        self.ends: dict[str, subprocess.Popen[bytes]] = {}
        self.memory: dict[str, list[tuple[float, float]]] = {"near": [], "far": []}
        self.killed_at: dict[str, float] = {"near": -1e9, "far": -1e9}
        call(folder.parent / PROXY.name, "certificates", folder)
        for end, keys in (
            ("near", f'listen = "127.0.0.1:{NEAR}"\nfar = "127.0.0.1:{FAR}"'),
            ("far", f'listen = "127.0.0.1:{FAR}"\nserver = "127.0.0.1:{SERVER}"'),
        ):
            text = KEYS.format(end=end, transport=f'transport = "{transport}"', admin=ADMIN[end])
            (folder / f"{end}.toml").write_text(keys + text)

    def start(self, end: str) -> None:
        """Start one end."""
        with (self.folder / f"{end}.log").open("ab") as log:
            command: list[Path | str] = [self.folder.parent / PROXY.name, end, self.folder / f"{end}.toml"]
            environment = os.environ | {"GAMELANE_LOG": "gamelane_proxy=debug", "NO_COLOR": "1"}
            self.ends[end] = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment
            )

    def kill(self, end: str) -> None:
        """Kill one end with SIGKILL, and start it again."""
        self.killed_at[end] = time.monotonic()
        self.ends[end].kill()
        self.ends[end].wait()
        self.start(end)
        self.tally.add(kills=1)

    async def status(self, end: str) -> dict[str, Any]:
        """Ask one end."""

        def ask() -> dict[str, Any]:
            with urllib.request.urlopen(f"http://127.0.0.1:{ADMIN[end]}/status", timeout=30) as answer:
                return dict(json.load(answer))

        return await asyncio.to_thread(ask)

    async def sample(self) -> None:
        """Note the memory of both ends, again and again."""
        while True:
            for end, process in self.ends.items():
                text = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
                words = next((line.split() for line in text.splitlines() if line.startswith("VmRSS")), None)
                if words is not None:
                    self.memory[end].append((time.monotonic() / 3600, float(words[1])))
            await asyncio.sleep(SAMPLE)

    def hit_a_carrier(self, random: random.Random) -> None:
        """Break one carrier, in a random way."""
        ports = self.carriers()
        if not ports:
            return
        port = random.choice(ports)
        tcp = self.transport == "tcp"
        way = random.choice(("abort", "abort", "silence") if tcp else ("abort", "silence", "silence", "move"))
        if way == "silence":
            # Silent in both directions, or in one.
            both = [f"{port} . {FAR} timeout 30s", f"{FAR} . {port} timeout 30s"]
            for element in random.choice((both, both[:1], both[1:])):
                call("nft", "add", "element", "inet", "soak", "silent", "{", element, "}")
            self.tally.add(carriers_silenced=1)
        elif way == "move":
            new = random.randint(20_000, 30_000)
            call("nft", "add", "element", "inet", "soak", "back", "{", f"{new} timeout 40s : {port}", "}")
            with contextlib.suppress(subprocess.CalledProcessError):  # it has moved already
                call("nft", "add", "element", "inet", "soak", "moved", "{", f"{port} timeout 20s : {new}", "}")
                self.tally.add(ports_changed=1)
        else:
            here, there = random.choice(((port, FAR), (FAR, port))) if tcp else (port, 0)
            call("ss", "-K", "-Hna", "-t" if tcp else "-u", f"( sport = :{here} and dport = :{there} )")
            # A QUIC connection survives this: its socket gets another port.
            self.tally.add(**{"carriers_aborted" if tcp else "ports_changed": 1})

    def carriers(self) -> list[int]:
        """Return the ports of the carriers at near."""
        if self.transport == "tcp":
            text = call("ss", "-Htn", "state", "established", f"( dport = :{FAR} )")
            return [int(line.split()[2].rsplit(":", 1)[1]) for line in text.splitlines()]
        text = call("ss", "-Hunl", f"( sport != :{FAR} )")
        return [int(line.split()[3].rsplit(":", 1)[1]) for line in text.splitlines()]

    async def stop_an_end(self, random: random.Random) -> None:
        """Stop one end for 1 to 10 seconds."""
        process = self.ends[random.choice(("near", "far"))]
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(random.uniform(1, 10))
        process.send_signal(signal.SIGCONT)
        self.tally.add(stops=1)


def call(*command: str | Path) -> str:
    """Run a program and return what it prints."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    return done.stdout


@contextlib.asynccontextmanager
async def services(folder: Path) -> AsyncIterator[set[str]]:
    """Start PostgreSQL, redis and the server before them; yield the names of those that are installed."""
    there = set()
    with contextlib.ExitStack() as stack:
        newest = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if newest is None or shutil.which("pgbench") is None or shutil.which("psql") is None:
            print("soak: without PostgreSQL, it is not installed", file=sys.stderr)
        else:
            there.add("postgres")
            data = folder / "postgres"
            data.mkdir()
            shutil.chown(data, "postgres")
            user = ["runuser", "-u", "postgres", "--"]
            call(*user, newest / "initdb", "-A", "trust", "-U", "soak", "--no-sync", "-D", data)
            command = [*user, newest / "postgres", "-D", data, "-k", "", "-c", "fsync=off", "-c", "max_wal_size=128MB"]
            stack.enter_context(running(command, folder / "postgres.log"))
            while subprocess.run(["pg_isready", "-q", "-h", "127.0.0.1"], check=False).returncode:
                await asyncio.sleep(0.1)
        if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
            print("soak: without redis, it is not installed (apt install redis-server redis-tools)", file=sys.stderr)
        else:
            there.add("redis")
            command = ["redis-server", "--port", str(REDIS), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
            stack.enter_context(running(command, folder / "redis.log"))
        ports = {use.POSTGRES: POSTGRES, use.REDIS: REDIS}
        server = await asyncio.get_running_loop().create_server(
            # All games start at once. With a shorter queue Linux resets some of them (docs/proxy.md).
            lambda: use.Side(ports),
            "127.0.0.1",
            SERVER,
            backlog=1024,
        )
        async with server:
            yield there


@contextlib.contextmanager
def running(command: list[Any], log: Path) -> Iterator[None]:
    """Run a service for the length of a block."""
    with log.open("wb") as file:
        process = subprocess.Popen([*map(str, command)], stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def cut_carriers(folder: Path, transport: str, seconds: float, seed: int) -> Tally:
    """Use all services while carriers break and ends stop. No stream may notice."""
    tally = Tally("soak", f"proxy, {transport.upper()} carriers cut", seed=seed)
    pair, chance = Pair(folder, transport, tally), random.Random(seed)
    async with services(folder) as there:
        for end in ("far", "near"):
            pair.start(end)
        await served(NEAR, 30)
        if "postgres" in there:
            init = ["pgbench", "-h", "127.0.0.1", "-p", str(NEAR), "-U", "soak", "-i", "-q", "-s", "2", "postgres"]
            await use.output(*init, patience=use.PATIENCE)
        began = time.monotonic()
        load = use.Load(tally, NEAR, random.Random(chance.getrandbits(48)), began + seconds)
        sampling = asyncio.create_task(pair.sample())
        use_all(load, there)
        while time.monotonic() < load.until:
            await asyncio.sleep(chance.uniform(2, 6))
            if chance.random() < 0.06:
                await pair.stop_an_end(chance)
            else:
                await asyncio.to_thread(pair.hit_a_carrier, chance)
        await load.finished()
        if "postgres" in there:
            load.start("sums", use.sums(load))
            await load.finished()
        tally.seconds = time.monotonic() - began
        sampling.cancel()
        await empty(pair, aborted=0)
        for end, samples in pair.memory.items():
            judge(tally, end, samples)
        stop(pair)
    return tally


def use_all(load: use.Load, there: set[str]) -> None:
    """Start the clients of all services."""
    for _ in range(GAMES):
        load.start("game", use.games(load))
    load.start("deaf client", use.deaf(load))
    if "redis" in there:
        for number in range(4):
            load.start("INCR", use.counting(load, b"count %d" % number))
        for number in range(2):
            load.start("echo", use.echoing(load, b"echo %d" % number))
            load.start("publish", use.publishing(load, b"channel %d" % number))
        load.start("redis-benchmark", use.benchmark(load))
    if "postgres" in there:
        load.start("pgbench", use.transactions(load, "-c", "4", "-R", "12"))
        load.start("pgbench -C", use.transactions(load, "-c", "1", "-R", "1", "-C"))


async def kill_ends(folder: Path, transport: str, seconds: float, seed: int) -> Tally:
    """Kill ends while games are played. Old streams end, with no wrong byte; new ones must be served at once."""
    tally = Tally("soak", f"proxy, {transport.upper()}, ends killed", seed=seed)
    pair, chance = Pair(folder, transport, tally), random.Random(seed)

    async def ended(reset: bool) -> bool:
        # A kill of near closes the client's socket, perhaps in order. After a kill of far, near resets it.
        tally.add(streams_reset=1)
        if not reset and pair.killed_at["far"] > pair.killed_at["near"]:
            return False
        await served(NEAR, WITHIN)
        return True

    async with services(folder):
        for end in ("far", "near"):
            pair.start(end)
        await served(NEAR, 30)
        began = time.monotonic()
        load = use.Load(tally, NEAR, random.Random(chance.getrandbits(48)), began + seconds)
        sampling = asyncio.create_task(pair.sample())
        for _ in range(GAMES // 4):
            load.start("game", use.games(load, ended))
        while time.monotonic() < load.until:
            await asyncio.sleep(chance.uniform(3, 12))
            end = chance.choice(("near", "far"))
            pair.kill(end)
            try:
                took = await served(NEAR, WITHIN)
            except use.LostError as error:
                load.lose(f"{end} killed: {error}")
            else:
                tally.measured["longest time to a new stream, s"] = round(
                    max(took, tally.measured.get("longest time to a new stream, s", 0.0)), 2
                )
        await load.finished()
        tally.seconds = time.monotonic() - began
        sampling.cancel()
        # far keeps the session of a killed near for timeouts.resume, 30 s.
        await empty(pair, sessions=1)
        stop(pair)
    return tally


async def served(port: int, patience: float) -> float:
    """Return the seconds until a new stream is served."""
    began = time.monotonic()
    while time.monotonic() < began + patience:
        with contextlib.suppress(OSError, EOFError):
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), patience)
            try:
                writer.write(use.GAME)
                await asyncio.wait_for(reader.readexactly(1), max(0.0, began + patience - time.monotonic()))
                return time.monotonic() - began
            finally:
                writer.close()
        await asyncio.sleep(0.02)
    raise use.LostError(f"no new stream is served within {patience:.0f} s")


async def empty(pair: Pair, **wanted: int) -> None:
    """Check that neither end keeps a stream or a byte, nor more than is wanted."""
    left: dict[str, dict[str, int]] = {}
    for _ in range(90):
        await asyncio.sleep(1)
        left = {}
        for end in pair.ends:
            status = await pair.status(end)
            buffered = sum(session["buffered_bytes"] for session in status["sessions"])
            found = {"streams": status["streams"], "bytes": buffered, "sessions": len(status["sessions"])}
            found["aborted"] = status["counters"]["streams_aborted"]
            limits = {"streams": 0, "bytes": 0} | wanted
            pair.tally.measured[f"{end}, carriers lost"] = status["counters"]["carriers_lost"]
            if any(found[what] > most for what, most in limits.items()):
                left[end] = found
        if not left:
            return
    pair.tally.lost.append(f"left at the end: {left}")


def judge(tally: Tally, end: str, samples: list[tuple[float, float]]) -> None:
    """Note the memory of one end, and fit a line to the last half. It is lost if the line surely rises."""
    tally.measured[f"{end}, KiB after 1 min"] = next((kib for at, kib in samples if at > samples[0][0] + 1 / 60), 0)
    tally.measured[f"{end}, KiB at the end"] = samples[-1][1]
    slope, error = growth(samples[len(samples) // 2 :])
    tally.measured[f"{end}, KiB per hour"] = round(slope, 1)
    tally.measured[f"{end}, 95 % interval +-"] = round(error, 1)
    if slope - error > 0:
        tally.lost.append(f"{end} grows by {slope:.0f} +- {error:.0f} KiB per hour")


def growth(samples: list[tuple[float, float]], blocks: int = 12) -> tuple[float, float]:
    """Return the slope of a line through the means of blocks, and half its 95 % confidence interval.

    Memory of one moment resembles that of ten seconds before, so single samples would make the interval too narrow.
    """
    size = len(samples) // blocks
    if size == 0:
        return 0.0, float("inf")
    parts = [samples[index * size : (index + 1) * size] for index in range(blocks)]
    xs = [sum(at for at, _ in part) / size for part in parts]
    ys = [sum(kib for _, kib in part) / size for part in parts]
    x, y = sum(xs) / blocks, sum(ys) / blocks
    spread = sum((at - x) ** 2 for at in xs)
    slope = sum((at - x) * (kib - y) for at, kib in zip(xs, ys, strict=True)) / spread
    rest = sum((kib - y - slope * (at - x)) ** 2 for at, kib in zip(xs, ys, strict=True))
    return slope, t_quantile(blocks - 2) * (rest / (blocks - 2) / spread) ** 0.5


def stop(pair: Pair) -> None:
    """End both proxies."""
    for process in pair.ends.values():
        process.kill()
        process.wait()


async def work(transport: str, folder: Path, seconds: float, seed: int) -> None:
    """Do both parts with one pair, within this namespace. Print a tally of each."""
    call("ip", "link", "set", "lo", "up")
    subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
    for part, share in ((cut_carriers, 1 - KILLS), (kill_ends, KILLS)):
        own = folder / f"{transport}-{part.__name__}"
        own.mkdir()
        tally = await part(own, transport, seconds * share, seed)
        if tally.lost:
            # The logs say more.
            shutil.copytree(own, f"/tmp/gamelane-soak-lost-{own.name}-{seed}", dirs_exist_ok=True)
        print(json.dumps(asdict(tally)), flush=True)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
