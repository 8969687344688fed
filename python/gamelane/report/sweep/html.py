"""Renders the page of a sweep. It opens offline and stays responsive with thousands of runs.

The page is `sweep.html` with `../page.css`, `sweep.css` and `sweep.js`; this file gathers their data. The page holds
every run with a few numbers, as columns. All other numbers are in `runs.parquet` beside it.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gamelane.analysis.metrics import Metric
from gamelane.analysis.stats import paired, t_quantile
from gamelane.report.figures import Figure
from gamelane.report.pages import render, script_json, text
from gamelane.report.sweep import overview
from gamelane.report.sweep.colours import HEAT
from gamelane.sweep import folder as store
from gamelane.sweep.budget import Limit
from gamelane.sweep.records import SweepRecords

HERE = Path(__file__).parent
MOST_METRICS = 24


def page(records: SweepRecords, drawn: list[Figure]) -> str:
    """Return the page."""
    return render(
        "sweep/sweep.html",
        drawn[1:],
        overview=next(iter(drawn), None),
        styles=["sweep/sweep.css"],
        records=records,
        document=records.document,
        headline=overview.headline(records),
        comparisons=comparisons(records),
        budgets=_budgets(records),
        commands=_commands(records),
        explorer=Markup(text("sweep/sweep.js")),
        data=Markup(script_json(data(records))),
    )


def data(records: SweepRecords) -> dict[str, Any]:
    """Return the data of the page's explorer."""
    metrics = chosen_metrics(records)
    first = overview.default_metric(records)
    of = overview.layout(records)
    seeds = records.document["seeds"]
    cells = [cell for cell in records.cells if cell.runs]
    return {
        "dimensions": [
            {
                "name": dimension.name,
                "short": dimension.short,
                "keys": dimension.keys,
                "labels": dimension.labels,
                "values": dimension.values,
            }
            for dimension in records.dimensions
        ],
        "metrics": [_described(metric) for metric in metrics],
        "metric": metrics.index(first) if first in metrics else 0,
        "layout": {"x": of.x, "y": of.y, "panels": of.panels},
        "seeds": seeds,
        "t95": [None, None, *(t_quantile(n - 1) for n in range(2, len(seeds) + 1))],
        "heat": HEAT,
        "cells": [cell.position for cell in cells],
        "runs": [[[_short(metric.of(run)) for run in cell.runs] for metric in metrics] for cell in cells],
        "run_seeds": [[run.seed for run in cell.runs] for cell in cells],
        "limits": [_limit(limit, metrics) for limit in records.limits],
        "set": records.document["set"],
        "base": records.document["base"]["file"],
        "file": records.document["file"],
        "series": _series(records),
        "ids": [records.run_id(cell, seeds[0])[:12] for cell in cells],
    }


def chosen_metrics(records: SweepRecords) -> list[Metric]:
    """Return the metrics of the page: those of budgets, main flows, other flows' goodput, and queues."""
    wanted: list[str] = []
    for flow in records.focus:
        wanted += [f"{statistic}({flow}.rtt)" for statistic in ("p50", "p95", "p99", "max", "mean")] + [f"{flow}.loss"]
        wanted += [f"cv({flow}.{way}.throughput)" for way in ("up", "down")]
    wanted += [f"{flow['name']}.goodput" for flow in records.flows if flow["name"] not in records.focus]
    wanted += [f"mean(queues.{way}.backlog_packets)" for way in ("up", "down")]
    wanted += [plot["metric"] for plot in records.document["plots"] if plot["metric"]]
    known = [records.metrics[name] for name in dict.fromkeys(wanted) if name in records.metrics]
    known = [*dict.fromkeys([*(limit.metric for limit in records.limits), *known])]
    return known[:MOST_METRICS] or list(records.metrics.values())[:MOST_METRICS]


def comparisons(records: SweepRecords) -> list[dict[str, Any]]:
    """Compare the values of each axis of words with its first value, paired over seeds and all other keys."""
    metric = overview.default_metric(records)
    if metric is None or len(records.document["seeds"]) < 2:
        return []
    factor, unit = overview.SCALES.get(metric.unit, (1.0, metric.unit))
    found = []
    for index, dimension in enumerate(records.dimensions):
        if dimension.ordered or len(dimension.labels) < 2:
            continue
        arms: list[dict[tuple[tuple[int, ...], int], float]] = [{} for _ in dimension.labels]
        for cell in records.cells:
            rest = cell.position[:index] + cell.position[index + 1 :]
            for seed, value in cell.of(metric).items():
                if value is not None:
                    arms[cell.position[index]][rest, seed] = value * factor
        rows = []
        for label, arm in zip(dimension.labels[1:], arms[1:], strict=True):
            common = arms[0].keys() & arm.keys()
            before, after = (_by_seed({key: side[key] for key in common}) for side in (arms[0], arm))
            rows.append({"label": label, "of": paired(before, after), "cells": len({rest for rest, _ in common})})
        found.append(
            {"axis": dimension.name, "base": dimension.labels[0], "metric": metric.name, "unit": unit, "rows": rows}
        )
    return found


def command(records: SweepRecords, values: dict[str, str], seed: int) -> str:
    """Return the commands that repeat runs of a cell."""
    document = records.document
    settings = {**document["set"], **values}
    words = [
        "gamelane",
        "run",
        document["base"]["file"],
        *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")),
    ]
    return shlex.join([*words, "--seed", str(seed)])


def _by_seed(values: dict[tuple[tuple[int, ...], int], float]) -> dict[int, float | None]:
    """Return the mean over cells for each seed, because cells with the same seed are not independent."""
    seeds: dict[int, list[float]] = {}
    for (_, seed), value in values.items():
        seeds.setdefault(seed, []).append(value)
    return {seed: sum(each) / len(each) for seed, each in seeds.items()}


def _budgets(records: SweepRecords) -> list[dict[str, Any]]:
    """Count the combinations within and beyond each budget, and those whose interval crosses it."""
    found = []
    for limit in records.limits:
        verdicts = [limit.judge(cell.estimate(limit.metric)) for cell in records.cells if cell.runs]
        counts = {
            word: verdicts.count(verdict) for word, verdict in (("kept", True), ("broken", False), ("unclear", None))
        }
        found.append({"text": limit.text, **counts})
    return found


def _limit(limit: Limit, metrics: list[Metric]) -> dict[str, Any]:
    return {
        "text": limit.text,
        "metric": metrics.index(limit.metric) if limit.metric in metrics else None,
        "operator": limit.operator,
        "bound": limit.bound,
    }


def _described(metric: Metric) -> dict[str, Any]:
    factor, unit = overview.SCALES.get(metric.unit, (1.0, metric.unit))
    return {"name": metric.name, "unit": unit, "factor": factor, "higher": metric.higher_is_better}


def _short(value: float | None) -> float | None:
    """Round to four significant digits, which is all a page shows, at half the size."""
    return None if value is None else float(f"{value:.4g}")


def _series(records: SweepRecords) -> dict[str, Any]:
    """Return the stored time series, by the start of their run's id."""
    found = {}
    for path in sorted((records.folder / store.SERIES).glob("*.json")):
        found[path.stem[:12]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _commands(records: SweepRecords) -> list[str]:
    document = records.document
    sweep = shlex.join(["gamelane", "sweep", document["file"], "-o", "DIR"])
    return [sweep, shlex.join(["gamelane", "report", str(records.folder)])]
