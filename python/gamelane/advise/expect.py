"""What a measurement would find behind a gateway: the same figures, from simulation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from gamelane import _native
from gamelane.advise.played import records
from gamelane.analysis import line
from gamelane.analysis.line import Phase, Way
from gamelane.experiment import Experiment

Spans = Sequence[tuple[str, float, float]]


def phases(scenario: _native.Scenario, spans: Spans, seeds: Sequence[int], threads: int) -> list[Phase]:
    """Run `household.scenario` with each seed, and return the mean figures of each phase."""
    results = Experiment(scenario, "line").run(seeds=list(seeds), threads=threads)
    each = []
    for seed in seeds:
        own = {name: frame.filter(seed=seed) for name, frame in results.frames.items()}
        client, server = records(own)
        each.append(line.phases(client, server, spans))
    return [_mean(of) for of in zip(*each, strict=True)]


def _mean(of: Sequence[Phase]) -> Phase:
    first = of[0]
    rtt = _figures([phase.rtt_ms for phase in of])
    ways = [_mean_way([way(phase) for phase in of]) for way in WAYS]
    starts = [phase.start_ms for phase in of if phase.start_ms is not None]
    start = statistics.fmean(starts) if starts else None
    return Phase(first.name, first.from_s, first.to_s, first.omitted_s, start, rtt, *ways)


WAYS: tuple[Callable[[Phase], Way], ...] = (lambda phase: phase.up, lambda phase: phase.down)


def _mean_way(of: Sequence[Way]) -> Way:
    rates = [way.mbps for way in of if way.mbps is not None]
    return Way(
        sum(way.sent or 0 for way in of),
        sum(way.lost or 0 for way in of),
        sum(way.reordered for way in of),
        _figures([way.one_way_ms for way in of]),
        statistics.fmean(rates) if rates else None,
    )


def _figures(of: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    known = [figures for figures in of if figures is not None]
    return {key: statistics.fmean(figures[key] for figures in known) for key in known[0]} if known else None
