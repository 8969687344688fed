"""A gateway's recording is read as records, and reported."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import gamelane
from gamelane.cli.report import report
from gamelane.errors import RecordsError
from gamelane.plot.style import variant_looks
from tests.records import tap_files

POLICY = """
name = "home"
warmup = "2s"
[link]
down = "20mbit"
up = "2mbit"
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
"""
SECOND = 1_000_000_000


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a recording of a game for four seconds, and of one packet of another conversation."""
    game = [
        tap_files.Packet(direction, 27960, 100, number * SECOND // 40, number * SECOND // 40)
        for number in range(160)
        for direction in (0, 1)
    ]
    folder = tmp_path / "tap"
    tap_files.write(folder, POLICY, [], [*game, tap_files.Packet(0, 53, 60, 1000, 1000)], 5 * SECOND)
    return folder


def test_a_recording_reads_as_records_that_can_be_written(recording: Path, tmp_path: Path) -> None:
    results = gamelane.read(recording)
    assert (results.engine, results.name, results.gamelane) == ("gateway", "home", "test")
    assert (results.duration_s, results.warmup_s) == (5.0, 0.0)
    game = tap_files.name(27960)
    assert [(flow.name, flow.app) for flow in results.flows] == [(game, "real-time"), (tap_files.name(53), "unknown")]
    assert ["seen at one gateway" in caveat for caveat in results.caveats] == [True]
    assert results.frames["delay"].filter(pl.col("flow") == game).height == 320
    results.write(tmp_path / "out")
    again = gamelane.read(tmp_path / "out")
    assert again.runs == results.runs
    assert all(again.frames[name].equals(frame) for name, frame in results.frames.items())


@pytest.mark.parametrize("engine", ["user", "kernel"])
def test_a_policy_needs_no_flow(tmp_path: Path, engine: str) -> None:
    policy = '[link]\ndown = "20mbit"\nup = "2mbit"\n[gateway]\nup = { queue = "fifo" }\n'
    packets = [tap_files.Packet(0, 27960, 100, number * SECOND, number * SECOND) for number in range(9)]
    tap_files.write(tmp_path / "tap", policy, [("name", '"home"')], packets, 9 * SECOND, engine=engine)
    results = gamelane.read(tmp_path / "tap")
    assert (results.name, results.frames["delay"].height) == ("home", 9)
    done = CliRunner().invoke(report, [str(tmp_path / "tap"), "-o", str(tmp_path / "page")])
    assert done.exit_code == 0, done.output


def test_the_report_is_about_waits_at_the_gateway(recording: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(report, [str(recording), "-o", str(tmp_path / "page")])
    assert done.exit_code == 0, done.output
    assert f"99 % of the packets of {tap_files.name(27960)} wait at most 0 ms upstream" in done.output
    assert "RTT" not in done.output
    # What passed cannot be repeated, and the policy sets no limit.
    assert "--repeat" not in done.output
    assert [look.detail for look in variant_looks(gamelane.read(recording)).values()] == [""]
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    assert "Wait in the gateway of" in page


def test_a_recording_that_ends_early_says_so_and_a_damaged_one_is_refused(recording: Path) -> None:
    log = recording / "decisions-0000.log"
    log.write_bytes(log.read_bytes()[:2000])
    results = gamelane.read(recording)
    assert results.duration_s < 5
    assert any("ends before the gateway did" in caveat for caveat in results.caveats)
    log.write_bytes(b"nothing")
    with pytest.raises(RecordsError, match="not a log of decisions"):
        gamelane.read(recording)


@pytest.mark.parametrize("moment", [0, 1 << 63])
def test_a_moment_that_cannot_be_is_damage(recording: Path, moment: int) -> None:
    """Records of a moment far away would fill the memory."""
    log = recording / "decisions-0000.log"
    log.write_bytes(log.read_bytes()[:-1] + tap_files.now(moment))
    with pytest.raises(RecordsError, match=r"decisions-0000\.log: a moment of"):
        gamelane.read(recording)


def test_a_new_connection_on_the_same_ports_begins_to_count_anew(tmp_path: Path) -> None:
    """Sequence numbers of a new connection have nothing to do with those of the last one."""
    acknowledged = [(True, 0), (False, 1000), (False, 2000), (True, 0), (False, 900_000_000), (False, 900_000_500)]
    packets = [
        tap_files.Packet(0, 443, 40, number * SECOND // 10, number * SECOND // 10, tcp)
        for number, tcp in enumerate(acknowledged)
    ]
    tap_files.write(tmp_path / "tap", POLICY, [], packets, SECOND)
    [flow] = gamelane.read(tmp_path / "tap").runs[0].summary["flows"].values()
    assert 0 < flow["goodput_bps"] < 1e6
