"""gamelane keeps online games playable on a shared home link, and proves it.

import gamelane
results = gamelane.load("household").with_({"gateway.up.queue": "fifo"}).run(seeds=5)
results.summary["flows"]["quake3"]["rtt_ms"]["p99"]    # {"mean": …, "ci95": …}
results.rtt                                            # a polars frame, one row per sample
results.write("out")                                   # Parquet and manifest.json
"""

from gamelane._native import Cancelled, games, schema, version
from gamelane.errors import Interrupted, OutputError, RecordsError, ScenarioError, UsageError
from gamelane.experiment import Experiment, Hooks, compare, load
from gamelane.records import Flow, Results, RunRecord, Variant, read

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
    "UsageError",
    "Variant",
    "compare",
    "games",
    "load",
    "read",
    "schema",
    "version",
]
