"""Real traffic on loopback, from the command to records."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gamelane
from gamelane import live, programs
from gamelane.cli import main
from tests.lab import record_files
from tests.lab.conftest import program

SCENARIO = """
name = "pair"
duration = "2s"
[link]
down = "1gbit"
up = "1gbit"
[[flow]]
name = "game"
app = "game"
model = "quake3"
[[flow]]
name = "call"
app = "voip"
codec = "g729"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"""


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _play(folder: Path, *client: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Serve and send once; return the client's end and the server's output."""
    traffic = program(programs.TRAFFIC)
    scenario = folder / "pair.toml"
    scenario.write_text(SCENARIO)
    at = f"127.0.0.1:{_free_port()}"
    log = folder / "serve.log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [traffic, "serve", scenario, "--listen", at, "-o", folder / "there"], stdout=said, stderr=said
        ) as server,
    ):
        deadline = time.monotonic() + 120
        while "listening" not in log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        command = [str(traffic), "send", str(scenario), "--to", at, "-o", str(folder / "here"), *client]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        server.terminate()
    return done, log.read_text()


def test_both_ends_agree_and_become_records(tmp_path: Path) -> None:
    done, _ = _play(tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["flows"]
    assert set(said) == {"game", "call"}, "what is over TCP is not sent"
    assert said["call"]["client"]["sent"] == said["call"]["server"]["received"] == 100
    match = record_files.read(tmp_path / "here", tmp_path / "there")
    results = live.results(gamelane.load(tmp_path / "pair.toml"), tmp_path / "here", tmp_path / "there", seed=1)
    results.write(tmp_path / "records")
    again = gamelane.read(tmp_path / "records")
    assert again.engine == "live"
    sent = {flow: own["up"]["sent"] for flow, own in again.runs[0].summary["flows"].items()}
    assert sent == {flow: own["client"]["sent"] for flow, own in said.items()}
    assert again.drops.is_empty()
    simulated = gamelane.load(tmp_path / "pair.toml").run().frames
    for name, frame in again.frames.items():
        assert frame.schema == simulated[name].schema, name
    # Same generators, same seed: the same packets as in the simulator, except the last ones.
    up = match.client[(match.client["what"] == record_files.SENT) & (match.client["flow"] == 0)]
    assert len(up) == pytest.approx(said["game"]["client"]["sent"], abs=0)
    rtt = again.rtt["rtt_ms"].to_numpy()
    echoes = match.client[match.client["what"] == record_files.ROUND_TRIP]
    assert len(rtt) > 0
    # Echoes after the end of the scenario are left out.
    assert set((rtt * 1e6).round()) <= set(echoes["value_ns"])


def test_sizes_are_those_of_the_simulation(tmp_path: Path) -> None:
    _play(tmp_path, "--flow", "game")
    match = record_files.read(tmp_path / "here", tmp_path / "there")
    from gamelane import _native

    scenario = gamelane.load(tmp_path / "pair.toml").scenario
    generated = _native.generate(scenario, scenario.seed)
    for up, of in ((True, match.client), (False, match.server)):
        assert of is not None
        sent = of[of["what"] == record_files.SENT]
        assert sent["payload"].tolist() == generated["payload"][generated["up"] == up].tolist()


def test_a_token_is_needed_beyond_loopback_and_another_scenario_is_refused(tmp_path: Path) -> None:
    traffic = program(programs.TRAFFIC)
    (tmp_path / "pair.toml").write_text(SCENARIO)
    far = subprocess.run(
        [traffic, "serve", tmp_path / "pair.toml", "--listen", "0.0.0.0:0"], capture_output=True, text=True, check=False
    )
    assert far.returncode == 2
    assert "beyond loopback both ends need a token" in far.stderr
    done, _ = _play(tmp_path, "--set", "duration=3s")
    assert done.returncode == 6
    assert "another scenario" in done.stderr


def test_the_report_says_real_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _play(tmp_path)
    words = ["traffic", "join", str(tmp_path / "pair.toml"), str(tmp_path / "here"), str(tmp_path / "there")]
    monkeypatch.setattr(sys, "argv", ["gamelane", *words, "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert "real packets" in capsys.readouterr().out
    assert (tmp_path / "out" / "report.html").is_file()


def test_what_is_no_file_of_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\xff" * 80)
    (tmp_path / "pair.toml").write_text(SCENARIO)
    with pytest.raises(gamelane.errors.RecordsError, match="text: these are no records of gamelane-traffic"):
        live.results(gamelane.load(tmp_path / "pair.toml"), tmp_path / "text", seed=1)
