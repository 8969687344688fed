"""Measures how accurately this machine emulates delay and rate, between temporary network namespaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from gamelane import _native, programs
from gamelane.errors import LabError
from gamelane.lab.namespaces import Host, Lab

PROBE = """
name = "probe"
duration = "{seconds}s"
[link]
down = "1gbit"
up = "1gbit"
[[flow]]
name = "probe"
app = "udp"
direction = "up"
rate = "160kbit"
size = "172B"
"""
"""Sends 100 packets per second, as many as a busy game."""

DELAY_MS = 40.0
RATE_BPS = 20_000_000
HEADERS = _native.IPV4_HEADER + _native.UDP_HEADER
DATAGRAM = 1000
MEDIAN_GOAL_MS, P99_GOAL_MS = 0.3, 1.0
RATE_GOAL = 0.02
PATIENCE_S = 20


@dataclass(frozen=True)
class DelayError:
    """Measured delay with `DELAY_MS` set: the kernel's time stamp at arrival minus the sender's."""

    packets: int
    median_ms: float
    p99_ms: float
    load: float
    """Load average per core. Above 1, the load of the machine dominates the delays."""

    @property
    def ok(self) -> bool:
        """Whether the error is within the goal for an idle machine."""
        return self.median_ms - DELAY_MS <= MEDIAN_GOAL_MS and self.p99_ms - DELAY_MS <= P99_GOAL_MS


@dataclass(frozen=True)
class RateError:
    """Measured rate of UDP payload with `RATE_BPS` set and 1.5 times as much offered."""

    goodput_bps: float

    @property
    def expected_bps(self) -> float:
        """The expected rate of payload; `RATE_BPS` includes IP and UDP headers."""
        return RATE_BPS * DATAGRAM / (DATAGRAM + HEADERS)

    @property
    def ok(self) -> bool:
        """Whether it is within two percent."""
        return abs(self.goodput_bps / self.expected_bps - 1) <= RATE_GOAL


def measure(seconds: int = 5) -> tuple[DelayError, RateError | None]:
    """Measure an impaired bridge between two hosts. The rate needs iperf3; without it the second value is None."""
    impair, traffic = programs.IMPAIR.find(), programs.TRAFFIC.find()
    with TemporaryDirectory(prefix="gamelane-") as name, Lab() as lab:
        folder = Path(name)
        player, bridge, server = lab.host("player"), lab.host("bridge", bridge=True), lab.host("server")
        lab.link(player, bridge, names=("eth0", "home"))
        lab.link(server, bridge, names=("eth0", "wan"))
        for host, last in ((player, 1), (server, 2)):
            host.run("ip", "addr", "add", f"10.9.0.{last}/24", "dev", "eth0")
        log = folder / "impair"
        running = lab.start(bridge, impair, "run", "home", "--to", "wan", "--delay", f"{DELAY_MS:g}ms", log=log)
        _wait(running, log, "impairing")
        (folder / "probe.toml").write_text(PROBE.format(seconds=seconds), encoding="utf-8")
        (folder / "token").write_text("only for this measurement", encoding="utf-8")
        common = [str(folder / "probe.toml"), "--token", str(folder / "token")]
        log = folder / "serve"
        serve = ["serve", *common, "--listen", "10.9.0.2:5000", "-o", str(folder / "there")]
        serving = lab.start(server, traffic, *serve, log=log)
        _wait(serving, log, "listening")
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        player.run(
            traffic,
            "send",
            *common,
            "--to",
            "10.9.0.2:5000",
            "-o",
            str(folder / "here"),
            timeout_s=seconds + PATIENCE_S,
        )
        serving.terminate()
        serving.wait(timeout=PATIENCE_S)
        delay = _delay(folder, load)
        if not shutil.which("iperf3"):
            return delay, None
        words = ["--clear", "--rate", f"{RATE_BPS}bit", "--limit", "100p"]
        bridge.run(impair, "set", "home", *words)
        return delay, _rate(lab, player, server, folder)


def _delay(folder: Path, load: float) -> DelayError:
    path = folder / "probe.toml"
    scenario = _native.Scenario.parse(path.read_text(encoding="utf-8"), str(path), [])
    run = _native.played(scenario, scenario.seed, str(folder / "here"), str(folder / "there"))
    arrived = pl.DataFrame(run.table("delay")).filter(pl.col("direction") == "up")
    took_ms = arrived["one_way_ms"].to_numpy()
    if not len(took_ms):
        raise LabError("no packet crossed the impaired bridge between the two test hosts")
    return DelayError(len(took_ms), float(np.median(took_ms)), float(np.quantile(took_ms, 0.99)), load)


def _rate(lab: Lab, player: Host, server: Host, folder: Path) -> RateError:
    log = folder / "iperf3"
    _wait(lab.start(server, "iperf3", "--server", "--forceflush", log=log), log, "listening")
    offered = ("--udp", "--bitrate", str(RATE_BPS * 3 // 2), "--length", str(DATAGRAM), "--time", "3", "--omit", "1")
    said = json.loads(player.run("iperf3", "--client", "10.9.0.2", "--json", *offered))
    end = said["end"]["sum_received"] if "sum_received" in said["end"] else said["end"]["sum"]
    return RateError(float(end["bits_per_second"]))


def _wait(program: subprocess.Popen[str], log: Path, word: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while word not in log.read_text(encoding="utf-8"):
        if program.poll() is not None or time.monotonic() > deadline:
            raise LabError(log.read_text(encoding="utf-8").strip() or f"{log.name} did not start and printed nothing")
        time.sleep(0.02)
