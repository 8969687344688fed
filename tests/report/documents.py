"""Documents of analyzed captures for the tests of what a person sees of them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gamelane.analysis.capture import analyze
from tests.capture.datagrams import Datagram, numbered, steady, write

CAPTURES = Path(__file__).parents[1] / "captures"
SERVER, CLIENT = (str(CAPTURES / f"thin-tcp-wan-{end}.pcapng.gz") for end in ("srv", "cli"))

Document = dict[str, Any]


def of(path: Path, datagrams: Iterable[Datagram]) -> Document:
    """Return the document of a small capture."""
    found = analyze([str(write(path, datagrams))])
    found["captures"][0]["file"] = path.name
    return found


def household(folder: Path) -> Document:
    """A game with lost and late updates, one without trouble, and a transfer."""
    lost = (50, 51, 52, 200, 340)
    packets = [Datagram(1000 + n * 50 + 30 * (n % 9 == 0), numbered(n)) for n in range(400) if n not in lost]
    packets += steady(600, 33, up=True)
    packets += steady(400, 50, flow=1) + steady(600, 33, flow=1, up=True)
    packets += steady(2000, 10, size=1200, flow=2, up=True)
    return timed(blamed(of(folder / "household.pcap", packets)))


def many(folder: Path) -> Document:
    """4,000 flows: 30 games that lost updates, 70 without trouble, the rest queries of a few packets."""
    packets = []
    for game in range(100):
        lost = {3 + game % 7, 20 + game % 5} if game < 30 else set()
        packets += [Datagram(1000 + n * 50, numbered(n), game) for n in range(120) if n not in lost]
        packets += steady(180, 33, flow=game, up=True)
    for query in range(100, 4000):
        packets += [Datagram(1000 + query + 20 * up, bytes(40), query, bool(up)) for up in (0, 1)]
    return of(folder / "many.pcap", packets)


def blamed(found: Document) -> Document:
    """Return the document with a judgement."""
    found["verdict"]["blame"] = {
        "who": "upload",
        "sure": "likely",
        "text": "Your upload is to blame: 10.1.0.2 filled the line, and the game waited behind it.",
        "because": [
            "From 1.0 s on 10.1.0.2 sent 0.98 Mbit/s, 98 % of the most that the line carried.",
            "5 of 400 updates to the player were lost, all of them while the upload ran.",
        ],
        "advice": ["Limit the rate of the upload program.", "Let the router give games a queue of their own."],
    }
    found["verdict"]["how_sure"] = "This is likely."
    return found


def timed(found: Document) -> Document:
    """Return the document with lag and load over time: waits in the middle, an upload from a third on."""
    for capture in found["captures"]:
        steps = 81
        capture["timeline"] = {
            "step_s": 0.25,
            "up_bps": [980_000.0 if at > steps / 3 else 20_000.0 + 500 * (at % 5) for at in range(steps)],
            "down_bps": [40_000.0 + 1000 * (at % 7) for at in range(steps)],
            "wait": capture["timeline"]["wait"],
            "lag_ms": [40.0 * (at % 9) if abs(at - 45) < 20 else 904.0 if at == 70 else 0.0 for at in range(steps)],
        }
    return found


def over_ipv6(found: Document) -> Document:
    """Return the document with IPv6 addresses of full length."""

    def address(match: re.Match[str]) -> str:
        return f"[2001:db8:85a3:1111:8a2e:{int(match[1]) + 256:x}:{int(match[2]) + 4096:x}:{int(match[3]) + 4096:x}]:"

    longer: Document = json.loads(re.sub(r"10\.(\d+)\.(\d+)\.(\d+):", address, json.dumps(found)))
    return longer


def without(found: Document, *keys: str) -> Document:
    """Return the document without keys of the verdict, or of its captures."""
    shorter = copy.deepcopy(found)
    for key in keys:
        shorter["verdict"].pop(key, None)
        for capture in shorter["captures"]:
            capture.pop(key, None)
    return shorter
