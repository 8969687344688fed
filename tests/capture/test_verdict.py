"""The verdict counts every game, claims no loss that it cannot know, and agrees with its own tables."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.capture.datagrams import Datagram, numbered, steady, write
from tests.cli.command import gamelane

DESCRIBED = 20
CAPTURES = Path(__file__).parents[1] / "captures"


def found(*captures: Path) -> dict[str, Any]:
    done = gamelane("analyze", *captures, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_four_thousand_games_are_counted_though_not_all_are_listed(tmp_path: Path) -> None:
    games, downloads = 4000, 1100
    packets = [
        datagram
        for flow in range(games)
        for datagram in steady(18, 200, flow=flow, start_ms=flow / 8) + steady(18, 200, flow=flow, up=True)
    ]
    # Others with more packets than any game.
    for flow in range(games, games + downloads):
        packets += steady(50, 50, size=1200, flow=flow)
    # One game with numbers, of which three do not arrive.
    numbers = [n for n in range(1, 18) if n not in (5, 6, 9)] + list(range(18, 70))
    packets += [Datagram(n * 60, numbered(n), games + downloads) for n in numbers]
    packets += steady(60, 60, flow=games + downloads, up=True)
    document = found(write(tmp_path / "many.pcap", packets))
    [capture] = document["captures"]
    assert document["verdict"]["headline"].startswith("4,001 games over UDP: 3 of 69 updates to the players lost")
    assert "lost updates of 4,000 of them cannot be counted" in document["verdict"]["headline"]
    assert len(document["verdict"]["games"]) == DESCRIBED
    assert document["verdict"]["not_described"] == games + 1 - DESCRIBED
    # The game with losses is among those described.
    assert any("3 of 69 lost" in game["text"] for game in document["verdict"]["games"])
    assert capture["flows_total"] == games + downloads + 1
    assert {flow["kind"] for flow in capture["flows"]} == {"game"}
    assert len(capture["flows"]) == 1000
    assert capture["flows_left_out"]["games"] == games + 1 - 1000
    assert capture["flows_left_out"]["flows"] == capture["flows_total"] - 1000
    assert capture["games"]["udp"]["games"] == games + 1
    assert capture["games"]["udp"]["down"]["counted"] == {
        "flows": 1, "sent": 69, "lost": 3, "duplicated": 0, "reordered": 0,
    }  # fmt: skip


@pytest.mark.parametrize("marker", [0xFFFFFFFF, 0xFFFFFFFE])
def test_packets_without_a_number_and_fragments_are_no_losses(marker: int, tmp_path: Path) -> None:
    down = []
    for n in range(1, 401):
        fragments = 3 if n == 1 or n % 50 == 0 else 1
        number = n | 1 << 31 if fragments > 1 else n
        down += [Datagram(n * 50 + part, numbered(number, 60 + part), 0) for part in range(fragments)]
        if n % 40 == 0:
            down.append(Datagram(n * 50 + 20, numbered(marker), 0))
    document = found(write(tmp_path / "quake.pcap", down + steady(600, 33, up=True)))
    [flow] = document["captures"][0]["flows"]
    assert flow["udp"]["down"]["numbered"] == {"arrived": 400, "missing": 0, "duplicated": 0, "reordered": 0}
    assert (flow["udp"]["down"]["late"], flow["udp"]["down"]["gaps"]) == (0, 0)
    assert "none of 400 updates to the player lost on the way to the capture" in document["verdict"]["headline"]


def test_a_sender_that_is_late_and_catches_up_has_lost_nothing(tmp_path: Path) -> None:
    times, at = [], 0
    for gap in [50] * 100 + [350] + [30] * 15 + [50] * 100:
        at += gap
        times.append(at)
    messages = steady(len(times), 1)
    down = [Datagram(at, message.payload) for at, message in zip(times, messages, strict=True)]
    document = found(write(tmp_path / "late.pcap", down + steady(300, 33, up=True)))
    way = document["captures"][0]["flows"][0]["udp"]["down"]
    assert (way["late"], way["gaps"], way["missing_by_pace"]) == (1, 0, 0)
    headline = document["verdict"]["headline"]
    assert headline == (
        "1 game over UDP: lost updates cannot be counted; 1 late by more than half a tick; no gap, "
        "longest silence 350 ms."
    )


def two_points(tmp_path: Path, lost: set[int]) -> tuple[Path, Path]:
    """A game at its server, and 20 ms away at its player, who does not get the `lost` updates."""
    down, up = steady(400, 50), steady(600, 33, up=True)
    at_server = write(tmp_path / "server.pcap", down + [Datagram(m.at_ms + 20, m.payload, up=True) for m in up])
    arrived = [Datagram(m.at_ms + 20, m.payload) for n, m in enumerate(down) if n not in lost]
    return at_server, write(tmp_path / "player.pcap", arrived + up)


def test_with_two_captures_every_loss_is_the_comparisons(tmp_path: Path) -> None:
    document = found(*two_points(tmp_path, lost={100, 150, 151, 152}))
    [pair] = document["pair"]["flows"]
    assert (pair["kind"], pair["down"]["lost"], pair["up"]["lost"]) == ("game", 4, 0)
    assert document["pair"]["games"]["udp"]["down"]["counted"]["lost"] == 4
    assert document["pair"]["games"]["only_in"] == [0, 0]
    headline = document["verdict"]["headline"]
    assert "4 of 400 updates to the player and none of 600 updates to the server lost between the two" in headline
    # What the player's end saw; at the server's end nothing was late.
    assert "2 gaps, longest silence 200 ms" in headline
    [game] = document["verdict"]["games"]
    assert "To the player: an update every 50.0 ms (jitter " in game["text"]
    assert "4 of 400 lost" in game["text"]
    done = gamelane("analyze", *two_points(tmp_path, lost={100, 150, 151, 152}))
    assert done.stdout.count("4/400") == 1
    folder = tmp_path / "out"
    assert gamelane("analyze", *two_points(tmp_path, lost={100}), "-o", folder).returncode == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert ">1 of 400</td>" in page
    assert "<td>1/400</td>" in page


def test_a_game_of_one_capture_only_is_told(tmp_path: Path) -> None:
    server, player = two_points(tmp_path, lost=set())
    other = steady(400, 50, flow=7) + steady(400, 50, flow=7, up=True)
    with_another = write(tmp_path / "another.pcap", steady(400, 50) + steady(600, 33, up=True) + other)
    document = found(with_another, player)
    assert document["pair"]["games"]["only_in"] == [1, 0]
    assert document["verdict"]["headline"].startswith("1 game over UDP: ")
    assert document["verdict"]["headline"].endswith(f"1 more game is only in {with_another}.")
    assert len(document["verdict"]["games"]) == 2
    alone = write(tmp_path / "alone.pcap", other)
    document = found(server, alone)
    assert document["verdict"]["headline"].startswith("2 games over UDP: ")
    assert document["verdict"]["headline"].endswith("no packet in common, so each is analyzed alone.")


def test_no_pace_is_judged_where_there_is_none(tmp_path: Path) -> None:
    """A player who sends when he moves: most gaps are far from the median, so none of them is late."""
    at, up = 0.0, []
    moves = random.Random(1)
    for message in steady(600, 1, up=True):
        at += moves.choice((15, 25, 60, 120))
        up.append(Datagram(at, message.payload, up=True))
    document = found(write(tmp_path / "moves.pcap", steady(400, 50) + up))
    way = document["captures"][0]["flows"][0]["udp"]["up"]
    assert not way["steady"]
    assert way["late"] > 50
    assert "none late by more than half a tick; no gap" in document["verdict"]["headline"]
    assert "To the server: updates without a steady pace" in document["verdict"]["games"][0]["text"]


def test_a_voice_call_is_no_game(tmp_path: Path) -> None:
    document = found(write(tmp_path / "call.pcap", steady(500, 20, size=172) + steady(500, 20, size=172, up=True)))
    assert document["captures"][0]["flows"][0]["kind"] == "voice"
    assert document["verdict"]["headline"].startswith(
        "1 voice call over UDP: lost updates cannot be counted; none late"
    )
    assert "To the client: an update every 20.0 ms" in document["verdict"]["games"][0]["text"]


def test_a_caller_is_no_player(tmp_path: Path) -> None:
    """RTP numbers its packets, so the headline counts the losses to the caller."""
    call = [Datagram(n * 20, struct.pack(">BBH", 0x80, 0, n) + bytes(168), up=up) for n in range(500) for up in WAYS]
    document = found(write(tmp_path / "call.pcap", call))
    assert document["captures"][0]["flows"][0]["kind"] == "voice"
    headline = document["verdict"]["headline"]
    assert "none of 500 updates to the client and none of 500 updates to the server lost" in headline
    assert "player" not in headline


WAYS = (False, True)


@pytest.mark.parametrize("with_numbers", [True, False])
def test_an_update_that_did_not_come_is_not_said_to_be_not_sent(with_numbers: bool, tmp_path: Path) -> None:
    """The pace shows that updates are missing, but not why. Numbers show only that they count no loss."""
    times = [n * 50 + (300 if n >= 100 else 0) for n in range(200)]
    messages = [numbered(n) for n in range(200)] if with_numbers else [one.payload for one in steady(200, 1)]
    down = [Datagram(at, message) for at, message in zip(times, messages, strict=True)]
    document = found(write(tmp_path / "gap.pcap", down + steady(300, 33, up=True)))
    text = document["verdict"]["games"][0]["text"]
    why = "time for 6 updates that the numbers do not show as lost" if with_numbers else "6 updates lost or not sent"
    assert f"1 gap with {why};" in text


def test_losses_that_the_comparison_cannot_count_are_those_of_the_numbers(tmp_path: Path) -> None:
    """The second capture has only the direction to the server, as with asymmetric routes."""
    down = [Datagram(n * 50, numbered(n, 61)) for n in range(400) if n not in (100, 200)]
    up = [Datagram(n * 33, numbered(n), up=True) for n in range(600)]
    both, only_up = write(tmp_path / "both.pcap", down + up), write(tmp_path / "up.pcap", up)
    document = found(both, only_up)
    [pair] = document["pair"]["flows"]
    assert pair["down"]["lost"] is None
    text = document["verdict"]["games"][0]["text"]
    assert "2 of 400 lost on the way to the capture, none late" in text
    assert "none of 600 lost, none late" in text


def test_what_an_uneven_network_delays_is_late(tmp_path: Path) -> None:
    """Wi-Fi that delivers updates four at a time hides the pace, but not the rate."""
    down = [Datagram(1000 + (n // 4 + 1) * 132 + n % 4 / 10, m.payload) for n, m in enumerate(steady(800, 33))]
    document = found(write(tmp_path / "wifi.pcap", down + steady(600, 50, up=True)))
    way = document["captures"][0]["flows"][0]["udp"]["down"]
    assert way["steady"]
    assert way["tick_ms"] == pytest.approx(33, rel=0.01)
    assert (way["late"], way["gaps"]) == (pytest.approx(200, abs=5), 0)
    assert " late by more than half a tick; no gap, longest silence 132 ms" in document["verdict"]["headline"]


@pytest.fixture(scope="module")
def thin() -> dict[str, Any]:
    return found(*(CAPTURES / f"thin-tcp-wan-{end}.pcapng.gz" for end in ("srv", "cli")))


def test_sums_are_those_of_the_flows(thin: dict[str, Any]) -> None:
    pairs, sums = thin["pair"]["flows"], thin["pair"]["games"]["tcp"]
    for way, near_sender in (("down", 0), ("up", 1)):
        assert sums[way]["counted"]["lost"] == sum(pair[way]["lost"] for pair in pairs)
        assert sums[way]["counted"]["sent"] == sum(pair[way]["sent"] for pair in pairs)
        lag = sum(pair[way]["delivery"]["late_lag_ms"] for pair in pairs)
        assert sum(sums[way]["lag_ms"].values()) == pytest.approx(lag)
        halves = [flow["tcp"][way] for flow in thin["captures"][near_sender]["flows"]]
        assert sums[way]["resent"] == sum(half["resent"] for half in halves)
        assert sums[way]["stalls"] == sum(half["stalls"]["count"] for half in halves)
