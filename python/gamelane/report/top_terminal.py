"""The screen of `gamelane capture --live`: flows by how late they are now, like `top` for lag.

It is a function of what Rust measured. Keys and time are left to the command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

Flow = Mapping[str, Any]

OTHER = "other"
KINDS = {"game": "game", "voice": "voice", "thin-tcp": "thin TCP"}
LATE_MS = 100.0
"""A wait from here on is called late."""
ORDERS: dict[str, Callable[[Flow], float]] = {
    "longest wait": lambda flow: flow["wait_ms"] or 0.0,
    "round trip": lambda flow: flow["rtt_ms"] or 0.0,
    "rate": lambda flow: sum(flow["bps"]),
    "losses": lambda flow: flow["lost"] + flow["late"],
}
"""What the flows can be sorted by. The highest comes first."""
KEYS = "q quit, s sort, p pause"
HEAD = (
    "  flow kind       packets/s        kbit/s round trip longest wait   lost  late",
    "                    up/down       up/down    now, ms      5 s, ms   10 s  10 s",
)


def screen(flows: Sequence[Flow], seen: str, order: str, *, size: tuple[int, int], paused: bool) -> Text:
    """Return the screen for a terminal of `size`: width and height. The addresses of a flow are below its numbers."""
    width, height = size
    ranked = sorted(flows, key=ORDERS[order], reverse=True)
    lines = [Text(sentence(flows), style="bold"), Text(seen), Text(), *(Text(line, style="dim") for line in HEAD)]
    shown = 0
    for flow in ranked:
        more = [Text(_numbers(flow), style="bold red" if _is_late(flow) else ""), *_addresses(flow, width)]
        if len(lines) + len(more) >= height:
            break
        lines += more
        shown += 1
    lines += [Text()] * (height - 1 - len(lines))
    rest = f", {len(ranked) - shown} more below" if len(ranked) > shown else ""
    foot = f"PAUSED. p goes on, {KEYS}" if paused else f"Sorted by {order}{rest}. {KEYS}"
    lines.append(Text(foot, style="reverse"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def sentence(flows: Sequence[Flow]) -> str:
    """Return how the games are now, in one sentence."""
    games = [flow for flow in flows if flow["kind"] != OTHER]
    if not games:
        return "No game seen yet." if flows else "No traffic in the last 10 s."
    count = "1 game or call" if len(games) == 1 else f"{len(games)} games or calls"
    late = [flow for flow in games if _is_late(flow)]
    if not late:
        return f"{count}: fine, no wait of {LATE_MS:.0f} ms or more in the last 5 s"
    worst = max(late, key=ORDERS["longest wait"])
    return f"{count}, {len(late)} late: flow {worst['flow']} waited {worst['wait_ms']:,.0f} ms"


def _is_late(flow: Flow) -> bool:
    return flow["kind"] != OTHER and (flow["wait_ms"] or 0.0) >= LATE_MS


def _numbers(flow: Flow) -> str:
    kind = KINDS.get(flow["kind"], flow["protocol"].upper())
    packets, kbits = (_pair(flow["packets_per_s"]), _pair([rate / 1000 for rate in flow["bps"]]))
    return (
        f"{flow['flow']:>6} {kind:<8} {packets:>11} {kbits:>13} {_ms(flow['rtt_ms']):>10} {_ms(flow['wait_ms']):>12} "
        f"{flow['lost'] or '':>6} {flow['late'] or '':>5}"
    )


def _addresses(flow: Flow, width: int) -> Iterator[Text]:
    line = f"       {flow['client']} > {flow['server']}"
    lines = [line] if len(line) <= width else [f"       {flow['client']}", f"       > {flow['server']}"]
    return (Text(line, style="dim") for line in lines)


def _pair(up_and_down: Sequence[float]) -> str:
    return "/".join(f"{value:.1f}" if 0 < value < 9.95 else f"{value:.0f}" for value in up_and_down)


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.1f}"
