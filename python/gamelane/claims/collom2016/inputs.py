"""Settings of the paper (section III.B): our scenario and its arms have them."""

from __future__ import annotations

from typing import Any

from gamelane import _native
from gamelane.claims import Claim
from gamelane.claims.collom2016.arms import (
    BASE_RTTS,
    BUFFERS,
    DASH,
    FAST,
    GAME,
    GAMES,
    QUEUES,
    SLOW,
    UPLOAD,
    WEB,
    base_ms,
    check,
    limit_packets,
    mixed,
    paper,
    playing,
)
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, given
from gamelane.sweep import file


def _flow(evidence: Evidence, name: str, arm: Arm) -> dict[str, Any]:
    flows: list[dict[str, Any]] = evidence.document(arm)["flow"]
    return next(flow for flow in flows if flow["name"] == name)


def _seconds(text: str) -> float:
    return _whole(_native.read_quantity(text, "time") / 1e9)


def _mbit(text: str) -> float:
    return _whole(_native.read_quantity(text, "rate") / 1e6)


def _whole(number: float) -> float:
    """Return a whole number as an integer, which is shown without decimals."""
    return int(number) if number.is_integer() else number


def _same(ours: Any, claim: Claim, why: str = "") -> Finding:
    return given(ours == claim.theirs, ours, why)


def _queue_name(theirs: str) -> str:
    return theirs.lower().replace("-", "_")


@check("sweep")
def grid(evidence: Evidence, claim: Claim) -> Finding:
    found = file.read("collom2016").grid
    different = {evidence.base.with_overrides(list(cell.items())).hash for cell in found.cells()}
    ours: dict[str, float] = {name: len(found.values(key)) for name, key in AXES.items()}
    ours |= {"combinations": len(different), "seconds": _seconds(evidence.document()["duration"])}
    return _same(ours, claim, "the axes of sweeps/collom2016.toml; each combination is a different scenario")


AXES = {
    "bandwidths": "link.down",
    "base round trips": "link.rtt",
    "queues": "gateway.*.queue",
    "buffers": "gateway.*.limit",
    "games": f"flow.{GAME}.model",
}
"""Keys of the sweep."""


@check("bandwidths")
def bandwidths(evidence: Evidence, claim: Claim) -> Finding:
    links = [evidence.document(paper("fifo", link))["link"] for link in (SLOW, FAST)]
    return _same([[_mbit(link["down"]), _mbit(link["up"])] for link in links], claim)


@check("rttbase")
def base_round_trips(evidence: Evidence, claim: Claim) -> Finding:
    ours = [_whole(base_ms(evidence, mixed("fq_codel", 1000, rtt=rtt))) for rtt in BASE_RTTS]
    return _same(ours, claim, "half each way. The paper does not say how it is divided")


@check("queues")
def queues(evidence: Evidence, claim: Claim) -> Finding:
    ours = [evidence.document(paper(queue))["gateway"] for queue in QUEUES]
    names = [_queue_name(theirs) for theirs in claim.theirs]
    return given(
        [gateway["up"]["queue"] for gateway in ours] == names == [gateway["down"]["queue"] for gateway in ours],
        ", ".join(gateway["up"]["queue"] for gateway in ours),
        "in both directions, with dummynet's parameters. The paper gives no parameters",
    )


@check("buffers")
def buffers(evidence: Evidence, claim: Claim) -> Finding:
    ours = [limit_packets(evidence, mixed("fifo", packets)) for packets in BUFFERS]
    return _same(ours, claim, "in each direction; of flow queues, all together. The paper does not say")


@check("games")
def games(evidence: Evidence, claim: Claim) -> Finding:
    ours = {name: _flow(evidence, GAME, playing(paper("fifo"), model))["model"] for name, model in GAMES.items()}
    return given(
        list(ours) == claim.theirs and list(ours.values()) == list(GAMES.values()),
        ", ".join(ours.values()),
        "the sizes of updates are our construction, because the paper gives none (models/README.md)",
    )


@check("cc")
def congestion_control(evidence: Evidence, claim: Claim) -> Finding:
    tcp = evidence.document()["tcp"]
    return given(
        tcp == {"stack": OF_SYSTEM.get((claim.theirs["system"], claim.theirs["congestion control"]))},
        tcp,
        "NewReno with SACK. The paper gives no version; the row is made from the source of FreeBSD 10.2",
    )


OF_SYSTEM = {("FreeBSD", "NewReno"): "freebsd-10"}
"""Our row of TCP for the paper's hosts."""


@check("fourplayer")
def four_players(evidence: Evidence, claim: Claim) -> Finding:
    flows = [flow for flow in evidence.document()["flow"] if flow["app"] == "game"]
    return _same({"streams": len(flows), "players": flows[0].get("players")}, claim)


@check("bulk")
def bulk(evidence: Evidence, claim: Claim) -> Finding:
    flow = _flow(evidence, UPLOAD, paper("fifo"))
    until_the_end = "stop" not in flow and "size" not in flow
    ours = {"direction": flow["direction"], "start": _seconds(flow["start"]), "to the end": until_the_end}
    return _same(ours, claim)


@check("web")
def web(evidence: Evidence, claim: Claim) -> Finding:
    flow = _flow(evidence, WEB, paper("fifo"))
    shortest, longest = (_seconds(flow["lasting"][end]) for end in ("min", "max"))
    ours = {"direction": flow["direction"], "every": _seconds(flow["every"]), "random duration": shortest < longest}
    return _same(ours, claim, f"{shortest:g} to {longest:g} s is our choice; the paper gives no range")


@check("dash")
def dash(evidence: Evidence, claim: Claim) -> Finding:
    flow = _flow(evidence, DASH, paper("fifo"))
    ours = {
        "chunk": _seconds(flow["chunk"]),
        "rates": [_whole(1000.0 * _mbit(rate)) for rate in flow["rates"]],
        "gap": _seconds(flow["gap"]),
        "period": _seconds(flow["period"]),
    }
    return _same(ours, claim)


@check("fifo.gamestart")
def game_start(evidence: Evidence, claim: Claim) -> Finding:
    start = _seconds(_flow(evidence, GAME, paper("fifo")).get("start", "0s"))
    return given(
        abs(start - claim.theirs) <= claim.limits["percent"] / 100 * claim.theirs,
        f"{start:g} s",
        "the paper says this of its plots, not of its settings, so our game runs from the start. The table of settings"
        " shows which verdicts a start at 8 s moves",
    )
