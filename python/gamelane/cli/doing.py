"""Connects the options of a subcommand with what it does.

`gamelane.cli.NAME` declares the options, `gamelane.commands.NAME` carries the command out. Help, completion and man
pages read the options only, so they need none of the libraries for tables, plots and statistics, which load slowly.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module


def carry_out(module: str, function: str, given: Mapping[str, object]) -> object:
    """Import a module of `gamelane.commands` and call its function. Return the exit code, or None for 0."""
    result: object = getattr(import_module(f"gamelane.commands.{module}"), function)(**given)
    return result
