"""Explains in words what happened to the games of a capture: which packets were late or lost, and why."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Document = Mapping[str, Any]

TIMED = ("timeout", "tail-loss-probe", "timeout-or-probe")
CAUSE_WORDS = {
    "timeout": "timeouts",
    "fast": "fast retransmission",
    "tail-loss-probe": "tail loss probes",
    "timeout-or-probe": "timeouts or probes",
    "unexplained": "no visible reason",
}
LENGTHS = {"below 1": "less than 1", "1": "1", "2": "2", "3": "3", "4 to 6": "4 to 6", "7 and more": "7 or more"}
"""Length of a stall in retransmission timeouts: 1, 3, 7 with exponential back-off, below 1 after a tail loss probe."""

MIN_PACKETS = 20
MIN_SECONDS = 3.0


def verdict(found: Document) -> dict[str, Any]:
    """Return the headline and a sentence for each game found."""
    games = [entry for number, capture in enumerate(found["captures"]) for entry in _games(number, capture)]
    pairs = {
        (number, flow["ids"][number]): flow for flow in (found["pair"] or {"flows": []})["flows"] for number in (0, 1)
    }
    sentences = []
    for number, flow, kind in games:
        pair = pairs.get((number, flow["id"]))
        if pair is not None and number == 1:
            continue  # described with the first capture
        text = _udp(flow, pair) if kind != "thin-tcp" else _tcp(_senders(found, flow, pair), pair)
        sentences.append({"capture": number, "flow": flow["id"], "kind": kind, "text": text})
    return {"headline": _headline(found, games, pairs), "games": sentences}


def _senders(found: Document, flow: Document, pair: Document | None) -> Document:
    """Return the flow with each direction as the capture nearer to its sender shows it, if there are two captures."""
    if pair is None:
        return flow
    near = pair["near_client"] or 0
    flows = [_by_id(found["captures"][number], pair["ids"][number]) or flow for number in (near, 1 - near)]
    return {**flow, "tcp": {**flow["tcp"], "up": flows[0]["tcp"]["up"], "down": flows[1]["tcp"]["down"]}}


def seen_by_senders(found: Document, capture: int, flow: int, direction: str) -> tuple[Document, int, Document | None]:
    """Return a flow as captured nearer to the direction's sender, that capture's position, and the pair if compared."""
    pairs = (found["pair"] or {"flows": []})["flows"]
    pair = next((each for each in pairs if each["ids"][capture] == flow), None)
    if pair is None:
        return _by_id(found["captures"][capture], flow) or {}, capture, None
    near = pair["near_client"] or 0
    position = near if direction == "up" else 1 - near
    return _by_id(found["captures"][position], pair["ids"][position]) or {}, position, pair


def _by_id(capture: Document, flow_id: int) -> Document | None:
    return next((flow for flow in capture["flows"] if flow["id"] == flow_id), None)


def _games(number: int, capture: Document) -> Iterator[tuple[int, Document, str]]:
    for flow in capture["flows"]:
        if flow["protocol"] == "udp":
            if flow["udp"]["behaviour"] != "other":
                yield number, flow, flow["udp"]["behaviour"]
        elif is_thin_conversation(flow):
            yield number, flow, "thin-tcp"


def is_thin_conversation(flow: Document) -> bool:
    """Return whether a TCP connection behaves like a game: long, with data both ways, and thin in at least one."""
    halves = (flow["tcp"]["up"], flow["tcp"]["down"])
    return (
        flow["end_s"] - flow["start_s"] >= MIN_SECONDS
        and all(half["data_packets"] >= MIN_PACKETS for half in halves)
        and any(half["thin"] for half in halves)
    )


def lag(half: Document, delivery: Document | None = None) -> tuple[float, float]:
    """Return the lag from retransmissions in milliseconds: the total, and the part spent waiting for timers.

    With two captures the lag lasts until delivery. With one it is the time to the acknowledgement beyond the RTT.
    """
    by_cause = delivery["late"] if delivery else half["retransmissions"]
    timed = sum(by_cause[cause]["lag_ms"] for cause in TIMED)
    return sum(each["lag_ms"] for each in by_cause.values()), timed


def _headline(found: Document, games: list[tuple[int, Document, str]], pairs: Mapping[Any, Document]) -> str:
    if not any(capture["flows_total"] for capture in found["captures"]):
        return "The capture has no TCP or UDP conversation."
    told = [
        (flow, kind, pairs.get((number, flow["id"])))
        for number, flow, kind in games
        if number == 0 or (number, flow["id"]) not in pairs
    ]
    thin = [(_senders(found, flow, pair), pair) for flow, kind, pair in told if kind == "thin-tcp"]
    udp = [flow for flow, kind, _ in told if kind != "thin-tcp"]
    parts = []
    if thin:
        halves = [
            (flow["tcp"][way], pair[way]["delivery"] if pair else None) for flow, pair in thin for way in ("up", "down")
        ]
        whole, timed = (sum(values) for values in zip(*(lag(*half) for half in halves), strict=True))
        resent = sum(half["resent"] for half, _ in halves)
        name = "1 TCP connection is thin" if len(thin) == 1 else f"{len(thin)} TCP connections are thin"
        if whole > 0:
            parts.append(
                f"{name}: {resent} retransmissions caused {whole / 1000:.1f} s of lag in total, "
                f"{100 * timed / whole:.0f} % of it waiting for retransmission timers"
            )
        else:
            parts.append(f"{name}: {resent} retransmissions, which caused no lag")
    if udp:
        late = sum(way["late"] for flow in udp for way in _ways(flow))
        name = "1 game over UDP" if len(udp) == 1 else f"{len(udp)} games over UDP"
        lost = [_missing(way) for flow in udp for way in _ways(flow)]
        parts.append(f"{name}: {sum(lost)} updates lost, {late} late by at least half a tick")
    if not parts:
        return (
            "No game found: no UDP conversation has the regular packets of a game, "
            "and no TCP connection is long and thin."
        )
    return "; ".join(parts) + "."


def _ways(flow: Document) -> list[Document]:
    return [way for way in (flow["udp"]["up"], flow["udp"]["down"]) if way]


def _missing(way: Document) -> int:
    return int(way["numbered"]["missing"] if way["numbered"] else way["missing_by_pace"])


def _udp(flow: Document, pair: Document | None) -> str:
    said = []
    for name, way in (("client", flow["udp"]["up"]), ("server", flow["udp"]["down"])):
        if not way:
            continue
        direction = "up" if name == "client" else "down"
        lost = (
            _lost(pair[direction])
            if pair
            else f"{_missing(way)} lost{'' if way['numbered'] else ' (from gaps in time)'}"
        )
        numbered = way["numbered"] or {"duplicated": 0, "reordered": 0}
        said.append(
            f"the {name} sends every {way['tick_ms']:.1f} ms (jitter {way['mean_jitter_ms']:.2f} ms): {lost}, "
            f"{way['late']} late, {numbered['duplicated']} duplicated, {numbered['reordered']} out of order, "
            f"longest gap {way['longest_gap_ms']:.0f} ms"
        )
    trips = f"; median RTT {pair['rtt_ms']['p50']:.1f} ms" if pair and pair["rtt_ms"]["count"] else ""
    return f"{flow['client']} and {flow['server']}: {'; '.join(said)}{trips}."


def _tcp(flow: Document, pair: Document | None) -> str:
    said = []
    for name, direction in (("To the client", "down"), ("To the server", "up")):
        half = flow["tcp"][direction]
        delivery = pair[direction]["delivery"] if pair else None
        whole, timed = lag(half, delivery)
        loss = _lost(pair[direction]) if pair else f"about {100 * (half['loss_estimate'] or 0):.1f} % lost"
        thin = " (thin)" if half["thin"] else ""
        text = f"{name}{thin}: {half['resent']} of {half['data_packets']} packets retransmitted ({loss})."
        if whole > 0:
            by_cause = delivery["late"] if delivery else half["retransmissions"]
            causes = _shares({cause: each["lag_ms"] for cause, each in by_cause.items()})
            until = " until delivery" if delivery else ""
            share = f"{100 * timed / whole:.0f} % of it waiting for timers"
            text += f" They caused {whole / 1000:.1f} s of lag{until}, {share} ({causes})."
        said.append(text + stalls(half) + closed(half))
    return f"{flow['client']} and {flow['server']}. {' '.join(said)}"


def stalls(half: Document) -> str:
    """Describe the waits for timers, as multiples of the retransmission timeout."""
    of = half["stalls"]
    if not of["count"]:
        return ""
    parts = [f"{count} of {LENGTHS[length]} RTO" for length, count in of["by_timeouts"].items() if count]
    noun = "stall" if of["count"] == 1 else "stalls"
    return f" {of['count']} {noun} ({', '.join(parts)}), the longest {of['longest_ms']:.0f} ms."


def closed(half: Document) -> str:
    """Describe how long the receiver's window was closed."""
    of = half["zero_windows"]
    if not of["count"]:
        return ""
    times = "once" if of["count"] == 1 else f"{of['count']} times"
    return f" The receiver's window was closed {times}, {of['seconds']:.1f} s in total."


def _lost(way: Document) -> str:
    return f"{way['lost']} of {way['sent']} lost"


def _shares(lag_ms: Mapping[str, float]) -> str:
    whole = sum(lag_ms.values()) or 1.0
    parts = sorted(((value, cause) for cause, value in lag_ms.items() if value > 0), reverse=True)
    return ", ".join(f"{CAUSE_WORDS[cause]} {100 * value / whole:.0f} %" for value, cause in parts)
