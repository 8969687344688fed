"""`gamelane measure --import`: files that irtt 0.9, iperf 3.12 and flent 2.1.1 wrote on loopback.

netperf 2.7.1 (commit afc51ff) measured a modem of 5 Mbit/s up and 20 down.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gamelane
from gamelane.errors import RecordsError
from gamelane.foreign import joined
from tests.needs import lacking

DATA = Path(__file__).parent / "data"
IRTT, PING = DATA / "irtt.json.gz", DATA / "ping.flent.gz"
NETPERF = {way: DATA / f"netperf-{way}.txt" for way in ("up", "down")}
LOADS = [DATA / f"iperf3-{way}.json" for way in ("up", "down", "both")]


def _import(*files: Path, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    given = [word for file in files for word in ("--import", str(file))]
    line = [sys.executable, "-m", "gamelane", "measure", *given, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)


def _document(*files: Path, words: tuple[str, ...] = ()) -> dict[str, Any]:
    done = _import(*files, words=(*words, "--json"))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_files_of_one_measurement_give_its_phases_and_figures(tmp_path: Path) -> None:
    """The figures are those that irtt and iperf3 state themselves."""
    document = _document(IRTT, *LOADS, words=("-o", str(tmp_path / "out")))
    phases = {phase["name"]: phase for phase in document["phases"]}
    assert list(phases) == ["idle", "up", "down", "both"]
    trips = [
        trip["delay"]["rtt"] / 1e6
        for trip in json.loads(gzip.decompress(IRTT.read_bytes()))["round_trips"]
        if trip["lost"] == "false"
    ]
    for phase in phases.values():
        assert min(trips) <= phase["rtt_ms"]["p50"] <= max(trips)
        assert phase["up"]["sent"] > 20
        assert phase["up"]["lost"] == 0
        assert phase["grade"] is not None
    for name, way, mbps in (("up", "up", 10), ("down", "down", 8), ("both", "up", 8), ("both", "down", 8)):
        assert phases[name][way]["mbps"] == pytest.approx(mbps, rel=0.06)
    assert document["grade"] == "A+"
    results = gamelane.read(tmp_path / "out")
    assert set(results.only.summary["flows"]) == {"probe", "load-up", "load-down"}
    assert (tmp_path / "out" / "report.html").exists()


def test_what_files_do_not_say_is_unknown(tmp_path: Path) -> None:
    """A load alone has rates and no grade; flent's pings have no losses."""
    loads = ((LOADS[0], "up", "up"), (NETPERF["down"], "down", "down"), (LOADS[2], "both", "down"))
    for file, phase, way in loads:
        done = _import(file, words=("--json", "-o", str(tmp_path / file.stem)))
        assert (done.returncode, "run irtt beside the loads" in done.stderr) == (0, True), done.stderr
        document = json.loads(done.stdout)
        found = document["phases"][0]
        assert (found["name"], found["rtt_ms"], document["grade"]) == (phase, None, None)
        assert found[way]["mbps"] > 7
    idle = _document(PING)["phases"][0]
    assert (idle["name"], idle["up"]["lost"], idle["grade"]) == ("idle", 0, None)
    assert idle["rtt_ms"]["p50"] > 0


def test_a_page_says_whose_packets_were_measured(tmp_path: Path) -> None:
    """Regression: irtt's packets became Counter-Strike's, "recorded at both ends"; unknown losses became none."""
    for name, file, said in (("irtt", IRTT, "packets of irtt"), ("flent", PING, "packets of flent")):
        _document(file, words=("-o", str(tmp_path / name)))
        page = (tmp_path / name / "report.html").read_text()
        assert said in page
        assert f"gamelane measure --import {file} -o {tmp_path / name}" in page
        for untrue in ("Counter-Strike", "our construction", "recorded at both ends", "none of its packets"):
            assert untrue not in page[page.index("<main>") : page.rindex("How to repeat this")], untrue
    line = [sys.executable, "-m", "gamelane", "report", str(tmp_path / "flent")]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=120)
    assert "how many of its packets are lost is unknown" in done.stdout


def test_a_part_of_the_phases_has_no_letter() -> None:
    """Regression: the phase without its load was missing, and the line got grade A+."""
    done = _import(IRTT, LOADS[0])
    assert "No grade: phases down, both have no complete measurement" in done.stdout
    assert _document(IRTT, LOADS[0])["grade"] is None


def test_netperf_says_the_rates_of_its_modem() -> None:
    """Without the first 2 s: 1448 of each 1514 B are payload. Its sender counts an upload, so that rate wanders."""
    for way, mbps, share in (("up", 5, 0.03), ("down", 20, 0.001)):
        (phase,) = _document(NETPERF[way])["phases"]
        assert phase[way]["mbps"] == pytest.approx(mbps * 1448 / 1514, rel=share)


@pytest.mark.parametrize(("streams", "which"), [(1, "  5"), (2, "SUM")])
def test_the_servers_output_says_what_arrived(tmp_path: Path, streams: int, which: str) -> None:
    """iperf3 counts an upload when TCP takes it.

    Totals, single streams beside a sum, and what the server waited for after the client's end do not count.
    """
    written = json.loads(LOADS[0].read_text())
    written["start"]["test_start"]["num_streams"] = streams
    lines = [
        f"[{which}]   {second}.00-{second + 1}.00   sec   477 KBytes  3.91 Mbits/sec                  "
        for second in range(4)
    ]
    lines += [f"[{which}]   4.00-4.90   sec  4.77 KBytes  43.4 Kbits/sec                  "]
    lines += [f"[{which}]   0.00-4.04   sec   977 KBytes  1.95 Mbits/sec                  receiver"]
    if streams > 1:
        lines += ["[  7]   0.00-1.00   sec   238 KBytes  1.95 Mbits/sec                  "]
    written["server_output_text"] = "\n".join(lines)
    file = tmp_path / "server.json"
    file.write_text(json.dumps(written))
    assert _document(file)["phases"][0]["up"]["mbps"] == pytest.approx(3.91, rel=0.01)


def test_a_server_that_writes_json_says_what_arrived_too(tmp_path: Path) -> None:
    written = json.loads(LOADS[0].read_text())
    written["server_output_json"] = {
        "intervals": [
            {"streams": [], "sum": {"seconds": 1.0, "bytes": 488_750, "sender": False, "omitted": False}}
            for _ in range(4)
        ]
    }
    file = tmp_path / "server.json"
    file.write_text(json.dumps(written))
    assert _document(file)["phases"][0]["up"]["mbps"] == pytest.approx(3.91, rel=0.01)


@pytest.mark.parametrize("seconds", [0.93, 0.97, 1.01, 1.04, 1.06])
def test_a_steady_rate_is_steady_wherever_a_phase_begins(tmp_path: Path, seconds: float) -> None:
    written = json.loads(LOADS[0].read_text())
    every = {"seconds": seconds, "bytes": round(1.25e6 * seconds), "sender": True, "omitted": False}
    written["intervals"] = [{"streams": [], "sum": every} for _ in range(4)]
    file = tmp_path / "steady.json"
    file.write_text(json.dumps(written))
    assert _document(file)["phases"][0]["up"]["mbps"] == pytest.approx(10, rel=0.01)


def test_a_flent_file_of_ours_is_read_by_flent_and_comes_back(tmp_path: Path) -> None:
    """Medians and rates come back within 10 %: bytes are those of a second, which moves the ends of a load."""
    first = _document(IRTT, LOADS[0], words=("-o", str(tmp_path)))
    line = [sys.executable, "-m", "gamelane", "report", str(tmp_path), "--export", "flent"]
    subprocess.run(line, capture_output=True, check=True, timeout=120)
    file = tmp_path / "seed1.flent.gz"
    again = {phase["name"]: phase for phase in _document(file)["phases"]}
    for phase in first["phases"]:
        back = again[phase["name"]]
        assert back["rtt_ms"]["p50"] == pytest.approx(phase["rtt_ms"]["p50"], rel=0.1)
        for way in ("up", "down"):
            if phase[way]["mbps"] is not None:
                assert back[way]["mbps"] == pytest.approx(phase[way]["mbps"], rel=0.1), phase["name"]
    if shutil.which("flent") is None:
        lacking("flent is not installed")
    summary = subprocess.run(
        ["flent", "--format", "summary", str(file)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (summary.returncode, "Ping (ms) probe" in summary.stdout) == (0, True), summary.stdout + summary.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["10.0.0.1"], "--import: HOST is for"),
        (["--duration", "9s"], "--import: --duration is for"),
        (["--import", str(IRTT), "--import", str(PING)], "one such file"),
        (["--import", str(DATA / "none")], "No such file"),
        (["--import", str(DATA.parent / "__init__.py")], "allowed: the files of `irtt"),
    ],
)
def test_refusals_name_the_remedy(words: list[str], said: str) -> None:
    done = _import(LOADS[0], words=tuple(words))
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_no_host_is_an_error() -> None:
    done = _import()
    assert (done.returncode, "or --import FILE" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": "unable to connect to server", "intervals": []}', "iperf3 failed: unable to connect"),
        ('{"intervals": [{"sum": 1}]}', "`start`"),
        ('{"round_trips": [', "Invalid JSON"),
        ("MIGRATED TCP STREAM TEST from a to b\n", "no line `Interim result"),
    ],
)
def test_errors_name_file_key_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "given"
    file.write_text(text)
    with pytest.raises(RecordsError) as raised:
        joined.recognised(file)
    message = str(raised.value)
    assert str(file) in message
    assert said in message
    assert "hint:" in message


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.flent.gz"
    file.write_bytes(gzip.compress(bytes(65 << 20)))
    with pytest.raises(RecordsError, match="too large"):
        joined.recognised(file)


def _short(file: Path) -> bytes:
    raw = file.read_bytes()
    if file != IRTT:
        return gzip.decompress(raw) if file.suffix == ".gz" else raw
    document = json.loads(gzip.decompress(raw))
    document["round_trips"] = document["round_trips"][:12]
    return json.dumps(document).encode()


REAL = [_short(file) for file in (IRTT, PING, *NETPERF.values(), *LOADS)]
ODD: list[Any] = [None, -1, 0, 1e308, 2**64, "", "x" * 300, [], {}, True, 4e9, float("nan"), -1e9]


def _leaves(at: Any) -> list[tuple[Any, Any]]:
    keys = at.keys() if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
    return [leaf for key in keys for leaf in [(at, key), *_leaves(at[key])]]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(REAL), st.integers(0, 2**32), st.booleans())
def test_a_changed_file_raises_nothing_but_a_records_error(real: bytes, seed: int, bytewise: bool) -> None:
    chance = random.Random(seed)
    raw = bytearray(real)
    if bytewise or not real.startswith(b"{"):
        for _ in range(chance.randint(1, 8)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
    else:
        document = json.loads(real)
        for _ in range(chance.randint(1, 3)):
            holder, key = chance.choice(_leaves(document))
            holder[key] = chance.choice(ODD)
        raw = bytearray(json.dumps(document).encode())
    with TemporaryDirectory() as folder:
        file = Path(folder) / "given"
        file.write_bytes(raw)
        try:
            ended, *_ = joined.write([file], Path(folder))
        except RecordsError:
            return
        json.dumps(ended, allow_nan=False)
