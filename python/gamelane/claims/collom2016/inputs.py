"""Claims about the inputs: the scenario matches sections II and III of the paper."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gamelane import _native
from gamelane.claims import Claim
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    DASH,
    FAST,
    GAME,
    GAMES,
    QUEUES,
    SLOW,
    THROUGHPUT_DOWN,
    THROUGHPUT_UP,
    UPLOAD,
    WEB,
    alone,
    check,
    mixed,
)
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell, given

CONSTANT = 1.05
"""Rates whose ratio is below this count as constant."""


def _flow(evidence: Evidence, name: str) -> dict[str, Any]:
    flows: list[dict[str, Any]] = evidence.document()["flow"]
    return next(flow for flow in flows if flow["name"] == name)


@check("sweep")
def sweep(evidence: Evidence, _: Claim) -> Finding:
    cells = [
        mixed(queue, packets, link, rtt).with_({f"flow.{GAME}.model": game})
        for link in (SLOW, FAST)
        for rtt in BASE_RTTS
        for queue in QUEUES
        for packets in (100, 1000)
        for game in GAMES
    ]
    hashes = {evidence.scenario(cell).hash for cell in cells}
    return given(len(hashes) == 1120, f"{len(hashes)} different cells, each accepted as a scenario")


@check("bandwidths", "rttbase", "queues", "buffers", "games")
def grid_axes(evidence: Evidence, _: Claim) -> Finding:
    return given(
        all(
            evidence.scenario(mixed(q, p, link, rtt))
            for q in QUEUES
            for p in (100, 1000)
            for link in (SLOW, FAST)
            for rtt in BASE_RTTS
        )
        and {model["name"] for model in _native.models()} >= set(GAMES),
        f"links {SLOW[0]}/{SLOW[1]} and {FAST[0]}/{FAST[1]}; RTTs {', '.join(BASE_RTTS)}; queues {', '.join(QUEUES)};"
        f" 100 and 1000 packets; games {', '.join(GAMES)}",
        "the RTT is split evenly over both directions. The limit is per direction; for FQ it covers all sub-queues",
    )


@check("cc")
def congestion_control(evidence: Evidence, _: Claim) -> Finding:
    tcp = evidence.document()["tcp"]
    return given(
        tcp == {"stack": "freebsd-10"},
        "FreeBSD 10's row: NewReno with SACK",
        "the paper gives no version of FreeBSD. The row is made from the source of FreeBSD 10.2, and our queues have"
        " dummynet's parameters; FreeBSD's kernel is not run",
    )


@check("fourplayer")
def four_players(evidence: Evidence, _: Claim) -> Finding:
    flow = _flow(evidence, GAME)
    return given(flow["app"] == "game" and flow["players"] == 4, "one client, one server, sizes of 4 players")


@check("p2p-overhead")
def peer_to_peer(evidence: Evidence, _: Claim) -> Finding:
    rates: dict[str, list[float]] = {"player": [], "host": []}
    for role, found in rates.items():
        for players in (2, 4, 8):
            keys = {"role": role, "players": str(players), "client": "game"}
            arm = alone().with_({f"flow.{GAME}.{key}": value for key, value in keys.items()})
            found.append(float(evidence.values(arm, THROUGHPUT_UP).mean()) / 1e3)
    client, host = rates["player"], rates["host"]
    kbit = ", ".join(f"{rate:.0f}" for rate in host)
    return given(
        max(client) / min(client) < CONSTANT and all(more > 2 * less for less, more in pairwise(host)),
        f"2, 4, 8 players: {kbit} kbit/s up from the player who hosts, {client[0]:.0f} to {client[-1]:.0f} from a"
        " client",
        "one player hosts for all others; a mesh of equals is not modelled",
    )


@check("discovery")
def discovery(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("server discovery is not modelled, because it ends before the match begins")


@check("arma")
def arma(evidence: Evidence, _: Claim) -> Finding:
    sizes = {}
    for players in (2, 3, 4, 16, 32):
        arm = alone().with_({f"flow.{GAME}.players": str(players)})
        packets = evidence.values(arm, f"flows.{GAME}.down.received")
        rate = evidence.values(arm, THROUGHPUT_DOWN)
        packet = float(np.mean(rate * evidence.base.duration_s / 8 / packets))
        sizes[players] = packet - _native.IPV4_HEADER - _native.UDP_HEADER
    growth = np.diff([sizes[n] for n in (2, 3, 4)])
    return given(
        bool(np.all(growth > 0)) and abs(growth[0] / growth[1] - 1) < 0.15,
        ", ".join(f"{n} players {size:.0f} B" for n, size in sizes.items()),
        "ARMA(1,1) around a mean that grows with the players; the coefficients are our construction, as the paper gives"
        " none",
    )


@check("bulk")
def bulk(evidence: Evidence, _: Claim) -> Finding:
    flow = _flow(evidence, UPLOAD)
    return given(
        flow["start"] == "10s" and flow["direction"] == "up" and "stop" not in flow, "up, from 10 s to the end"
    )


@check("web")
def web(evidence: Evidence, _: Claim) -> Finding:
    flow = _flow(evidence, WEB)
    return given(
        flow["every"] == "10s",
        f"every {flow['every']}, lasting {flow['lasting']}",
        "the paper does not give the distribution",
    )


@check("dash")
def dash(evidence: Evidence, _: Claim) -> Finding:
    flow = _flow(evidence, DASH)
    ours = (flow["chunk"], flow["rates"], flow["gap"], flow["period"])
    same = ours == ("5s", ["500kbit", "1mbit", "5mbit"], "2s", "10s")
    return given(same, f"chunks of {ours[0]} at {', '.join(ours[1])}, {ours[2]} apart, every {ours[3]}")


@check("t1.sydney", "t1.california", "t1.washington", "t1.london")
def live_servers(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("pings to public servers of 2016 cannot be repeated; their values can be used as link.rtt")


@check(
    "lan-rtt",
    "qoe.wc3",
    "qoe.ut.loss",
    "qoe.ut.shoot",
    "qoe.ut.move",
    "qoe.q3.lat",
    "qoe.q3.loss",
    "qoe.mmo",
    "qoe.jitter",
    "qoe.serverchoice",
)
def literature(_: Evidence, __: Claim) -> Finding:
    return cannot_tell("a result of another paper; only players can decide it")


@check("live.grid", "live.delay", "live.loss", "live.latency-over-loss")
def live_trial(_: Evidence, __: Claim) -> Finding:
    return cannot_tell(
        "a trial with players; `gamelane impair trial` repeats its conditions on a real link, but only players can"
        " decide"
    )
