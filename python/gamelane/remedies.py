"""Ranks remedies for a game over TCP on one scenario, by message delay and by cost on the wire.

A remedy changes keys of the game's flow and nothing else. Each runs at several loss rates, random and in bursts with
the same mean, and with the same seeds, so that comparisons are paired. The link loses the packets, because there a
burst passes with time. On a path with only the thin stream, a burst would last over many timeouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gamelane import _native
from gamelane.analysis.stats import Estimate, estimate
from gamelane.claims.evidence import Arm, Evidence
from gamelane.errors import UsageError
from gamelane.experiment import Experiment

KINDS = ("random", "bursts")

PLAIN = "as it is"

REMEDIES: dict[str, dict[str, str]] = {
    PLAIN: {},
    "timer rfc6298": {"tcp.timer": "rfc6298"},
    "timer linux-2.6": {"tcp.timer": "linux-2.6"},
    "timer linux-6": {"tcp.timer": "linux-6"},
    "timer fixed 300 ms": {"tcp.timer": "fixed", "tcp.fixed_rto": "300ms"},
    "timer modified": {"tcp.timer": "modified"},
    "linear timeouts": {"tcp.linear_timeouts": "true"},
    "thin dupack": {"tcp.thin_dupack": "true"},
    "early retransmit": {"tcp.early_retransmit": "true"},
    "RACK-TLP": {"tcp.recovery": "rack"},
    "F-RTO": {"tcp.frto": "true"},
    "RDB, 1 segment": {"tcp.rdb": "true", "tcp.rdb_segments": "1"},
    "RDB, all that fit": {"tcp.rdb": "true"},
    "piggy-back all": {"tcp.piggyback": "all"},
    "no delayed ACK": {"tcp.delayed_ack": "off"},
    "linear, dupack, RDB": {"tcp.linear_timeouts": "true", "tcp.thin_dupack": "true", "tcp.rdb": "true"},
    "mux, 1 connection": {"carriage": "mux", "carriers": "1"},
    "mux, 4 connections": {"carriage": "mux", "carriers": "4"},
    "independent streams": {"carriage": "streams", "carriers": "1"},
    "datagrams, repeats": {"carriage": "datagrams"},
}
"""Keys of the flow that each remedy sets."""


@dataclass(frozen=True)
class Measured:
    """A remedy at one loss rate; estimates over the seeds. Delays are from the write to the delivery at the players."""

    remedy: str
    kind: str
    loss_percent: float
    delivery_p50_ms: Estimate
    delivery_p99_ms: Estimate
    delivery_p999_ms: Estimate
    wire_packets: Estimate
    wire_bytes: Estimate
    packets_percent: Estimate
    """Packets in both directions, in percent of the unchanged scenario."""
    bytes_percent: Estimate
    """IP bytes in both directions, in percent of the unchanged scenario."""
    delivered_percent: Estimate
    """Messages delivered before the end, in percent of the unchanged scenario."""


@dataclass(frozen=True)
class Ranking:
    """All measurements, and the remedies with the best first."""

    scenario: str
    flow: str
    seeds: tuple[int, ...]
    burst_packets: float
    order: tuple[str, ...]
    measured: tuple[Measured, ...]

    def at(self, remedy: str, kind: str, loss_percent: float) -> Measured:
        """Return one measurement."""
        wanted = (remedy, kind, loss_percent)
        return next(each for each in self.measured if (each.remedy, each.kind, each.loss_percent) == wanted)


def rank(  # noqa: PLR0913 - how to run is four of them
    experiment: Experiment,
    *,
    losses: Sequence[float],
    remedies: Sequence[str] = tuple(REMEDIES),
    burst: float,
    seeds: int = 3,
    threads: int = 1,
    on_run: Callable[[], None] = lambda: None,
) -> Ranking:
    """Run every remedy at every loss rate in percent, random and in bursts of `burst` packets.

    The order is by the mean rank over all loss rates. The 99 % and 99.9 % delivery delay count half each.
    """
    base = experiment.scenario
    flow = _game_over_tcp(base)
    chosen = list(dict.fromkeys([PLAIN, *remedies]))
    evidence = Evidence(base, repeats=seeds, threads=threads, on_run=on_run)
    cells = [Cell(kind, loss, burst) for kind in KINDS for loss in losses]
    evidence.prepare([_arm(flow, remedy, cell) for cell in cells for remedy in chosen])
    measured = tuple(_measured(evidence, flow, remedy, cell) for cell in cells for remedy in chosen)
    return Ranking(base.name, flow, tuple(evidence.seeds), burst, _order(measured, chosen), measured)


def _game_over_tcp(scenario: _native.Scenario) -> str:
    flows = [flow["name"] for flow in scenario.flows() if flow["app"] == "mmo"]
    if not flows:
        raise UsageError(
            f"{scenario.name}: no game over TCP in this scenario\n"
            '  allowed: a scenario with a flow of app = "mmo"'
            "\n  hint:    for example the shipped scenario thin-remedies"
        )
    return flows[0]


@dataclass(frozen=True)
class Cell:
    """Loss of the link: its kind, its mean in percent in each direction, and the packets of a burst."""

    kind: str
    percent: float
    burst: float

    @property
    def keys(self) -> dict[str, str]:
        """Return the scenario's keys: independent losses, or bursts with the same mean (Gilbert-Elliott)."""
        if self.kind == "random":
            return {"link.loss": f"{self.percent:g}%"}
        end = 100 / self.burst
        begin = end * self.percent / (100 - self.percent)
        return {"link.loss.good_to_bad": f"{begin:.4f}%", "link.loss.bad_to_good": f"{end:.4f}%"}


def _arm(flow: str, remedy: str, cell: Cell) -> Arm:
    keys = {"loss": "0%"} | REMEDIES[remedy]
    return Arm.of(cell.keys | {f"flow.{flow}.{key}": value for key, value in keys.items()})


def _measured(evidence: Evidence, flow: str, remedy: str, cell: Cell) -> Measured:
    arm, plain = (_arm(flow, name, cell) for name in (remedy, PLAIN))

    def both_ways(arm: Arm, what: str) -> Any:
        return np.sum([evidence.values(arm, f"flows.{flow}.{way}.{what}") for way in ("up", "down")], axis=0)

    def over(values: Iterable[float]) -> Estimate:
        return estimate([float(value) for value in values])

    def delay(key: str) -> Estimate:
        return over(evidence.values(arm, f"flows.{flow}.thin.down.delivery_ms.{key}"))

    def messages(arm: Arm) -> Any:
        return evidence.values(arm, f"flows.{flow}.thin.down.messages")

    packets, size = (both_ways(arm, what) for what in ("sent", "sent_bytes"))
    return Measured(
        remedy=remedy,
        kind=cell.kind,
        loss_percent=cell.percent,
        delivery_p50_ms=delay("p50"),
        delivery_p99_ms=delay("p99"),
        delivery_p999_ms=delay("p999"),
        wire_packets=over(packets),
        wire_bytes=over(size),
        packets_percent=over(100 * packets / both_ways(plain, "sent")),
        bytes_percent=over(100 * size / both_ways(plain, "sent_bytes")),
        delivered_percent=over(100 * messages(arm) / messages(plain)),
    )


def _order(measured: Sequence[Measured], remedies: Sequence[str]) -> tuple[str, ...]:
    places: dict[str, list[int]] = {remedy: [] for remedy in remedies}
    for kind, loss in dict.fromkeys((each.kind, each.loss_percent) for each in measured):
        here = [each for each in measured if (each.kind, each.loss_percent) == (kind, loss)]
        for key in ("delivery_p99_ms", "delivery_p999_ms"):
            ranked = sorted(here, key=lambda each: getattr(each, key).mean or 0.0)
            for place, each in enumerate(ranked):
                places[each.remedy].append(place)
    return tuple(sorted(remedies, key=lambda remedy: float(np.mean(places[remedy]))))
