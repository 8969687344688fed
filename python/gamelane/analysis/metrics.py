"""Names what can be measured of a run: `p99(quake3.rtt)`, `quake3.loss`, `jain(upload, backup)`, or a column.

The names are derived from the columns, so every new number of the summary has a name too. `g_model(quake3)` and
`e_model(voip)` are scores of a game and of a call, each computed from several columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gamelane.analysis.quality import G711_PLC, e_model_rating, g_model
from gamelane.analysis.stats import jain
from gamelane.errors import nearest

STATISTICS = ("mean", "p5", "p25", "p50", "p75", "p95", "p99", "max", "cv")
VOICE_PACKET_MS = 20
"""Speech that a packet of a call holds, and that therefore waits for its last sample."""
SUFFIXES = {"_ms": "ms", "_bps": "bit/s", "_seconds": "s"}
HIGHER_IS_BETTER = ("jain", "g_model", "e_model", "goodput", "throughput", "received", "chunks", "transfers")


class Row(Protocol):
    """The numbers of a run, by column."""

    def get(self, column: str, /) -> Any:
        """Return the value of a column, or None."""


Rule = Callable[[Sequence[float | None]], float | None]
"""Computes a metric of its columns' values, of which a run may lack some."""


def total(values: Sequence[float | None]) -> float | None:
    """Return the sum of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def highest(values: Sequence[float | None]) -> float | None:
    """Return the highest of the known values; None if none is known."""
    return max((value for value in values if value is not None), default=None)


def fairness(values: Sequence[float | None]) -> float | None:
    """Return Jain's index of the known values."""
    return jain([value for value in values if value is not None])


def game_score(values: Sequence[float | None]) -> float | None:
    """Return the G-model's opinion score of mean round trip and its deviation, in ms; None if one is unknown."""
    ping, jitter = values
    return None if ping is None or jitter is None else g_model(ping, jitter)


def call_score(values: Sequence[float | None]) -> float | None:
    """Return the E-model's rating of a call: its 95th percentile round trip, in ms, and its losses by direction.

    The playout buffer is assumed to hold back all packets to that percentile. The worse direction's loss counts.
    """
    rtt, loss = values[0], highest(values[1:])
    if rtt is None or loss is None:
        return None
    return e_model_rating(rtt / 2 + VOICE_PACKET_MS, 100 * loss, G711_PLC)


@dataclass(frozen=True)
class Metric:
    """A number of a run: a rule over columns, divided by the sum of the columns `over` if there are any."""

    name: str
    unit: str
    columns: tuple[str, ...]
    over: tuple[str, ...] = ()
    rule: Rule = total

    @property
    def higher_is_better(self) -> bool:
        """Return whether higher values are better."""
        return any(word in self.name for word in HIGHER_IS_BETTER) and not self.name.startswith("cv(")

    def of(self, row: Row) -> float | None:
        """Return its value for one run, or None if the run has none."""
        top = self.rule(_values(row, self.columns))
        if not self.over:
            return top
        bottom = total(_values(row, self.over))
        return top / bottom if top is not None and bottom else None


class UnknownMetric(ValueError):  # noqa: N818 - the caller knows the key and turns it into a refusal
    """An unknown name of a metric. `known` lists the names, `hint` the closest one."""

    def __init__(self, given: str, known: list[str]) -> None:
        super().__init__(f"unknown metric `{given}`")
        self.known = known
        self.hint = nearest(given, known)


def metrics(columns: Iterable[str]) -> dict[str, Metric]:
    """Return every metric of these columns by name. A column is also a metric under its own name."""
    found: dict[str, Metric] = {}
    columns = [column for column in columns if column.startswith(("flows.", "queues."))]
    for column in columns:
        name, unit = _short(column)
        found.setdefault(name, Metric(name, unit, (column,)))
    for flow in dict.fromkeys(column.split(".")[1] for column in columns if column.startswith("flows.")):
        ways = [f"flows.{flow}.{way}" for way in ("up", "down") if f"flows.{flow}.{way}.sent" in columns]
        if ways:
            lost, sent = (tuple(f"{way}.{count}" for way in ways) for count in ("lost", "sent"))
            found[f"{flow}.loss"] = Metric(f"{flow}.loss", "share", lost, sent)
        ping, jitter = (f"flows.{flow}.{column}" for column in ("rtt_ms.mean", "rtt_deviation_ms"))
        if ping in columns and jitter in columns:
            found[f"g_model({flow})"] = Metric(f"g_model({flow})", "", (ping, jitter), rule=game_score)
        losses = [f"{way}.loss" for way in ways if f"{way}.loss" in columns]
        late = f"flows.{flow}.rtt_ms.p95"
        if losses and late in columns:
            found[f"e_model({flow})"] = Metric(f"e_model({flow})", "", (late, *losses), rule=call_score)
    return found


def find(name: str, known: Mapping[str, Metric]) -> Metric:
    """Return the metric of a name. `median` and `peak` are `p50` and `max`; spaces are ignored.

    `p99(game.rtt, call.rtt)` is the highest of the two.
    """
    wanted = name.replace(" ", "")
    wanted = wanted.replace("median(", "p50(").replace("peak(", "max(")
    if wanted in known:
        return known[wanted]
    if wanted.startswith("jain(") and wanted.endswith(")"):
        goodputs = [find(f"{flow}.goodput", known) for flow in wanted[len("jain(") : -1].split(",")]
        return Metric(wanted, "", tuple(column for metric in goodputs for column in metric.columns), rule=fairness)
    statistic, _, several = wanted.rstrip(")").partition("(")
    if statistic in STATISTICS and "," in several:
        parts = [find(f"{statistic}({name})", known) for name in several.split(",")]
        name = wanted.replace(",", ", ")
        return Metric(name, parts[0].unit, tuple(column for part in parts for column in part.columns), rule=highest)
    for metric in known.values():
        if wanted in metric.columns and not metric.over:
            return metric
    raise UnknownMetric(name, list(known))


def _short(column: str) -> tuple[str, str]:
    """`flows.quake3.rtt_ms.p99` is `p99(quake3.rtt)`, in ms."""
    parts = column.split(".")
    parts = parts[1:] if parts[0] == "flows" else parts
    statistic = parts.pop() if parts[-1] in STATISTICS else None
    unit = "share" if parts[-1] == "loss" else ""
    for index, part in enumerate(parts):
        for suffix, of in SUFFIXES.items():
            if part.endswith(suffix):
                parts[index], unit = part.removesuffix(suffix), of
    name = ".".join(parts)
    return (f"{statistic}({name})", "" if statistic == "cv" else unit) if statistic else (name, unit)


def _values(row: Row, columns: Iterable[str]) -> list[float | None]:
    return [None if (value := row.get(column)) is None else float(value) for column in columns]
