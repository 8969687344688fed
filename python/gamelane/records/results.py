"""Results of an experiment: one or several variants of a scenario, each run with several seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from gamelane import _native
from gamelane.analysis import stats
from gamelane.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

ALONE = "run"
"""Name of the variant when nothing is compared."""

GATEWAY = "gateway"
"""Engine of results that come from a gateway's recording."""


@dataclass(frozen=True)
class Flow:
    """A flow and its label. The label ends in "[estimate]" if its numbers are estimates."""

    name: str
    app: str
    label: str
    start_s: float
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunRecord:
    """One finished run: CPU time, event count and summary (an element of `runs` in the JSON output)."""

    seed: int
    cpu_seconds: float
    events: int
    bottleneck_packets: int
    summary: Mapping[str, Any]

    @classmethod
    def of(cls, run: _native.Run) -> RunRecord:
        """Copy cost and summary from a native run."""
        return cls(run.seed, run.cpu_seconds, run.events, run.bottleneck_packets, json.loads(run.summary_json()))


@dataclass(frozen=True)
class Variant:
    """A scenario with some of its keys changed, and its runs."""

    name: str
    overrides: Mapping[str, str]
    toml: str
    hash: str
    flows: tuple[Flow, ...]
    runs: tuple[RunRecord, ...]
    source: str = ""
    """Name of its source in `Results.sources`; empty unless overlaid. With a source, `name` is "fifo (sim)"."""
    own_name: str = ""
    """Its name in the source: "fifo"."""
    caveats: tuple[str, ...] = ()
    """Caveats of the scenario as a whole."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Mean and half-width of the 95 % interval over the runs, with the keys of a run except its seed."""
        shapes = [{key: run.summary[key] for key in ("flows", "queues")} for run in self.runs]
        return stats.over_runs(shapes) if shapes else {}


@dataclass(frozen=True)
class Source:
    """One of several overlaid results: its name in the overlay, engine, version, folder, command and host."""

    name: str
    engine: str
    gamelane: str
    folder: str
    command: tuple[str, ...]
    host: Mapping[str, str | int]


@dataclass(frozen=True)
class Results:
    """All results of an experiment: scenario, variants, host and tables. Tables are attributes, for example `.rtt`.

    Results of runs that kept only their summaries (`Hooks.keep`) have no tables, and cannot be written.
    """

    name: str
    question: str
    file: str
    hash: str
    duration_s: float
    warmup_s: float
    engine: str
    variants: tuple[Variant, ...]
    planned_runs: int
    frames: Mapping[str, pl.DataFrame]
    host: Mapping[str, str | int]
    command: tuple[str, ...] = ()
    gamelane: str = field(default_factory=_native.version)
    """Version of gamelane that measured."""
    sources: tuple[Source, ...] = ()
    """Overlaid sources (`gamelane.overlay`); otherwise empty."""
    differences: tuple[str, ...] = ()
    """Keys of the scenario in which overlaid sources differ; empty unless differences were allowed."""

    def __getitem__(self, variant: str) -> Results:
        """Return the results of one variant only."""
        names = [known.name for known in self.variants]
        if variant not in names:
            raise UsageError(f"no variant {variant!r}; there are: {', '.join(names)}{did_you_mean(variant, names)}")
        chosen = self.variants[names.index(variant)]
        return replace(
            self,
            hash=chosen.hash,
            variants=(chosen,),
            planned_runs=len(chosen.runs),
            frames={name: frame.filter(variant=variant) for name, frame in self.frames.items()},
        )

    @property
    def compared(self) -> bool:
        """Whether variants were asked for, even if only one of them finished."""
        return self.variants[0].name != ALONE

    @property
    def only(self) -> Variant:
        """The variant of a run without comparison."""
        if len(self.variants) != 1:
            names = ", ".join(variant.name for variant in self.variants)
            raise UsageError(
                f"there are several variants ({names}); choose one, as in results[{self.variants[0].name!r}]"
            )
        return self.variants[0]

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The runs of the only variant."""
        return self.only.runs

    @property
    def summary(self) -> dict[str, Any]:
        """Mean and half-width of the 95 % interval over the runs of the only variant."""
        return self.only.summary

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows of all variants. If labels of a flow differ between variants, its label joins them with "or"."""
        found: dict[str, Flow] = {}
        for flow in (flow for variant in self.variants for flow in variant.flows):
            known = found.setdefault(flow.name, flow)
            if flow.label not in known.label.split(" or "):
                found[flow.name] = replace(known, label=f"{known.label} or {flow.label}")
        return tuple(found.values())

    def engine_of(self, variant: Variant) -> str:
        """Return the engine that ran a variant."""
        return next((source.engine for source in self.sources if source.name == variant.source), self.engine)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Caveats of the models, without repetition, then the differences between overlaid sources."""
        said: dict[str, dict[str, None]] = {}
        for variant in self.variants:
            for caveat in (*variant.caveats, *(caveat for flow in variant.flows for caveat in flow.caveats)):
                said.setdefault(caveat, {})[variant.source] = None
        whole = len({variant.source for variant in self.variants})
        of_models = (caveat if len(by) == whole else f"{' and '.join(by)}: {caveat}" for caveat, by in said.items())
        return (*of_models, *self.differences)

    @property
    def finished_runs(self) -> int:
        """Number of runs that ended before Ctrl-C."""
        return sum(len(variant.runs) for variant in self.variants)

    @property
    def rtt(self) -> pl.DataFrame:
        """Network round trips, as taps at the two hosts see them."""
        return self.frames["rtt"]

    @property
    def delay(self) -> pl.DataFrame:
        """Queue delay and one-way delay of every packet that arrived."""
        return self.frames["delay"]

    @property
    def windows(self) -> pl.DataFrame:
        """Packets and bytes in windows of 1 s."""
        return self.frames["windows"]

    @property
    def drops(self) -> pl.DataFrame:
        """Every packet lost, with the reason."""
        return self.frames["drops"]

    @property
    def tcp(self) -> pl.DataFrame:
        """State of TCP endpoints every 100 ms."""
        return self.frames["tcp"]

    @property
    def queues(self) -> pl.DataFrame:
        """Packets and bytes waiting in each direction, every 100 ms."""
        return self.frames["queues"]

    @property
    def rates(self) -> pl.DataFrame:
        """Rate of each shaper that follows its link, and rate of the link, every 100 ms."""
        return self.frames["rates"]

    @property
    def app(self) -> pl.DataFrame:
        """Reports of applications: video chunks, stalls and transfers."""
        return self.frames["app"]

    @property
    def deliveries(self) -> pl.DataFrame:
        """Every delivered message of a game over TCP, with its delay."""
        return self.frames["deliveries"]

    @property
    def retransmissions(self) -> pl.DataFrame:
        """Every packet that the server of a game over TCP sent more than once."""
        return self.frames["retransmissions"]

    def __repr__(self) -> str:
        """Return the tables of the terminal, without colours."""
        from gamelane.report.terminal import text  # noqa: PLC0415 - reports read results

        return text(self)

    def _repr_html_(self) -> str:
        """Return the tables of the report, which notebooks show."""
        from gamelane.report.html import tables  # noqa: PLC0415 - likewise

        return tables(self)

    def write(self, folder: str | PathLike[str]) -> None:
        """Write tables and manifest. `gamelane.read` and `gamelane report` read them."""
        from gamelane.records.store import write  # noqa: PLC0415 - the store reads results too

        write(self, folder)
