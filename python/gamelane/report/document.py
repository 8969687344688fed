"""Makes the JSON output of `gamelane run` (docs/json-schema.md). A schema version may gain keys but renames none."""

from __future__ import annotations

from typing import Any

from gamelane.records.results import Results, Source, Variant
from gamelane.report import agreements

SCHEMA = 1


def document(results: Results) -> dict[str, Any]:
    """Return runs and summary of the only variant, or of each under `variants`; overlaid results add `agreement`."""
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
        variant.name: {"hash": variant.hash, "overrides": dict(variant.overrides)}
        | _origin(variant)
        | _measured(variant)
        for variant in results.variants
    }
    if results.sources:
        head["sources"] = [_source(source) for source in results.sources]
        head["agreement"] = agreements.document(agreements.agreements(results))
    return head | {"variants": variants}


def _source(source: Source) -> dict[str, Any]:
    return {"name": source.name, "engine": source.engine, "gamelane": source.gamelane, "folder": source.folder}


def _origin(variant: Variant) -> dict[str, str]:
    return {"source": variant.source, "variant": variant.own_name} if variant.source else {}


def _measured(variant: Variant) -> dict[str, Any]:
    runs = [{**run.summary, "cpu_seconds": run.cpu_seconds} for run in variant.runs]
    return {"runs": runs, "summary": variant.summary}
