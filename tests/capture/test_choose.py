"""`gamelane analyze` of a part of a capture: `--filter`, `--flow`, and the flows as CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gamelane.analysis.flow_csv import COLUMNS
from tests.cli.command import GAMELANE, gamelane
from tests.needs import needs

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
SERVER, CLIENT = (CAPTURES / f"thin-tcp-wan-{end}.pcapng.gz" for end in ("srv", "cli"))
MATCH = CAPTURES / "openarena-4p-srv.pcapng.gz"
ONE = "port 34732 or (src port 34752 and len > 100)"
"""All of one connection of the capture, and a part of one direction of another."""


def found(*words: str | Path) -> dict[str, Any]:
    done = gamelane("analyze", *words, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@needs(shutil.which("tcpdump"), "tcpdump is not installed (apt-get install tcpdump)")
def test_a_filter_gives_what_a_file_filtered_by_tcpdump_gives(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.pcapng", tmp_path / "part.pcap"
    whole.write_bytes(gzip.decompress(SERVER.read_bytes()))
    subprocess.run(["tcpdump", "--nano", "-r", whole, "-w", part, ONE], check=True, capture_output=True)
    [expected], [capture] = found(part)["captures"], found(SERVER, "--filter", ONE)["captures"]
    assert capture["flows"] == expected["flows"]
    assert len(capture["flows"]) == 2
    assert capture["games"] == expected["games"]
    assert capture["packets"] > expected["packets"]


def test_standard_input_and_both_captures_are_filtered() -> None:
    done = subprocess.run(
        [GAMELANE, "analyze", "-", "--json", "--filter", "port 34732"],
        input=SERVER.read_bytes(),
        capture_output=True,
        check=True,
    )
    [alone] = json.loads(done.stdout)["captures"]
    both = found(SERVER, CLIENT, "--filter", "port 34732")
    assert both["captures"][0]["flows"] == alone["flows"]
    [pair] = both["pair"]["flows"]
    [same] = [flow for flow in found(SERVER, CLIENT)["pair"]["flows"] if flow["client"] == pair["client"]]
    assert (pair["up"]["lost"], pair["down"]["lost"]) == (same["up"]["lost"], same["down"]["lost"])
    assert "1 TCP connection behaves like a game" in both["verdict"]["headline"]


def test_a_word_that_is_no_filter_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("earlier")
    for words, says in {
        "udp and vlan 5": "--filter udp and vlan 5: `vlan` at character 9: it is not needed",
        "host play.example.org": "names of hosts are not looked up",
    }.items():
        done = gamelane("analyze", MATCH, "-o", tmp_path, "--filter", words)
        assert done.returncode == 2
        assert says in done.stderr
        assert re.search(r"\n {2}allowed: host, net.*\n {2}hint: {4}\w", done.stderr)
    assert (tmp_path / "report.html").read_text() == "earlier"


@pytest.mark.parametrize(
    ("words", "cuts"),
    [("host 10.77.0.2 and not less 80", True), ("src host 10.77.0.2", True), ("udp and port 27960", False)],
)
def test_a_filter_that_cuts_flows_blames_nobody(words: str, cuts: bool) -> None:
    """A part of a flow looks like losses, and one direction like no game: neither says anything of the network."""
    done = gamelane("analyze", MATCH, "--filter", words)
    assert done.returncode == 0
    assert (f"--filter '{words}' keeps parts of flows only" in done.stderr) == cuts
    assert ("src and dst keep one direction" in done.stderr) == cuts
    assert ("What to try" in done.stdout) != cuts
    for captures in ((MATCH,), (MATCH, CAPTURES / "openarena-4p-cli.pcapng.gz")):
        assert (found(*captures, "--filter", words)["verdict"]["blame"] is None) == cuts


def test_one_direction_is_no_game_because_of_the_filter() -> None:
    headline = found(SERVER, "--filter", "dst 10.79.0.2")["verdict"]["headline"]
    assert headline.startswith("No game found. The filter keeps parts of flows, and games are recognised by whole ")


def test_a_filter_that_matches_nothing_says_so() -> None:
    left_out = "The filter left out all 6,026 packets of TCP and UDP."
    done = gamelane("analyze", MATCH, "--filter", "tcp")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == left_out
    assert "Record while you play" not in done.stdout
    assert "no game" not in done.stdout
    verdict = found(MATCH, "--filter", "tcp")["verdict"]
    assert (verdict["headline"], verdict["blame"]) == (left_out, None)
    done = gamelane("analyze", MATCH, "--filter", "tcp", "--csv")
    assert done.stderr.startswith(f"{MATCH}: {left_out}\n")


def test_chosen_flows_have_the_numbers_of_the_whole_analysis(tmp_path: Path) -> None:
    [whole] = found(SERVER)["captures"]
    document = found(SERVER, "--flow", "2", "--flow", "0")
    assert document["captures"][0]["flows"] == [whole["flows"][0], whole["flows"][2]]
    assert "2 TCP connections behave like games (thin): " in document["verdict"]["headline"]
    done = gamelane("analyze", SERVER, "--flow", "2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for table in ("windows", "retransmissions", "rtt", "delay"):
        assert pl.read_parquet(tmp_path / "out" / f"{table}.parquet")["flow"].unique().to_list() == [2]
    # The terminal adds a table of this flow.
    [resent] = [line for line in done.stdout.splitlines() if line.startswith("  retransmitted")]
    assert resent.split()[1:] == [str(whole["flows"][2]["tcp"][way]["resent"]) for way in ("up", "down")]
    assert "flow 2: TCP from client 10.79.0.2:34752 to server 10.79.0.1:13327, thin" in done.stdout


def test_the_line_of_lag_is_that_of_the_chosen_flows() -> None:
    """The load stays that of all flows, because one of them may be why the chosen one waited."""
    [whole] = found(SERVER)["captures"]
    each = {flow: found(SERVER, "--flow", flow)["captures"][0] for flow in "0123"}
    assert whole["flows_chosen"] == []
    assert all(capture["flows_chosen"] == [int(flow)] for flow, capture in each.items())
    lags = [capture["timeline"]["lag_ms"] for capture in each.values()]
    assert [max(lag) for lag in zip(*lags, strict=True)] == whole["timeline"]["lag_ms"]
    assert len({max(lag) for lag in lags}) == 4
    assert all(capture["timeline"]["down_bps"] == whole["timeline"]["down_bps"] for capture in each.values())
    for flow, capture in each.items():
        longest = max(capture["flows"][0]["tcp"][way]["stalls"]["longest_ms"] for way in ("up", "down"))
        text = " ".join(gamelane("analyze", SERVER, "--flow", flow).stdout.split())
        assert f"Longest wait of flow {flow} beyond its fastest round trip, and load of all flows, " in text
        if max(capture["timeline"]["lag_ms"]) == longest:
            assert f"the longest {longest:.0f} ms" in text
    assert "Longest wait of a chosen flow " in gamelane("analyze", SERVER, "--flow", "3", "--flow", "0").stdout


def test_a_flow_of_udp_shows_its_updates() -> None:
    done = gamelane("analyze", MATCH, "--flow", "0")
    [line] = [line for line in done.stdout.splitlines() if "updates by their numbers" in line]
    assert line.split()[-2:] == ["3,627", "2,399"]


def test_an_unknown_flow_and_impossible_options_are_refused() -> None:
    done = gamelane("analyze", SERVER, "--flow", "7", "--flow", "1")
    assert done.returncode == 2
    assert f"--flow 7: no such flow in {SERVER}; there are 4, numbered from 0" in done.stderr
    for words, says in {
        (SERVER, CLIENT, "--flow", "0"): "choose flows of two captures with --filter",
        (SERVER, "--flow", "0", "--flow", "1", "--log"): "--log needs one --flow",
        (SERVER, "--csv", "--json"): "--csv and --json: both print to standard output",
    }.items():
        done = gamelane("analyze", *words)
        assert done.returncode == 2
        assert says in done.stderr


def test_a_log_numbers_the_flows_of_its_filter() -> None:
    whole = gamelane("analyze", SERVER, "--flow", "2", "--log").stdout.splitlines()
    alone = gamelane("analyze", SERVER, "--filter", "port 34752", "--flow", "0", "--log").stdout.splitlines()
    assert alone[0] == whole[0] == "10.79.0.2:34752 - 10.79.0.1:13327"
    assert len(alone) == len(whole)


@pytest.mark.parametrize("captures", [(SERVER, CLIENT), (MATCH,)])
def test_csv_has_the_numbers_of_the_json(captures: tuple[Path, ...]) -> None:
    done = subprocess.run([GAMELANE, "analyze", *captures, "--csv"], capture_output=True, check=True)
    assert done.stdout.endswith(b"\r\n")
    lines = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    flows = [(number, flow) for number, of in enumerate(found(*captures)["captures"]) for flow in of["flows"]]
    assert len(lines) == len(flows)
    compared = 0
    for line, (number, flow) in zip(lines, flows, strict=True):
        assert line["capture"] == str(number)
        for way in ("up", "down"):
            assert line[f"{way}_packets"] == str(flow[way]["packets"])
            assert float(line[f"{way}_gap_max_ms"]) == flow[way]["gap_ms"]["max"]
            if "tcp" in flow:
                half = flow["tcp"][way]
                assert line[f"{way}_tcp_thin"] == str(half["thin"]).lower()
                lag_ms = sum(cause["lag_ms"] for cause in half["retransmissions"].values())
                assert float(line[f"{way}_tcp_lag_ms"]) == pytest.approx(lag_ms)
                assert line[f"{way}_udp_tick_ms"] == ""
            else:
                assert float(line[f"{way}_udp_tick_ms"]) == flow["udp"][way]["tick_ms"]
                assert line[f"{way}_udp_arrived_updates"] == str(flow["udp"][way]["numbered"]["arrived"])
                assert line[f"{way}_tcp_data_packets"] == line["rtt_p50_ms"] == ""
        for column, path in COLUMNS.items():
            value: Any = flow
            for key in path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert float(line[column]) == value
                compared += 1
    assert compared > 20 * len(lines)


def test_every_csv_column_is_documented() -> None:
    page = (ROOT / "docs" / "capture.md").read_text(encoding="utf-8")
    for column in COLUMNS:
        assert f"`{re.sub('^(up|down)_', '', column)}`" in page, column
