"""gamelane keeps online games playable on a shared home link, and proves it.

import gamelane
results = gamelane.load("household").with_({"gateway.up.queue": "fifo"}).run(seeds=5)
results.summary["flows"]["quake3"]["rtt_ms"]["p99"]    # {"mean": …, "ci95": …}
results.rtt                                            # a polars frame, one row per sample
results.write("out")                                   # Parquet and manifest.json
gamelane.overlay(["out", "lab"])                       # the same scenario from two engines, side by side
"""

from __future__ import annotations

from gamelane._native import Cancelled, models, schema, version
from gamelane.errors import Interrupted, OutputError, RecordsError, ScenarioError, UsageError

TYPE_CHECKING = False  # typing's own takes as long to load as all else here
if TYPE_CHECKING:
    from typing import Any

    from gamelane.experiment import Experiment, Hooks, compare, load
    from gamelane.records.overlaid import overlay
    from gamelane.records.results import Flow, Results, RunRecord, Source, Variant
    from gamelane.records.store import read

__version__ = version()

__all__ = [
    "Cancelled",
    "Experiment",
    "Flow",
    "Hooks",
    "Interrupted",
    "OutputError",
    "RecordsError",
    "Results",
    "RunRecord",
    "ScenarioError",
    "Source",
    "UsageError",
    "Variant",
    "compare",
    "load",
    "models",
    "overlay",
    "read",
    "schema",
    "version",
]

_LATER = {
    **dict.fromkeys(("Experiment", "Hooks", "compare", "load"), "gamelane.experiment"),
    **dict.fromkeys(("Flow", "Results", "RunRecord", "Source", "Variant"), "gamelane.records.results"),
    "overlay": "gamelane.records.overlaid",
    "read": "gamelane.records.store",
}
"""What needs the libraries for tables and statistics, which take a second to load: other commands are prompt."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module  # noqa: PLC0415 - likewise

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
