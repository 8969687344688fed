"""Keeps time series of chosen cells beside the runs, so that a report can show them without running anything.

One file per run, named by its id. Its columns are reduced to what a plot can show, with extremes. The first seed stands
for its cell, as in the report of a single run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gamelane import _native, whole
from gamelane.analysis.apps import INTERACTIVE
from gamelane.analysis.decimate import keep_extremes
from gamelane.sweep import folder as store
from gamelane.sweep.axes import Match
from gamelane.sweep.plan import Plan, overrides

POINTS = 800

Columns = Mapping[str, npt.NDArray[np.generic]]


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
    flows = scenario.flows()
    rtt, queues, windows = run.table("rtt"), run.table("queues"), run.table("windows")
    return {
        "seed": seed,
        "duration_s": scenario.duration_s,
        "rtt_ms": {
            flow["name"]: _line(rtt, rtt["flow"] == index, "rtt_ns", 1e6)
            for index, flow in enumerate(flows)
            if flow["app"] in INTERACTIVE
        },
        "backlog_packets": {
            name: _line(queues, queues["direction"] == direction, "packets", 1.0)
            for direction, name in enumerate(("up", "down"))
        },
        "throughput_kbps": {
            f"{flow['name']} {name}": _line(
                windows, (windows["flow"] == index) & (windows["direction"] == direction), "bytes", 1000 / 8
            )
            for index, flow in enumerate(flows)
            for direction, name in enumerate(("up", "down"))
        },
        "lost_packets": {flow["name"]: _lost(windows, index) for index, flow in enumerate(flows)},
    }


def _line(table: Columns, rows: npt.NDArray[np.bool_], column: str, per: float) -> dict[str, list[float]]:
    t = table["t_ns"][rows].astype(np.float64) / 1e9
    values = table[column][rows].astype(np.float64) / per
    kept = keep_extremes(t, values, points=POINTS)
    return {"t": [round(float(x), 3) for x in t[kept]], "v": [float(f"{v:.5g}") for v in values[kept]]}


def _lost(windows: Columns, flow: int) -> dict[str, list[float]]:
    rows = windows["flow"] == flow
    t, where = np.unique(windows["t_ns"][rows], return_inverse=True)
    lost = np.bincount(where, weights=windows["lost"][rows].astype(np.float64), minlength=len(t))
    return {"t": [float(x) / 1e9 for x in t], "v": [float(v) for v in lost]}
