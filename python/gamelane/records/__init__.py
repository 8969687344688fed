"""What every engine leaves behind: tables of samples and a manifest. Nothing from here on can run an engine."""

from gamelane.records.frames import TABLES
from gamelane.records.overlaid import overlay
from gamelane.records.results import Flow, Results, RunRecord, Source, Variant
from gamelane.records.store import read, write

__all__ = ["TABLES", "Flow", "Results", "RunRecord", "Source", "Variant", "overlay", "read", "write"]
