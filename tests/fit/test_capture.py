"""Who is server and who is client, by behaviour; what is no game, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.fit import capture


@dataclass
class Made:
    """Packets as the extension hands them over."""

    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)

    def stream(self, sender: int, receiver: int, times_s: Iterable[float], sizes: Iterable[float], on: int = 0) -> Made:
        self.rows += [
            (int(1e18 + t * 1e9), on, sender, receiver, int(size)) for t, size in zip(times_s, sizes, strict=True)
        ]
        return self

    def read(self, monkeypatch: pytest.MonkeyPatch) -> capture.Recording:
        columns = np.array(self.rows, dtype=np.uint64).reshape(-1, 5).T
        made = dict(zip(("t_ns", "interface", "sender", "receiver", "payload"), columns, strict=True))
        monkeypatch.setattr(
            _native, "udp_datagrams", lambda _: {**made, "packets_read": len(self.rows), "damage": None}
        )
        return capture.read(Path("made.pcap"))


def game(made: Made, server: int, client: int, *, seconds: float = 30.0, on: int = 0, seed: int = 1) -> Made:
    rng = np.random.default_rng(seed + client)
    ticks, commands = np.arange(0.01, seconds, 0.050), np.arange(0.0, seconds, 0.033)
    made.stream(server, client, ticks, rng.normal(90, 10, len(ticks)), on)
    return made.stream(client, server, commands, rng.normal(55, 3, len(commands)), on)


def test_the_side_with_the_larger_packets_is_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for server, client in ((0, 1), (1, 0)):
        (found,) = game(Made(), server, client).read(monkeypatch).clients
        assert found.updates.payload.mean() == pytest.approx(90, abs=3)
        assert np.median(found.updates.gaps_ms) == pytest.approx(50, abs=0.01)


def test_whom_everybody_talks_to_is_the_server_whatever_the_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made()
    for client in (1, 2, 3):
        game(made, 9, client)
    rng = np.random.default_rng(0)
    times = np.arange(0, 30, 0.05)
    made.stream(4, 9, times, rng.normal(120, 5, len(times))).stream(9, 4, times, rng.normal(60, 5, len(times)))
    recording = made.read(monkeypatch)
    assert len(recording.clients) == 4
    assert recording.clients[-1].updates.payload.mean() == pytest.approx(60, abs=2)


def test_a_match_seen_on_two_interfaces_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made()
    for on in (0, 1):
        game(made, 5, 1, on=on)
        game(made, 5, 2, on=on)
    assert len(made.read(monkeypatch).clients) == 2


def test_other_traffic_beside_the_game_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 30, 9000))
    made = game(Made(), 0, 1).stream(7, 1, times, np.full(9000, 1200.0)).stream(1, 7, times[::20], np.full(450, 40.0))
    (found,) = made.read(monkeypatch).clients
    assert len(found.updates.payload) == 600


steady = np.arange(0, 30, 0.02)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (Made().stream(0, 1, [0.0], [60]), "1 packets in one direction and 0 in the other"),
        (
            Made().stream(0, 1, np.arange(0, 30, 0.05), np.full(600, 80)),
            "600 packets in one direction and 0 in the other",
        ),
        (game(Made(), 0, 1, seconds=5.0), "lasts 5.0 s"),
        (
            Made().stream(0, 1, steady, np.full(1500, 172)).stream(1, 0, steady, np.full(1500, 172)),
            "like a voice call",
        ),
        (
            Made().stream(0, 1, steady, np.linspace(1100, 1300, 1500)).stream(1, 0, steady, np.full(1500, 40)),
            "sends full packets",
        ),
        (
            Made()
            .stream(0, 1, np.sort(np.random.default_rng(1).uniform(0, 30, 600)), np.linspace(80, 300, 600))
            .stream(1, 0, steady, np.full(1500, 40)),
            "has no tick",
        ),
        (Made().stream(0, 1, range(30), range(30, 60)).stream(1, 0, range(30), range(30)), "1.0 packets/s"),
    ],
)
def test_what_is_no_game_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch, made: Made, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        made.read(monkeypatch)
    assert "hint:" in str(refused.value)
    assert "no game found in 1 UDP conversation" in str(refused.value)


def test_no_udp_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no UDP packet among 0 packets"):
        Made().read(monkeypatch)
