"""`gamelane analyze --shared-paths`: a simulated operator whose players' paths are known, and a recorded server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from gamelane.analysis.capture_paths import RoundTrips
from tests.cli.command import gamelane

SERVER = Path(__file__).parents[1] / "captures" / "thin-tcp-wan-srv.pcapng.gz"

MEMBERS = 5
GROUPS = {"near": ("30ms", "6ms"), "far": ("90ms", "6ms"), "crowded": ("60ms", "40ms")}
"""Base round trip of each region, and the delay its own bottleneck adds, uniform from 0."""

OPERATOR = """
name = "regions"
duration = "120s"
seed = 3
[link]
down = "100mbit"
up = "100mbit"
[gateway]
up = { queue = "fifo", limit = "1000p" }
down = { queue = "fifo", limit = "1000p" }
"""

REGION = """
[[flow]]
name = "NAME"
app = "mmo"
model = "anarchy-online"
connections = MEMBERS
direction = "down"
rtt = "RTT"
path_jitter = { down = "JITTER", up = "0ms" }
tcp = { nagle = false, delayed_ack = "off" }
"""


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers saw, and the report made of it."""
    folder = tmp_path_factory.mktemp("regions")
    text = OPERATOR
    for name, (rtt, jitter) in GROUPS.items():
        for key, value in {"NAME": name, "MEMBERS": str(MEMBERS), "RTT": rtt, "JITTER": jitter}.items():
            text = text if key != "NAME" else text + REGION
            text = text.replace(key, value)
    (folder / "regions.toml").write_text(text)
    done = gamelane("run", folder / "regions.toml", "-o", folder / "run", "--pcap", "-q")
    assert done.returncode == 0, done.stderr
    [capture] = (folder / "run").glob("**/*-server.pcapng")
    done = gamelane("analyze", capture, "--shared-paths", "-o", folder / "report", "--json")
    assert done.returncode == 0, done.stderr
    return folder / "report"


def region(connection: dict[str, Any]) -> str:
    """The group a connection was put into, by its base round trip."""
    bases = {name: float(rtt.removesuffix("ms")) for name, (rtt, _) in GROUPS.items()}
    return min(bases, key=lambda name: abs(bases[name] - connection["rtt_ms"]["min"]))


def test_the_operators_regions_are_found(regions: Path) -> None:
    shared = json.loads((regions / "analysis.json").read_text())["shared_paths"]
    assert shared["towards"] == "client"
    assert len(shared["connections"]) == 3 * MEMBERS
    found = {
        variant: [{region(shared["connections"][at]) for at in group} for group in verdict["groups"]]
        for variant, verdict in shared["variants"].items()
    }
    # The paper's variant tells regions apart by their base: each group is of one region, and each region one group.
    assert sorted(map(sorted, found["plain"])) == [["crowded"], ["far"], ["near"]]
    # Without the base, the two regions with the same bottleneck look alike, and the crowded one does not.
    assert all(group == {"crowded"} or "crowded" not in group for group in found["normalised"])
    assert any({"near", "far"} <= group for group in found["normalised"])


def test_pairs_and_matrices_stand_in_the_report(regions: Path) -> None:
    pairs = pl.read_parquet(regions / "shared_paths.parquet")
    each = 3 * MEMBERS * (3 * MEMBERS - 1) // 2
    assert pairs.group_by("variant").len().sort("variant").rows() == [("normalised", each), ("plain", each)]
    shared = json.loads((regions / "analysis.json").read_text())["shared_paths"]
    for variant, verdict in shared["variants"].items():
        apart = pairs.filter(variant=variant)["told_apart"].sum()
        assert verdict["pairs"] - apart == verdict["not_told_apart"]
    page = (regions / "report.html").read_text(encoding="utf-8")
    assert 'data-panel="shared-paths-0"' in page
    assert 'data-panel="shared-paths-1"' in page


def test_a_recorded_server_with_four_players() -> None:
    done = gamelane("analyze", SERVER, "--shared-paths", "--json")
    document = json.loads(done.stdout)
    shared = document["shared_paths"]
    assert [connection["flow"] for connection in shared["connections"]] == [0, 1, 2, 3]
    assert all(100 < connection["rtt_ms"]["min"] < 101 for connection in shared["connections"])
    assert "may share paths: plain: " in document["verdict"]["headline"]
    done = gamelane("analyze", Path(SERVER.parent, "openarena-4p-srv.pcapng.gz"), "--shared-paths")
    assert done.returncode == 2
    assert "the test needs two" in done.stderr


def test_round_trips_are_kept_in_order_and_passed_on() -> None:
    passed = []
    trips = RoundTrips(lambda *batch: passed.append(batch))
    columns: dict[str, npt.NDArray[np.generic]] = {
        "flow": np.array([7, 3, 7, 7, 3], dtype=np.uint32),
        "towards": np.array([1, 1, 1, 1, 0], dtype=np.uint8),
        "method": np.array([0, 0, 0, 2, 0], dtype=np.uint8),
        "rtt_ns": np.array([5e6, 9e6, 4e6, 1e6, 2e6], dtype=np.uint64),
    }
    for _ in range(15):
        trips(0, "rtt", columns)
    trips(0, "delay", {})
    side, kept = trips.by_connection()
    assert side == "client"
    assert kept[0, 7].tolist() == [5.0, 4.0] * 15
    assert kept[0, 3].tolist() == [9.0] * 15
    assert len(passed) == 16
