"""Keeps time series of chosen cells beside the runs, so that a report can show them without running anything.

One file per run, named by its id. Its columns are reduced to what a plot can show, with extremes. The first seed stands
for its cell, as in the report of a single run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from gamelane import _native, whole
from gamelane.analysis.decimate import keep_extremes
from gamelane.catalogue import INTERACTIVE
from gamelane.sweep import folder as store
from gamelane.sweep.axes import Match
from gamelane.sweep.plan import Plan, overrides

POINTS = 800
WAYS = ("up", "down")


def keep(plan: Plan, folder: Path, wanted: Sequence[Match]) -> int:
    """Run the requested cells that are not in the folder yet; return how many cells are there."""
    there = folder / store.SERIES
    count = 0
    for run in plan.runs:
        cell = plan.cells[run.cell]
        if run.seed != plan.sweep.seeds[0] or not any(match.holds(cell.values) for match in wanted):
            continue
        count += 1
        path = there / f"{run.id}.json"
        if path.exists():
            continue
        there.mkdir(exist_ok=True)
        scenario = plan.sweep.base.with_overrides(overrides(plan.sweep, cell.values))
        whole.replace(path, json.dumps(series(scenario, run.seed), separators=(",", ":")) + "\n")
    return count


def series(scenario: _native.Scenario, seed: int) -> dict[str, Any]:
    """Run once and return the time series."""
    run = _native.run(scenario, seed)
    rtt, queues, windows = (pl.DataFrame(run.table(name)) for name in ("rtt", "queues", "windows"))
    flows = [flow["name"] for flow in scenario.flows()]
    interactive = [flow["name"] for flow in scenario.flows() if flow["app"] in INTERACTIVE]
    return {
        "seed": seed,
        "duration_s": scenario.duration_s,
        "rtt_ms": {flow: _line(rtt.filter(pl.col("flow") == flow), "rtt_ms") for flow in interactive},
        "backlog_packets": {way: _line(queues.filter(pl.col("direction") == way), "packets") for way in WAYS},
        "throughput_kbps": {
            f"{flow} {way}": _line(
                windows.filter((pl.col("flow") == flow) & (pl.col("direction") == way)), "bytes", per=1000 / 8
            )
            for flow in flows
            for way in WAYS
        },
        "lost_packets": {flow: _lost(windows.filter(pl.col("flow") == flow)) for flow in flows},
    }


def _line(rows: pl.DataFrame, column: str, per: float = 1.0) -> dict[str, list[float]]:
    t = rows["t_s"].to_numpy()
    values = rows[column].cast(pl.Float64).to_numpy() / per
    kept = keep_extremes(t, values, points=POINTS)
    return {"t": [round(float(x), 3) for x in t[kept]], "v": [float(f"{v:.5g}") for v in values[kept]]}


def _lost(windows: pl.DataFrame) -> dict[str, list[float]]:
    seconds = windows.group_by("t_s", maintain_order=True).agg(pl.col("lost").sum()).sort("t_s")
    return {"t": seconds["t_s"].to_list(), "v": seconds["lost"].cast(pl.Float64).to_list()}
