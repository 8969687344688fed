"""Records of a run, whichever engine made it: tables of samples and a manifest. This package runs no engine."""

from gamelane.records.frames import TABLES
from gamelane.records.overlaid import overlay
from gamelane.records.results import Flow, Results, RunRecord, Source, Variant
from gamelane.records.store import read, write

__all__ = ["TABLES", "Flow", "Results", "RunRecord", "Source", "Variant", "overlay", "read", "write"]
