"""A measured line as a scenario: its link with the modem's and the provider's buffers, and who uses it.

The link is `wired`, or a `trace` of rates where the rate wanders. What the line is made of is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gamelane import _native
from gamelane.advise.measured import Measured, Plan
from gamelane.analysis.bottleneck import NOTICED_MS, Lane, Link
from gamelane.analysis.line import OMITTED_S
from gamelane.analysis.sender import PACKET, WINDOW_S

FILE = "line.toml"
TRACES = {"up": "up.rate", "down": "down.rate"}
"""File of the rates of each direction, where they wander."""
GAME, CALL, LOAD = "game", "call", "load"
USUAL = Plan(30, 4, "", 1)
"""Stands for the plan of a measurement that has none."""
CONGESTION = {"cubic": "cubic", "reno": "newreno", "bic": "bic", "vegas": "vegas", "westwood": "westwood"}
"""Congestion controls that the simulation has. CUBIC stands for all others, as most hosts use it."""
ASSUMED_FRAMING = 44
"""Assumed if the measurement does not show it. It is more than `docsis` (18), `pppoe-ptm` (30) and `ethernet` (38) of
tc-cake(8). Rates are measured with full packets, so too many bytes take nothing from those."""
GAME_BYTES = {"up": 88, "down": 200}
"""IP bytes of the packets of the measured game, whose round trip is the link's."""
SHORTEST_BUFFER_PACKETS = 8
LEAST_JITTER_MS = 1.0
LOADED_S, SHORTEST_LOADED_S = 20.0, 6.0
FAST_BPS = 200e6
"""A line with more than this in both directions together gets a shorter run: it has packets enough."""
DRAIN_S = 0.5
"""Time after the last load in which its queue drains."""
LOADS = {"up": ("up",), "down": ("down",), "both": ("up", "down")}

Overrides = list[tuple[str, str]]


def scenario(measured: Measured, link: Link, folder: Path) -> _native.Scenario:
    """Return the measurement itself as a scenario: a game and a call beside TCP loads, phase by phase.

    `folder` is where the traces of `traces` are.
    """
    return _native.Scenario.parse(text(measured.spans, _plan(measured)), str(folder / FILE), of(link))


def loaded(measured: Measured, link: Link, folder: Path) -> _native.Scenario:
    """Return a scenario in which the loads of both directions last. Its statistics begin when TCP has filled them."""
    speed = (link.up.rate_bps.value + link.down.rate_bps.value) / FAST_BPS
    spans = [("both", 0.0, max(LOADED_S / max(speed, 1.0), SHORTEST_LOADED_S))]
    overrides = [*of(link), ("warmup", f"{OMITTED_S:g}s")]
    return _native.Scenario.parse(text(spans, _plan(measured)), str(folder / FILE), overrides)


def policy(link: Link, folder: Path) -> _native.Scenario:
    """Return a scenario for a gateway: the game, the call, and a transfer that they can go before."""
    lines = ['name = "line"', *LINK, *PROBES, *_flow("transfer", "bulk"), 'direction = "down"']
    return _native.Scenario.parse("\n".join(lines), str(folder / FILE), of(link))


def text(spans: Sequence[tuple[str, float, float]], plan: Plan) -> str:
    """Return the scenario of a measurement, with a placeholder for its link.

    `spans` are the phases: name, start, end.
    """
    lines = [
        'name = "line"',
        f'question = "How do games and calls fare on this line while TCP loads it ({plan.streams} streams)?"',
        f'duration = "{1e3 * (spans[-1][2] + DRAIN_S):.0f}ms"',
        f"seed = {plan.seed}",
        "[tcp]",
        f'congestion = "{CONGESTION.get(plan.congestion, "cubic")}"',
        'recovery = "rack"',
        'slow_start = "linux"',
        'receive_window = "6MiB"',
        *LINK,
        *PROBES,
    ]
    for name, start, stop in spans:
        for way in LOADS.get(name, ()):
            for stream in range(1, plan.streams + 1):
                lines += [*_flow(f"{LOAD}-{name}-{way}-{stream}", "bulk"), f'direction = "{way}"']
                lines += [f'start = "{1e3 * start:.0f}ms"', f'stop = "{1e3 * stop:.0f}ms"']
    return "\n".join(lines) + "\n"


def is_simulated(control: str | None) -> bool:
    """Return whether the simulation has a congestion control; True if none is known."""
    return control is None or control in CONGESTION


def _plan(measured: Measured) -> Plan:
    """Return how the line was loaded, with the congestion control that the loads had."""
    return replace(measured.plan or USUAL, congestion=measured.control or "")


def loads(flow: str) -> str | None:
    """Return the direction that a flow loads; None for a probe."""
    words = flow.split("-")
    return words[2] if words[0] == LOAD else None


def _flow(name: str, app: str) -> list[str]:
    """Return the first lines of a flow. All run on one host, as in a measurement."""
    return ["[[flow]]", f'name = "{name}"', f'app = "{app}"', 'host = "pc"']


def of(link: Link, folder: Path | None = None) -> Overrides:
    """Return the overrides that put the measured link into a scenario.

    Without a shaper the queues of the modem and of the provider are `gateway.up` and `gateway.down`. Traces are in
    `folder`, or beside the scenario.
    """
    return [("link", _link(link, folder)), ("gateway", f"{{ up = {_buffer(link.up)}, down = {_buffer(link.down)} }}")]


def framing(link: Link) -> int:
    """Return the bytes that each packet takes in addition to its IP bytes.

    A line whose rate wanders has none: its rates are those of IP packets.
    """
    if link.up.wanders or link.down.wanders:
        return 0
    return ASSUMED_FRAMING if link.framing_bytes is None else round(link.framing_bytes.value)


def behind(link: Link) -> tuple[tuple[str, str], ...]:
    """Return the overrides for the buffers behind a gateway that shapes."""
    return ("gateway.modem", _buffer(link.up)), ("gateway.isp", _buffer(link.down))


def traces(link: Link) -> dict[str, str]:
    """Return the texts of the rate traces by file name: the windows of the load, one after another."""
    found = {}
    for way, lane in (("up", link.up), ("down", link.down)):
        if lane.wanders:
            step = round(1e3 * WINDOW_S)
            rows = [f"{step * index} {max(round(bps / 1e3), 1)}" for index, bps in enumerate(lane.windows_bps)]
            found[TRACES[way]] = "\n".join([*rows, f"{step * len(rows)} end"]) + "\n"
    return found


def _link(link: Link, folder: Path | None) -> str:
    lanes = {"up": link.up, "down": link.down}
    each = framing(link)
    rates = {way: lane.rate_bps.value * (1 + each / lane.packet_bytes) for way, lane in lanes.items()}
    keys = {way: f'"{rates[way] / 1e3:.0f}kbit"' for way, lane in lanes.items() if not lane.wanders}
    wandering = {way: json.dumps(str((folder or Path()) / TRACES[way])) for way, lane in lanes.items() if lane.wanders}
    if wandering:
        keys |= {"kind": '"trace"', "trace": _table(wandering)}
    jitter = {way: lane.jitter_ms for way, lane in lanes.items() if lane.jitter_ms >= LEAST_JITTER_MS}
    lost = {way: lane.loss.value for way, lane in lanes.items() if lane.loss.low > 0}
    if jitter:
        keys["jitter"] = _table({way: f'"{1e3 * ms:.0f}us"' for way, ms in jitter.items()})
    if each:
        keys["overhead"] = f'{{ kind = "fixed", bytes = {each} }}'
    if lost:
        keys["loss"] = _table({way: f'"{100 * share:.3g}%"' for way, share in lost.items()})
    sending = sum(8e3 * (GAME_BYTES[way] + each) / rate for way, rate in rates.items())
    rtt_ms = max(link.rtt_ms.value - sending - sum(jitter.values()) / 2, 0.0)
    return _table(keys | {"rtt": f'"{1e3 * rtt_ms:.0f}us"'})


def _table(keys: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in keys.items())} }}"


def _buffer(lane: Lane) -> str:
    if lane.buffer_packets is not None:
        return f'{{ queue = "fifo", limit = "{max(round(lane.buffer_packets), 1)}p" }}'
    bytes_ = lane.buffer_bytes
    least = max(SHORTEST_BUFFER_PACKETS * PACKET, NOTICED_MS * lane.rate_bps.value / 8e3)
    return f'{{ queue = "fifo", limit = "{round(bytes_.value if bytes_ else least)}B" }}'


LINK = ("[link]", 'up = "1gbit"', 'down = "1gbit"')
"""Placeholder for the measured link."""
PROBES = (*_flow(GAME, "game"), 'model = "cssource"', *_flow(CALL, "voip"))
