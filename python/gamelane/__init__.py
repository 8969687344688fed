"""gamelane keeps online games playable on a shared home link, and proves it.

import gamelane
results = gamelane.load("household").with_({"gateway.up.queue": "fifo"}).run(seeds=5)
results.summary["flows"]["quake3"]["rtt_ms"]["p99"]    # {"mean": …, "ci95": …}
results.rtt                                            # a polars frame, one row per sample
results.write("out")                                   # Parquet and manifest.json
gamelane.overlay(["out", "lab"])                       # the same scenario from two engines, side by side
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gamelane._native import Cancelled, models, schema, version
from gamelane.errors import Interrupted, OutputError, RecordsError, ScenarioError, UsageError

if TYPE_CHECKING:
    from gamelane.experiment import Experiment, Hooks, compare, load
    from gamelane.records import Flow, Results, RunRecord, Source, Variant, overlay, read

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
    **dict.fromkeys(("Flow", "Results", "RunRecord", "Source", "Variant", "overlay", "read"), "gamelane.records"),
}
"""What needs the libraries for tables and statistics, which take a second to load: other commands are prompt."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
