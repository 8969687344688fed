"""The JSON output of `gamelane run` (docs/json-schema.md). A schema version may gain keys, but renames none."""

from __future__ import annotations

from typing import Any

from gamelane.records.results import Results, Variant

SCHEMA = 1


def document(results: Results) -> dict[str, Any]:
    """Return runs and summary of the only variant, or of each variant under `variants`."""
    head = {
        "schema": SCHEMA,
        "engine": results.engine,
        "scenario": {"name": results.name, "hash": results.hash},
        "planned_runs": results.planned_runs,
        "caveats": list(results.caveats),
    }
    if len(results.variants) == 1 and not results.compared:
        return head | _measured(results.only)
    variants = {
        variant.name: {"hash": variant.hash, "overrides": dict(variant.overrides)} | _measured(variant)
        for variant in results.variants
    }
    return head | {"variants": variants}


def _measured(variant: Variant) -> dict[str, Any]:
    runs = [{**run.summary, "cpu_seconds": run.cpu_seconds} for run in variant.runs]
    return {"runs": runs, "summary": variant.summary}
