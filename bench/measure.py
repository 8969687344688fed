"""`gamelane measure` beside irtt, iperf3, flent and crusader, over lines whose delay, rate and queue are known.

Run as root: `python -m bench.measure`. It takes 23 minutes. With the argument `awake` it only shows what sleeping CPUs
cost, in 5. The programs must be in PATH, for flent also netperf. A program that is not there has no row. ping runs all
the time: a tool's median round trip is compared with ping's in the same seconds.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.lab.hidden import ETHERNET, Hidden, Modem, hidden

from gamelane.lab.namespaces import Lab

SERVER = "10.9.0.2"
PHASE_S = 8
ROUNDS = 3
"""Figures are medians of as many measurements."""
PAYLOAD = 1448 / (1500 + ETHERNET)
"""Share of TCP's payload in what the line counts."""
FLOOD = """
import socket, sys, time
bps = float(sys.argv[1])
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
sent = 0
while time.monotonic() < start + 400:
    at.sendto(bytes(200), ("10.9.0.2", 999))
    sent += 1
    time.sleep(max(0, start + sent * 8 * 242 / bps - time.monotonic()))
"""
COUNTERS = """
table inet probes {
    chain up { type filter hook output priority 0; meta l4proto != tcp counter; }
    chain down { type filter hook input priority 0; meta l4proto != tcp counter; }
}
"""


@dataclass(frozen=True)
class Idle:
    """A tool's median round trip without a load of its own, and when it was measured, in seconds since the start."""

    median_ms: float
    from_s: float
    to_s: float


def _gamelane(line: Hidden) -> dict[str, Any]:
    key = str(line.folder / "key")
    words = ("measure", SERVER, "--key", key, "--duration", f"{4 * PHASE_S}s", "--json")
    phases = json.loads(line.home.run(sys.executable, "-m", "gamelane", *words))["phases"]
    return {each["name"]: each for each in phases}


def _flent(line: Hidden, test: str, series: str) -> float:
    line.home.run("flent", test, "-H", SERVER, "-l", str(PHASE_S), "-D", str(line.folder))
    found = max(line.folder.glob(f"{test}-*.flent.gz"), key=os.path.getmtime)
    values = json.loads(gzip.decompress(found.read_bytes()))["results"][series]
    return float(statistics.median(each for each in values if each is not None))


def _crusader(line: Hidden, *words: str) -> str:
    seconds = ("--grace-duration", str(PHASE_S), "--load-duration", str(PHASE_S))
    return line.home.run("crusader", "test", SERVER, "--streams", "4", *seconds, "--out-name", "out", *words)


def gamelane_idle(line: Hidden) -> Idle:
    """The idle phase of a whole measurement."""
    return Idle(_gamelane(line)["idle"]["rtt_ms"]["p50"], 1.5, PHASE_S - 0.5)


def irtt_idle(line: Hidden) -> Idle:
    """UDP, 50 packets a second."""
    said = line.home.run("irtt", "client", "-i", "20ms", "-d", f"{PHASE_S}s", "-Q", "-o", "-", SERVER)
    return Idle(json.loads(said)["stats"]["rtt"]["median"] / 1e6, 0.5, PHASE_S)


def flent_idle(line: Hidden) -> Idle:
    """Its test `ping`: ICMP, 5 a second."""
    return Idle(_flent(line, "ping", "Ping (ms) ICMP"), 1, PHASE_S)


def crusader_idle(line: Hidden) -> Idle:
    """UDP, 200 packets a second."""
    _crusader(line, "--idle")
    raw = max(Path("crusader-results").glob("out*.crr"), key=os.path.getmtime)
    line.home.run("crusader", "export", str(raw), "-f", "-o", "out.json")
    pings = (each["latency"] for each in json.loads(Path("out.json").read_text())["pings"])
    median = statistics.median(1e3 * each["total"]["secs"] + each["total"]["nanos"] / 1e6 for each in pings if each)
    return Idle(median, 2.5, PHASE_S + 1)


def gamelane_rates(line: Hidden) -> tuple[float, float]:
    """Phases `up` and `down` of a measurement, 4 streams each."""
    phases = _gamelane(line)
    return phases["up"]["up"]["mbps"], phases["down"]["down"]["mbps"]


def iperf3_rates(line: Hidden) -> tuple[float, float]:
    """Four streams each way, without the first 2 s, as the receiver counts."""

    def rate(*reverse: str) -> float:
        said = line.home.run("iperf3", "-c", SERVER, "-P", "4", "-t", str(PHASE_S), "-O", "2", "-J", *reverse)
        return float(json.loads(said)["end"]["sum_received"]["bits_per_second"]) / 1e6

    return rate(), rate("-R")


def flent_rates(line: Hidden) -> tuple[float, float]:
    """One stream of netperf each way: the median of its intervals."""
    return _flent(line, "tcp_upload", "TCP upload"), _flent(line, "tcp_download", "TCP download")


def crusader_rates(line: Hidden) -> tuple[float, float]:
    """Four streams each way, as it prints them."""
    down, up = re.findall(r"Throughput: ([\d.]+) Mbps", _crusader(line, "--upload", "--download"))
    return float(up), float(down)


IDLE: dict[str, tuple[Callable[[Hidden], Idle], tuple[str, ...]]] = {
    "gamelane measure": (gamelane_idle, ()),
    "irtt": (irtt_idle, ("irtt",)),
    "flent": (flent_idle, ("flent",)),
    "crusader": (crusader_idle, ("crusader",)),
}
RATES: dict[str, tuple[Callable[[Hidden], tuple[float, float]], tuple[str, ...]]] = {
    "gamelane measure": (gamelane_rates, ()),
    "iperf3": (iperf3_rates, ("iperf3",)),
    "flent": (flent_rates, ("flent", "netperf")),
    "crusader": (crusader_rates, ("crusader",)),
}
"""Tools, and the programs they need."""


@contextmanager
def measured_line(modem: Modem) -> Iterator[Hidden]:
    """Make a line with all servers. TCP is Reno, which fills any buffer."""
    with TemporaryDirectory() as folder, Lab() as lab:
        line = hidden(lab, Path(folder), modem)
        os.chdir(folder)
        for host in (line.home, line.server):
            host.run("sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
        key = line.folder / "key"
        key.write_text("a key for this bench only, 32 characters")
        key.chmod(0o600)
        line.serve(key)
        for name, *words in (("irtt", "server"), ("iperf3", "-s"), ("netserver", "-D"), ("crusader", "serve")):
            if shutil.which(name):
                lab.start(line.server, name, *words, log=line.folder / f"{name}.log")
        (line.folder / "counters.nft").write_text(COUNTERS)
        line.home.run("nft", "-f", str(line.folder / "counters.nft"))
        time.sleep(2)
        yield line


def probes(line: Hidden) -> dict[str, float]:
    """Bits that the line has counted of packets other than TCP's."""
    found = {}
    for each in json.loads(line.home.run("nft", "-j", "list", "table", "inet", "probes"))["nftables"]:
        if "rule" in each:
            counter = next(word["counter"] for word in each["rule"]["expr"] if "counter" in word)
            found[each["rule"]["chain"]] = 8.0 * (counter["bytes"] + ETHERNET * counter["packets"])
    return found


def delays(line: Hidden) -> None:
    """Print each tool's median round trip beside ping's."""
    for name, (tool, needed) in IDLE.items():
        if all(map(shutil.which, needed)):
            found = [_delay(line, tool) for _ in range(ROUNDS)]
            apart = statistics.median(own - pings for own, pings in found)
            print(
                f"  {name:16} {', '.join(f'{own:.2f}' for own, _ in found)} ms, minus ping's: {apart:+.2f}", flush=True
            )


def _delay(line: Hidden, tool: Callable[[Hidden], Idle]) -> tuple[float, float]:
    """Return a tool's median and ping's, in ms."""
    log = line.folder / "ping.txt"
    ping = line.lab.start(line.home, "ping", "-D", "-i", "0.02", SERVER, log=log)
    began = time.time()
    found = tool(line)
    ping.send_signal(signal.SIGINT)
    ping.wait()
    trips = re.findall(r"^\[([\d.]+)\].*time=([\d.]+) ms", log.read_text(), re.MULTILINE)
    during = [float(ms) for at, ms in trips if found.from_s < float(at) - began < found.to_s]
    return found.median_ms, statistics.median_grouped(during, 0.1)  # ping rounds to 0.1 ms


@contextmanager
def awake() -> Iterator[None]:
    """Keep every CPU awake by a loop of idle priority."""
    loop = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    loops = [subprocess.Popen((sys.executable, "-c", loop)) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def asleep_and_awake(line: Hidden) -> None:
    """Print the median round trips of gamelane and irtt beside ping's, by turns with CPUs that may sleep or not."""
    for state in (nullcontext, awake) * ROUNDS:
        with state():
            time.sleep(1)
            found = {name: _delay(line, tool) for name, tool in (("gamelane", gamelane_idle), ("irtt", irtt_idle))}
        shown = "; ".join(
            f"{name} {own:.3f}, ping {ping:.3f}: {own - ping:+.3f}" for name, (own, ping) in found.items()
        )
        print(f"  CPUs {'kept awake' if state is awake else 'may sleep '}: {shown}", flush=True)


def rates(line: Hidden, modem: Modem) -> None:
    """Print each tool's rates beside what the line leaves to TCP."""
    for name, (tool, needed) in RATES.items():
        if not all(map(shutil.which, needed)):
            continue
        found = [_rates(line, modem, tool) for _ in range(ROUNDS)]
        for way in ("up", "down"):
            shown = ", ".join(f"{each[way][0]:.2f}" for each in found)
            apart = statistics.median(100 * (mbps / left - 1) for mbps, left in (each[way] for each in found))
            print(f"  {name:16} {way:4} {shown} Mbit/s, beside what is left to TCP: {apart:+.1f} %", flush=True)


def _rates(line: Hidden, modem: Modem, tool: Callable[[Hidden], tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return each direction's rate and what the probes left to TCP, in Mbit/s."""
    before, began = probes(line), time.time()
    up, down = tool(line)
    after, took = probes(line), time.time() - began
    probing = {way: (after[way] - before[way]) / took for way in after}
    return {
        way: (mbps, (kbit * 1e3 - probing[way]) * PAYLOAD / 1e6)
        for way, kbit, mbps in (("up", modem.up_kbit, up), ("down", modem.down_kbit, down))
    }


MODEMS = (Modem(5_000, 20_000, 60_000, 250_000, 20), Modem(20_000, 100_000, 150_000, 500_000, 5))

if __name__ == "__main__":
    print(f"# Linux {os.uname().release}, load average {os.getloadavg()[0]:.1f}")
    if "awake" in sys.argv:
        with measured_line(MODEMS[0]) as line:
            asleep_and_awake(line)
        sys.exit()
    for modem in MODEMS:
        with measured_line(modem) as line:
            print(f"{modem.up_kbit // 1000}/{modem.down_kbit // 1000} Mbit/s, {modem.delay_ms} ms each way")
            delays(line)
            rates(line, modem)
    modem = Modem(5_000, 20_000, 30_000, 250_000, 20)  # below 100 ms, because ping rounds longer times to 1 ms
    with measured_line(modem) as line:
        full = 8 * modem.up_bytes / modem.up_kbit
        print(f"the same 5/20 Mbit/s, its queue up filled by UDP: {2 * modem.delay_ms} + {full:.0f} ms")
        line.lab.start(line.home, sys.executable, "-c", FLOOD, str(1050 * modem.up_kbit))
        time.sleep(6)
        delays(line)
