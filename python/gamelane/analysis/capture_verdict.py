"""Explains in words what happened to the games of a capture: which packets were late or lost, and why.

The headline is about all games, from the sums of the document. Sentences follow for the games that suffered most.
"""

from __future__ import annotations

from gamelane.analysis.capture_facts import DIRECTIONS, THIN_TCP, TIMED, TO, VOICE, Game, Way, games

TYPE_CHECKING = False  # `typing` loads slowly
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Document = Mapping[str, Any]

CAUSE_WORDS = {
    "timeout": "timeouts",
    "fast": "fast retransmission",
    "tail-loss-probe": "tail loss probes",
    "timeout-or-probe": "timeouts or probes",
    "unexplained": "no visible reason",
}
LENGTHS = {
    "below 1": "less than a timeout",
    "1": "about one timeout",
    "2": "two timeouts",
    "3": "three timeouts",
    "4 to 6": "four to six timeouts",
    "7 and more": "seven or more timeouts",
}
"""Length of a stall in retransmission timeouts: 1, 3, 7 with exponential back-off, below 1 after a tail loss probe."""
TO_CALLER = TO | {"down": "client"}
"""Receivers of the directions if one of them may be a caller, who is no player."""
DESCRIBED = 20
"""Maximum number of games with a sentence of their own."""


def verdict(found: Document) -> dict[str, Any]:
    """Return the headline, a sentence for each of the games that suffered most, and the number of the others."""
    listed = games(found)
    worst = set(sorted(listed, key=lambda game: -game.trouble_ms)[:DESCRIBED])
    described = [game for game in listed if game in worst]
    return {
        "headline": _headline(found),
        "games": [
            {
                "capture": game.capture,
                "flow": game.flow,
                "kind": game.kind,
                "text": f"{game.client} and {game.server}. {_tcp(game) if game.kind == THIN_TCP else _udp(game)}",
            }
            for game in described
        ],
        "not_described": _total(found) - len(described),
    }


def _number(sums: Document) -> int:
    """Return the number of games and calls."""
    return int(sums["udp"]["games"] + sums["udp"]["voice_calls"] + sums["tcp"]["connections"])


def _total(found: Document) -> int:
    """Return the number of games and calls of all captures; one that two captures have counts once."""
    if found["pair"]:
        return _number(found["pair"]["games"]) + int(sum(found["pair"]["games"]["only_in"]))
    return sum(_number(capture["games"]) for capture in found["captures"])


def _headline(found: Document) -> str:
    captures, pair = found["captures"], found["pair"]
    if not any(capture["flows_total"] for capture in captures):
        return "The capture has no TCP or UDP conversation."
    compared = bool(pair and _number(pair["games"]))
    sums = [pair["games"]] if compared else [capture["games"] for capture in captures]
    where = "between the two captures" if compared else "on the way to the capture"
    parts = [_all_tcp([each["tcp"] for each in sums], where), _all_udp([each["udp"] for each in sums], where)]
    if not any(parts):
        parts.append(
            "No game found: no UDP conversation has the regular packets of a game, "
            "and no TCP connection is long and thin."
        )
    if compared:
        for capture, more in zip(captures, pair["games"]["only_in"], strict=True):
            parts.append(f"{_count(more, 'more game')} {_is(more)} only in {capture['file']}." if more else "")
    elif pair and not pair["flows"] and all(capture["flows_total"] for capture in captures):
        parts.append("The two captures have no packet in common, so each is analyzed alone.")
    return " ".join(part for part in parts if part)


def _all_tcp(sums: list[Document], where: str) -> str:
    """Return sentences about all games over TCP."""
    connections = sum(each["connections"] for each in sums)
    if not connections:
        return ""
    ways = [each[way] for each in sums for way in DIRECTIONS]
    resent, stalled = (sum(way[key] for way in ways) for key in ("resent", "stalls"))
    longest = max(way["longest_stall_ms"] for way in ways)
    lag = sum(sum(way["lag_ms"].values()) for way in ways)
    timed = sum(way["lag_ms"][cause] for way in ways for cause in TIMED)
    lost = _all_lost(sums, connections, "packets", where)
    behave = "behaves like a game" if connections == 1 else "behave like games"
    said = f"{_count(connections, 'TCP connection')} {behave} (thin): "
    said += f"{f'{lost}; ' if lost else ''}{_count(resent, 'retransmission') if resent else 'no retransmission'}"
    if lag > 0:
        said += (
            f" caused {_seconds(lag)} of lag, summed over all delayed packets, "
            f"{_percent(timed / lag)} of it waiting for retransmission timers"
        )
    if stalled:
        said += f"; {_count(stalled, 'stall')}, {'' if stalled == 1 else 'the longest '}{longest:.0f} ms"
    return f"{said}."


def _all_udp(sums: list[Document], where: str) -> str:
    """Return a sentence about all games and calls over UDP."""
    kinds = {"game": sum(each["games"] for each in sums), "voice call": sum(each["voice_calls"] for each in sums)}
    conversations = sum(kinds.values())
    if not conversations:
        return ""
    ways = [each[way] for each in sums for way in DIRECTIONS]
    counted = max(sum(each[way]["counted"]["flows"] for each in sums) for way in DIRECTIONS)
    said = (
        [_all_lost(sums, conversations, "updates", where, TO_CALLER if kinds["voice call"] else TO)] if counted else []
    )
    if counted < conversations:
        of = f" of {conversations - counted:,} of them" if counted else ""
        said.append(f"lost updates{of} cannot be counted")
    if steady := sum(way["steady"] for way in ways):
        late, gaps = (sum(way[key] for way in ways) for key in ("late", "gaps"))
        longest = max(way["longest_gap_ms"] for way in ways)
        said.append(f"{_none(late)} late by more than half a tick")
        said.append(f"{_count(gaps, 'gap') if gaps else 'no gap'}, longest silence {longest:.0f} ms")
    if steady < 2 * conversations:
        said.append(f"{2 * conversations - steady:,} of {2 * conversations:,} directions without a steady pace")
    names = " and ".join(_count(number, kind) for kind, number in kinds.items() if number)
    return f"{names} over UDP: {'; '.join(said)}."


def _all_lost(sums: list[Document], games: int, what: str, where: str, to: Mapping[str, str] = TO) -> str:
    """Return the counted losses of all games; an empty string if none could be counted."""
    parts = []
    for way in DIRECTIONS:
        counted = [each[way]["counted"] for each in sums]
        sent, lost = (sum(each[key] for each in counted) for key in ("sent", "lost"))
        if any(each["flows"] for each in counted):
            parts.append(f"{_none(lost)} of {sent:,} {what} to the {to[way]}{'' if games == 1 else 's'}")
    return f"{' and '.join(parts)} lost {where}" if parts else ""


def _udp(game: Game) -> str:
    to = TO_CALLER if game.kind == VOICE else TO
    said = [_updates(to[name], way, way.updates) for name, way in game.ways.items() if way.updates]
    if game.pair and game.rtt_ms is not None:
        said.append(f"Median RTT {game.rtt_ms:.1f} ms.")
    return " ".join(said)


def _updates(to: str, way: Way, of: Document) -> str:
    """Describe one direction of UDP."""
    pace = f"an update every {of['tick_ms']:.1f} ms" if way.is_steady else "updates without a steady pace"
    said = [_lost(way) or "lost updates cannot be counted"]
    if way.is_steady:
        said.append(f"{_none(of['late'])} late")
        if of["gaps"]:
            missing = _count(of["missing_by_pace"], "update")
            why = f"time for {missing} that the numbers do not show as lost"
            why = f" with {why if of['numbered'] else f'{missing} lost or not sent'}"
            said.append(f"{_count(of['gaps'], 'gap')}{'' if way.pair else why}")
    counts = way.pair or of["numbered"] or {"duplicated": 0, "reordered": 0}
    words = (("duplicated", "duplicated"), ("reordered", "out of order"))
    said += [f"{counts[key]:,} {word}" for key, word in words if counts[key]]
    return (
        f"To the {to}: {pace} (jitter {of['mean_jitter_ms']:.2f} ms); {', '.join(said)}; "
        f"longest silence {of['longest_gap_ms']:.0f} ms."
    )


def _tcp(game: Game) -> str:
    return " ".join(_data(way, way.half) for way in game.ways.values() if way.half)


def _data(way: Way, half: Document) -> str:
    """Describe one direction of TCP."""
    loss = _lost(way)
    if way.loss_estimate is not None:
        loss = f"an estimated {100 * way.loss_estimate:.1f} % lost"
    text = f"To the {way.to}: {_none(half['resent'])} of {half['data_packets']:,} data packets retransmitted"
    text += f", {loss}." if loss else "."
    lag = {cause: ms for cause, ms in way.lag_ms.items() if ms > 0}
    if lag:
        until = "delivery" if way.delivery else "the acknowledgement"
        text += f" Lag until {until}: {_seconds(sum(lag.values()))} ({shares(lag)})."
    return text + stalls(half) + closed(half)


def stalls(half: Document) -> str:
    """Describe the waits for timers, as multiples of the retransmission timeout."""
    of = half["stalls"]
    if not of["count"]:
        return ""
    lengths = {LENGTHS[length]: count for length, count in of["by_timeouts"].items() if count}
    if len(lengths) == 1:
        [length] = lengths
        return f" {_count(of['count'], 'stall')} of {length}, {_longest(of)}."
    parts = ", ".join(f"{count:,} of {length}" for length, count in lengths.items())
    return f" {_count(of['count'], 'stall')}: {parts}; {_longest(of)}."


def _longest(of: Document) -> str:
    return f"{of['longest_ms']:.0f} ms" if of["count"] == 1 else f"the longest {of['longest_ms']:.0f} ms"


def closed(half: Document) -> str:
    """Describe how long the receiver's window was closed."""
    of = half["zero_windows"]
    if not of["count"]:
        return ""
    times = "once" if of["count"] == 1 else f"{of['count']:,} times"
    return f" The receiver's window was closed {times}, {of['seconds']:.1f} s in total."


def shares(lag_ms: Mapping[str, float]) -> str:
    """Return the causes of lag, the largest first."""
    whole = sum(lag_ms.values()) or 1.0
    parts = sorted(((value, cause) for cause, value in lag_ms.items() if value > 0), reverse=True)
    return ", ".join(f"{CAUSE_WORDS[cause]} {_percent(value / whole)}" for value, cause in parts)


def _lost(way: Way) -> str:
    """Return the counted losses of one direction; an empty string if they cannot be counted."""
    if way.lost is None:
        return ""
    lost, sent = way.lost
    before = way.lost_before_capture
    unknown = 0 if before or not way.pair else way.pair.get("undecided", 0)
    rest = f" ({unknown:,} more may still be under way)" if unknown else ""
    return f"{_none(lost)} of {sent:,} lost{' on the way to the capture' if before else ''}{rest}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _none(number: int) -> str:
    return f"{number:,}" if number else "none"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms" if ms >= 1 else "under 1 ms"


def _percent(share: float) -> str:
    """Return a share in percent. Neither 0 nor 100 % is said of a share in between."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"
