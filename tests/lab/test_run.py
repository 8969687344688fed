"""`gamelane run --engine lab` as a command: real packets, records like a simulation's, and no process remains."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from itertools import count
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import gamelane
from gamelane.errors import LabError, UsageError
from gamelane.lab import run as lab
from gamelane.lab.ours import Ours
from tests.cli.command import GAMELANE
from tests.conftest import ROOT, Repeat
from tests.lab.running import HOUSEHOLD, Command
from tests.needs import lacking
from tests.real_time import in_time

MIXED = """
name = "mixed"
duration = "5s"
[link]
down = "8mbit"
up = "2mbit"
rtt = "20ms"
loss = { down = "2%" }
overhead = "ethernet"
[gateway]
shape = { up = "1900kbit" }
autorate = { up = { highest = "2mbit" } }
up = { queue = "priority", acks = "prioritise" }
down = { queue = "fq_codel", ecn = true }
priority = ["call"]
[tcp]
congestion = "cubic"
[[flow]]
name = "call"
app = "voip"
codec = "g729"
dscp = "EF"
[[flow]]
name = "page"
app = "web"
size = "64KiB"
every = "1s"
[[flow]]
name = "video"
app = "dash"
chunk = "1s"
rates = ["500kbit", "1mbit"]
requests = "adaptive"
buffer = "2s"
[[flow]]
name = "far"
app = "bulk"
direction = "down"
size = "100KiB"
start = "500ms"
rtt = "60ms"
tcp = { ecn = true }
"""


@pytest.fixture(scope="module", autouse=True)
def able() -> None:
    """Skip where the lab cannot run."""
    try:
        lab.check(Ours())
    except (LabError, UsageError) as error:
        lacking(str(error).splitlines()[0])


def _interfaces() -> str:
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout


def test_a_household_behind_two_queues(tmp_path: Path, up_to_three_times: Repeat) -> None:
    outs = (tmp_path / f"out{number}" for number in count())
    before = _interfaces()
    up_to_three_times(lambda: _household(tmp_path, next(outs), before))


def _household(folder: Path, out: Path, before: str) -> None:
    command = Command(folder, HOUSEHOLD)
    said, talk = command.run("--compare", "gateway.up.queue=fifo,fq_codel", "--json", "--pcap", "-o", out)
    assert "lab: run 2 of 2 (fq_codel, seed 3)" in talk
    assert not command.processes()
    assert list(command.place.iterdir()) == []
    assert _interfaces() == before

    document = json.loads(said)
    schema = json.loads((ROOT / "docs" / "schema" / "run.schema.json").read_text())
    jsonschema.validate(document, schema)
    assert document["engine"] == "lab"
    flows = {name: variant["runs"][0]["flows"] for name, variant in document["variants"].items()}
    rtt = {name: own["quake3"]["rtt_ms"] for name, own in flows.items()}
    # 64 KiB at 1 Mbit/s take 524 ms, and NewReno fills them. Alone, the game waits for one or two packets of 12 ms.
    in_time(rtt["fifo"]["p95"] > 450 and rtt["fifo"]["p95"] > 3 * rtt["fq_codel"]["p95"], rtt)
    assert rtt["fq_codel"]["p5"] >= 40
    for own in flows.values():
        # 0.95 Mbit/s of data, from the start of iperf3 on.
        assert own["upload"]["goodput_bps"] < 0.97e6
        in_time(own["upload"]["goodput_bps"] > 0.6e6, own["upload"]["goodput_bps"])
        echo, taps = own["quake3"]["rtt_echo_ms"]["p50"], own["quake3"]["rtt_ms"]["p50"]
        in_time(echo == pytest.approx(taps, abs=3, rel=0.02), f"{echo} ms by echoes, {taps} ms by taps")
        for flow in own.values():
            for way in ("up", "down"):
                assert flow[way]["received"] + flow[way]["lost"] <= flow[way]["sent"]

    results = gamelane.read(out)
    assert results.engine == "lab"
    simulated = gamelane.load(command.scenario).run().frames
    for name, frame in results.frames.items():
        own = {key: kind for key, kind in frame.schema.items() if key != "variant"}
        assert own == {key: kind for key, kind in simulated[name].schema.items() if key != "variant"}, name
    for table in ("rtt", "delay", "windows", "queues", "tcp"):
        seen = results.frames[table]
        assert set(seen["variant"].unique()) == {"fifo", "fq_codel"}, table
    states = results.tcp.filter((pl.col("variant") == "fifo") & (pl.col("side") == "client"))
    assert states["in_flight_bytes"].to_numpy().max() <= 64 * 1024
    backlog = results.queues.filter((pl.col("variant") == "fifo") & (pl.col("direction") == "up"))["packets"]
    in_time(backlog.to_numpy().max() > 30, backlog.to_numpy().max())
    assert (out / "report.html").is_file()

    # The Rust analysis finds the same round trips in the captures of both sides.
    captures = [str(out / f"fifo-seed3-{side}.pcapng") for side in ("lan", "server")]
    paired = subprocess.run([GAMELANE, "analyze", *captures, "--json"], capture_output=True, text=True, check=True)
    games = [flow for flow in json.loads(paired.stdout)["pair"]["flows"] if flow["server"].endswith(":27960")]
    in_time(games[0]["rtt_ms"]["p50"] == pytest.approx(rtt["fifo"]["p50"], abs=3, rel=0.02), games[0]["rtt_ms"])


def test_every_kind_of_application_behind_a_gateway_that_shapes(tmp_path: Path, up_to_three_times: Repeat) -> None:
    outs = (tmp_path / f"out{number}" for number in count())
    up_to_three_times(lambda: _mixed(tmp_path, next(outs)))


def _mixed(folder: Path, out: Path) -> None:
    command = Command(folder, MIXED)
    said, _ = command.run("--json", "-o", out, engine="sim,lab")
    document = json.loads(said)
    assert document["engine"] == "sim + lab"
    assert list(document["variants"]) == ["run (sim)", "run (lab)"]
    assert (out / "report.html").is_file()
    assert gamelane.read(out / "sim").engine == "sim"
    flows = document["variants"]["run (lab)"]["runs"][0]["flows"]
    # 50 per second, from the handshake on.
    assert flows["call"]["up"]["received"] <= 250
    in_time(flows["call"]["up"]["received"] > 200, flows["call"]["up"])
    in_time(flows["page"]["transfers"] >= 3 and flows["video"]["chunks"] >= 3, (flows["page"], flows["video"]))
    assert flows["far"]["rtt_ms"]["p5"] >= 60
    in_time(flows["call"]["rtt_ms"]["p5"] < 40, flows["call"]["rtt_ms"])
    in_time(flows["far"]["goodput_bps"] > 100 * 1024 * 8 / 5, flows["far"])
    follows = document["variants"]["run (lab)"]["runs"][0]["autorate"]["up"]
    in_time(follows["windows"] > 10, follows)
    assert follows["rate_bps"]["mean"] <= 2e6
    in_time(follows["rate_bps"]["mean"] > 1e6, follows)
    results = gamelane.read(out / "lab")
    assert set(results.rates["direction"]) == {"up"}
    assert set(results.rates["link_bps"]) == {2_000_000}
    lost = results.drops.filter(pl.col("direction") == "down")["reason"].unique().to_list()
    in_time("link" in lost, lost)
    assert set(results.app["kind"].unique()) >= {"chunk", "transfer"}
    assert results.tcp.filter(pl.col("flow") == "video")["srtt_ms"].drop_nulls().to_numpy().max() > 20


def test_ctrl_c_keeps_what_had_finished(tmp_path: Path) -> None:
    command = Command(tmp_path, HOUSEHOLD)
    out = tmp_path / "out"
    with command.start("--set", "duration=1s", "--repeat", "2", "-o", out) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "run 2 of 2" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        _, complaint = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "1 of 2 runs finished" in complaint
    assert [run.seed for run in gamelane.read(out).runs] == [3]
    command.gone()
    assert list(command.place.iterdir()) == []


def test_nothing_outlives_a_killed_command(tmp_path: Path) -> None:
    before = _interfaces()
    command = Command(tmp_path, HOUSEHOLD)
    with command.start("--set", "duration=60s") as process:
        deadline = time.monotonic() + 120
        while not any("tcpdump" in line for line in command.processes()):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.communicate(timeout=240)
    command.gone()
    assert _interfaces() == before
