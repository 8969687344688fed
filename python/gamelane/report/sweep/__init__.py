"""Makes a table, a page and pictures from the folder of a sweep. Nothing here can run an engine."""

from gamelane.report.sweep.document import document
from gamelane.report.sweep.export import export
from gamelane.report.sweep.terminal import show
from gamelane.report.sweep.write import write_report

__all__ = ["document", "export", "show", "write_report"]
