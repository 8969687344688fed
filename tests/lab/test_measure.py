"""`gamelane measure` against `gamelane serve`: on loopback, and over a link of known rate and delay."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import gamelane
from gamelane import programs
from tests.lab.conftest import Triple, program
from tests.real_time import in_time

COMMAND = [sys.executable, "-m", "gamelane"]
PATIENCE_S = 120


@contextmanager
def _serving(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Serve on loopback, and give the server's address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{probe.getsockname()[1]}"
    log = folder / "serve.log"
    words = [str(program(programs.TRAFFIC)), "listen", "--listen", at, *options]
    with log.open("w") as said, subprocess.Popen(words, stderr=said) as server:
        try:
            _wait_for("listening", log)
            yield at, server
        finally:
            server.terminate()


def _wait_for(word: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while word not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)


def _wait_for_a_child(of: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{of.pid}/task/{of.pid}/children")
    deadline = time.monotonic() + PATIENCE_S
    while not children.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _measure(*words: str | Path) -> subprocess.CompletedProcess[str]:
    line = [*COMMAND, "measure", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=240)


def test_a_measurement_has_phases_records_and_a_report(tmp_path: Path) -> None:
    with _serving(tmp_path) as (at, _):
        done = _measure(at, "--duration", "8s", "--streams", "2", "--json", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [phase["name"] for phase in document["phases"]] == ["idle", "up", "down", "both"]
    for phase in document["phases"]:
        loads = {"idle": (), "both": ("up", "down")}.get(phase["name"], (phase["name"],))
        assert all((phase[way]["mbps"] is not None) == (way in loads) for way in ("up", "down")), phase
        assert all(phase[way]["mbps"] > 1 for way in loads), phase
        assert phase["rtt_ms"]["p50"] > 0
        assert phase["up"]["sent"] > 50
        assert phase["down"]["sent"] > 50
    results = gamelane.read(tmp_path / "out")
    assert (results.engine, set(results.only.summary["flows"])) == (
        "live",
        {"game", "call", "load-up", "load-down", "load-both-up", "load-both-down"},
    )
    assert set(results.tcp["flow"]) == {"load-up", "load-down", "load-both-up", "load-both-down"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"grade {document['grade']}: " in page
    repeat = f"gamelane measure {at} --duration 8s --streams 2 -o {tmp_path / 'out'}"
    assert f"<code>{repeat}</code>" in page
    (tmp_path / "out" / "report.html").unlink()
    line = [*COMMAND, "report", str(tmp_path / "out")]
    again = subprocess.run(line, capture_output=True, text=True, check=True, timeout=240)
    assert f"grade {document['grade']}: " in again.stdout
    assert (tmp_path / "out" / "report.html").read_text() == page


def test_a_rate_at_the_servers_limit_is_said_to_be_that(tmp_path: Path) -> None:
    """Regression: a server's `--rate` was shown as the rate of the line."""
    with _serving(tmp_path, "--rate", "20") as (at, _):
        done = _measure(at, "--duration", "8s", "--plan", "cable-250-20", "-o", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    for said in (
        "The server limits each direction to 20 Mbit/s",
        "You pay for Cable (DOCSIS 3.0), 250/20 Mbit/s. TCP got",
    ):
        assert (done.returncode, said in done.stdout, said in page) == (0, True, True), done.stdout + done.stderr
    sold = json.loads((tmp_path / "out" / "measure.json").read_text())["sold"]
    assert (sold["up_mbit"], sold["down_mbit"]) == (20, 250)


def test_refusals_name_the_remedy(tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text("a secret of both ends")
    other.write_text("another secret of mine")
    with _serving(tmp_path, "--key", str(key), "--seconds", "10") as (at, _):
        for words, code, said in (
            (["--key", other], 6, "the server has another key"),
            (["--key", key, "--duration", "11s"], 6, "--duration 10s"),
            (["--key", key, "--congestion", "nonesuch"], 2, "--congestion nonesuch"),
            (["--key", tmp_path / "none"], 2, "no such file"),
            (["--duration", "1s"], 2, "8s to 600s"),
            (["--plan", "cable-250"], 2, "did you mean `cable-250-20`"),
        ):
            done = _measure(at, *words)
            assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    listens = [str(program(programs.TRAFFIC)), "listen", "--listen", "0.0.0.0:0"]
    done = subprocess.run(listens, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "both ends need a key" in done.stderr) == (2, True)


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    with _serving(tmp_path) as (at, _):
        line = [*COMMAND, "measure", at, "--duration", "40s", "--json", "-o", str(tmp_path / "out")]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as measuring:
            _wait_for_a_child(measuring)
            time.sleep(3)
            measuring.send_signal(signal.SIGINT)
            printed, said = measuring.communicate(timeout=PATIENCE_S)
    assert measuring.returncode == 130, said
    assert "stopped early" in said
    document = json.loads(printed)
    assert document["stopped"]
    assert [phase["name"] for phase in document["phases"]] == ["idle"]
    assert document["phases"][0]["up"]["sent"] > 50
    assert (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(("cause", "said"), [(signal.SIGKILL, "ended early"), (signal.SIGSTOP, "last heard after")])
def test_a_server_that_ends_or_falls_silent_is_an_error(tmp_path: Path, cause: signal.Signals, said: str) -> None:
    """Regression: loads of a server that had gone moved nothing, and the line got grade A+."""
    with _serving(tmp_path) as (at, server):
        words = ["measure", at, "--seconds", "8", "--output", str(tmp_path / "raw")]
        line = [str(program(programs.TRAFFIC)), *words]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as measuring:
            assert measuring.stdout is not None
            while json.loads(measuring.stdout.readline())["phase"] != "up":
                pass
            server.send_signal(cause)
            printed, errors = measuring.communicate(timeout=PATIENCE_S)
            server.kill()
    assert (measuring.returncode, said in errors) == (6, True), errors
    ended = json.loads(printed.splitlines()[-1])
    assert [phase["phase"] for phase in ended["phases"]] == ["idle"]
    assert said in ended["failed"]


def test_phases_before_a_server_ended_are_kept(tmp_path: Path) -> None:
    """Regression: everything was thrown away."""
    with _serving(tmp_path) as (at, server):
        line = [*COMMAND, "measure", at, "--duration", "12s", "--json", "-o", str(tmp_path / "out")]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as measuring:
            _wait_for_a_child(measuring)
            time.sleep(7.5)
            server.kill()
            printed, said = measuring.communicate(timeout=PATIENCE_S)
    assert (measuring.returncode, "kept: idle, up; missing: down, both" in said) == (6, True), said
    document = json.loads(printed)
    assert [phase["name"] for phase in document["phases"]] == ["idle", "up"]
    assert "ended early" in document["failed"]
    assert document["phases"][0]["rtt_ms"]["p50"] > 0
    assert set(gamelane.read(tmp_path / "out").only.summary["flows"]) >= {"game", "call"}


KEY = "a secret of both ends"
DELAY_MS = 5
UP_MBPS, DOWN_MBPS = 5, 20
PROBES_MBPS = {"up": (50 * 214 + 33 * 102) * 8e-6, "down": (50 * 214 + 30 * 214) * 8e-6}
"""Ethernet rate of call and game."""


def test_rates_and_round_trips_are_those_of_the_link(
    triple: Triple, tmp_path: Path, up_to_three_times: Callable[[Callable[[], None]], None]
) -> None:
    traffic, impair = program(programs.TRAFFIC), program(programs.IMPAIR)
    key = tmp_path / "key"
    key.write_text(KEY)
    for host, rate in ((triple.player, UP_MBPS), (triple.server, DOWN_MBPS)):
        shape = f"tc qdisc add dev eth0 root tbf rate {rate}mbit burst 5k limit 100k"
        host.run(*shape.split())
    between = tmp_path / "impair.log"
    triple.lab.start(triple.bridge, impair, "run", "home", "--to", "wan", "--delay", f"{DELAY_MS}ms", log=between)
    _wait_for("impairing home", between)
    log = tmp_path / "serve.log"
    triple.lab.start(triple.server, traffic, "listen", "--listen", "10.9.0.2:27970", "--key", key, log=log)
    _wait_for("listening", log)

    def once() -> None:
        ping = triple.lab.start(triple.player, "ping", "-i", "0.05", "-c", "60", "10.9.0.2")
        words = [*COMMAND, "measure", "10.9.0.2", "--key", str(key), "--duration", "20s", "--json"]
        document: dict[str, Any] = json.loads(triple.player.run(*words, timeout_s=PATIENCE_S))
        assert ping.stdout is not None
        trips = sorted(float(ms) for ms in re.findall(r"time=([\d.]+) ms", ping.stdout.read()))
        phases = {phase["name"]: phase for phase in document["phases"]}
        median, seen = trips[len(trips) // 2], phases["idle"]["rtt_ms"]["p50"]
        in_time(abs(seen - median) < 0.1, f"RTT {seen} ms, ping {median} ms")
        for way, rate in (("up", UP_MBPS), ("down", DOWN_MBPS)):
            goodput = (rate - PROBES_MBPS[way]) * 1448 / 1514
            measured = phases[way][way]["mbps"]
            in_time(abs(measured - goodput) < 0.02 * goodput, f"{way} {measured} Mbit/s, link {goodput} Mbit/s")
            one_way = phases["idle"][way]["one_way_ms"]["p50"]
            in_time(abs(one_way - DELAY_MS) < 0.5, f"{way} {one_way} ms")

    up_to_three_times(once)
