"""What analysis finds in a simulated capture against what the simulator knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import gamelane

KEYS = ("duration=300s", "flow.players.connections=20", "flow.players.loss=5%")


@pytest.mark.parametrize("piggyback", ["off", "next"])
def test_every_retransmission_of_a_game_over_tcp_is_found(tmp_path: Path, piggyback: str) -> None:
    keys = (*KEYS, f"flow.players.tcp.piggyback={piggyback}")
    settings = [word for key in keys for word in ("--set", key)]
    run = gamelane("run", "griwodz2006", *settings, "--pcap", "-o", tmp_path, "--json", "-q")
    assert run.returncode == 0, run.stderr
    truth = json.loads(run.stdout)["runs"][0]["flows"]["players"]["thin"]
    found = gamelane("analyze", tmp_path / "seed1-server.pcapng", "--json", "-q")
    assert found.returncode == 0, found.stderr
    servers = [flow["tcp"]["down"] for flow in json.loads(found.stdout)["captures"][0]["flows"]]
    assert len(servers) == 20
    assert sum(server["new_packets"] for server in servers) == truth["packets"]
    assert max(server["most_retransmissions"] for server in servers) == truth["most_retransmissions"]
    for number in range(truth["most_retransmissions"]):
        for kind in ("self", "included"):
            counted = sum(server["nth"][number][kind] for server in servers if len(server["nth"]) > number)
            assert counted == truth["nth"][str(number + 1)][kind], (number + 1, kind)
    causes = [server["retransmissions"] for server in servers]
    assert sum(cause["unexplained"]["count"] for cause in causes) == 0
    assert sum(cause["fast"]["count"] for cause in causes) >= truth["fast_retransmissions"]


def test_a_video_that_asks_now_and_then_is_no_game(tmp_path: Path) -> None:
    """Its requests are thin. Its answers are large, and a loss of them is no lag of a game."""
    words = ["--plan", "cable-250-20", "--with", "netflix", "--set", "duration=30s", "--set", "gateway.isp.limit=64KiB"]
    gamelane("run", *words, "--pcap", "-o", tmp_path, "-q")
    found = json.loads(gamelane("analyze", tmp_path / "seed1-server.pcapng", "--json").stdout)
    [flow] = found["captures"][0]["flows"]
    assert flow["tcp"]["up"]["thin"]
    assert min(flow["tcp"][way]["data_packets"] for way in ("up", "down")) >= 20
    assert flow["tcp"]["down"]["resent"] > 0
    assert found["verdict"]["games"] == []
