"""Makes the JSON of `gamelane report DIR --json` for a sweep (docs/json-schema.md)."""

from __future__ import annotations

from typing import Any

from gamelane.report.sweep.html import chosen_metrics
from gamelane.sweep.records import SweepRecords

SCHEMA = 1


def document(records: SweepRecords) -> dict[str, Any]:
    """Return every combination with the metrics of the report, each as `{mean, ci95}` over seeds."""
    metrics = chosen_metrics(records)
    return {
        "schema": SCHEMA,
        "engine": "sim",
        "sweep": {"name": records.name, "identity": records.document["identity"], "keys": records.document["keys"]},
        "planned_runs": records.planned,
        "finished_runs": records.finished,
        "seeds": records.document["seeds"],
        "caveats": records.document["caveats"],
        "units": {metric.name: metric.unit for metric in metrics},
        "cells": [
            {
                "values": dict(cell.values),
                "runs": len(cell.runs),
                "metrics": {metric.name: cell.estimate(metric).as_json() for metric in metrics},
                "budgets": {limit.text: limit.judge(cell.estimate(limit.metric)) for limit in records.limits},
            }
            for cell in records.cells
        ],
    }
