"""The summary table: one row per variant, one estimate over runs per column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gamelane.analysis.stats import Estimate, estimate
from gamelane.catalogue import BULK, INTERACTIVE, MMO
from gamelane.records.results import GATEWAY, Flow, Results, Variant

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column. `better` is the direction in which its values are better."""

    key: str
    heading: str
    unit: str
    better: str
    flow: str
    value: Callable[[Run], float | None]


@dataclass(frozen=True)
class Row:
    """Estimates of one variant, in the order of the columns."""

    variant: Variant
    cells: tuple[Estimate, ...]


@dataclass(frozen=True)
class Table:
    """Columns and rows."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def focus(results: Results) -> list[Flow]:
    """Return the main flows of a report: games and calls, or every flow if there are none."""
    interactive = [flow for flow in results.flows if flow.app in INTERACTIVE]
    return interactive or list(results.flows)


def summary_table(results: Results, flow: Flow) -> Table:
    """Return RTT and loss of one flow, and the goodput of bulk transfers.

    For a game over TCP: delivery delay, retransmissions and cost on the wire. At a gateway, which sees no round trips:
    the wait in its queues.
    """
    if flow.app == MMO:
        return _filled(results, _thin_columns(flow))
    bulk = [other for other in results.flows if other.app == BULK and other != flow]
    waits = (_wait(flow, way, key, heading) for way in ("up", "down") for key, heading in QUANTILES[::2])
    columns = (
        *(waits if results.engine == GATEWAY else (_round_trip(flow, key, heading) for key, heading in QUANTILES)),
        Column("loss", "loss", "%", "lower", flow.name, lambda run: _percent(_loss(run, flow.name))),
        *(_goodput(other) for other in bulk),
    )
    return _filled(results, columns)


def neighbours_table(results: Results, flow: Flow) -> Table:
    """Return the goodput of the flows that the summary leaves out."""
    others = [other for other in results.flows if other != flow and other.app != BULK]
    return _filled(results, tuple(_goodput(other) for other in others))


def shapers_table(results: Results) -> Table | None:
    """Return the decisions of shapers that follow their link, by direction; None if there are no such shapers."""
    runs = [run.summary for variant in results.variants for run in variant.runs]
    found = [way for way in ("up", "down") if any(way in run.get("autorate", {}) for run in runs)]
    return _filled(results, tuple(column for way in found for column in _shaper(way))) if found else None


def _shaper(way: str) -> Iterator[Column]:
    """Return the columns of one direction. A variant without such a shaper has no values."""

    def of(value: Callable[[Run], float]) -> Callable[[Run], float | None]:
        def known(run: Run) -> float | None:
            own = run.get("autorate", {}).get(way)
            return None if own is None else value(own)

        return known

    def unheard(own: Run) -> float:
        # Older records have no such counts.
        return 100 * float(own.get("unheard", 0)) / max(float(own.get("windows", 0)), 1.0)

    values: tuple[tuple[str, str, str, Callable[[Run], float]], ...] = (
        ("mean", "mean rate", "Mbit/s", lambda own: float(own["rate_bps"]["mean"]) / 1e6),
        ("lowered", "lowered", "times", lambda own: float(own["lowered"])),
        ("raised", "raised", "times", lambda own: float(own["raised"])),
        ("unheard", "unheard", "% of windows", unheard),
    )
    for key, heading, unit, value in values:
        yield Column(f"autorate.{way}.{key}", f"{way}: {heading}", unit, "", "", of(value))


def _filled(results: Results, columns: tuple[Column, ...]) -> Table:
    rows = (
        Row(variant, tuple(estimate([column.value(run.summary) for run in variant.runs]) for column in columns))
        for variant in results.variants
    )
    return Table(columns, tuple(rows))


def _round_trip(flow: Flow, key: str, heading: str) -> Column:
    def value(run: Run) -> float | None:
        number: float | None = run["flows"].get(flow.name, NOTHING)["rtt_ms"][key]
        return number

    return Column(f"rtt_ms.{key}", heading, "ms", "lower", flow.name, value)


def _wait(flow: Flow, way: str, key: str, heading: str) -> Column:
    def value(run: Run) -> float | None:
        number: float | None = run["flows"][flow.name][way]["queue_delay_ms"][key]
        return number

    return Column(f"{way}.queue_delay_ms.{key}", f"{way}: {heading}", "ms", "lower", flow.name, value)


def _thin_columns(flow: Flow) -> tuple[Column, ...]:
    """Return delivery delay at the players, packets by number of retransmissions, and cost on the wire."""

    def of(key: str, heading: str, unit: str, value: Callable[[Run], float | None]) -> Column:
        def known(run: Run) -> float | None:
            own = run["flows"].get(flow.name)
            return None if own is None else value(own)

        return Column(key, heading, unit, "lower", flow.name, known)

    def delivery(key: str) -> Callable[[Run], float | None]:
        def value(own: Run) -> float | None:
            number: float | None = own["thin"]["down"]["delivery_ms"][key]
            return number

        return value

    def repeated(number: int) -> Callable[[Run], float | None]:
        return lambda own: float(own["thin"]["nth"].get(str(number), {"total": 0})["total"])

    def both_ways(what: str, per: float) -> Callable[[Run], float | None]:
        return lambda own: sum(own[way][what] for way in ("up", "down")) / per

    return (
        *(of(f"delivery_ms.{key}", heading, "ms", delivery(key)) for key, heading in DELIVERIES),
        *(of(f"nth.{number}", f"again {number}", "packets", repeated(number)) for number in (1, 2, 3)),
        of("wire.packets", "packets", "thousand", both_ways("sent", 1e3)),
        of("wire.bytes", "IP bytes", "MB", both_ways("sent_bytes", 1e6)),
    )


def _goodput(flow: Flow) -> Column:
    def value(run: Run) -> float | None:
        number: float | None = run["flows"].get(flow.name, NOTHING)["goodput_bps"]
        return None if number is None else number / 1e6

    return Column("goodput", f"{flow.name} goodput", "Mbit/s", "higher", flow.name, value)


def _loss(run: Run, flow: str) -> float | None:
    """Return lost packets over sent packets, both directions together."""
    ways = [run["flows"].get(flow, NOTHING)[way] for way in ("up", "down")]
    sent = sum(way["sent"] for way in ways)
    return sum(way["lost"] for way in ways) / sent if sent else None


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


DELIVERIES = (("p50", "median"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "peak"))

QUANTILES = (("p50", "median"), ("p95", "95 %"), ("p99", "99 %"), ("max", "peak"))

NOTHING: Run = {
    "rtt_ms": dict.fromkeys(key for key, _ in QUANTILES),
    "goodput_bps": None,
    "up": {"sent": 0, "lost": 0},
    "down": {"sent": 0, "lost": 0},
}
"""Stands for a flow that a variant does not have."""
