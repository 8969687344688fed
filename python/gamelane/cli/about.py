"""`gamelane schema`, `models`, `scenarios` and `version`: what this gamelane knows."""

from __future__ import annotations

import sys
from json import loads
from typing import Annotated

import typer
from rich.table import Table

from gamelane import _native, experiment, library
from gamelane.cli.talk import emit, stdout

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("schema")(schema)
    app.command("models")(models)
    app.command("scenarios")(scenarios)
    app.command("version")(version)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    emit(loads(_native.schema()))


def models(json: Json = False) -> None:
    """List the models of games that come with gamelane, for which `app` of a flow, and where each comes from."""
    known = _native.models()
    if json:
        emit({"schema": 1, "models": known})
        return
    _print(
        ["model", "app", "game", "players", "provenance", "notes"],
        [
            [each["name"], each["app"], each["title"], str(each["players"] or ""), each["provenance"], each["notes"]]
            for each in known
        ],
    )


def scenarios(json: Json = False) -> None:
    """List the scenarios that come with gamelane, and the question each answers."""
    known = [experiment.load(name).scenario for name in library.shipped()]
    if json:
        emit({"schema": 1, "scenarios": [{"name": each.name, "question": each.question} for each in known]})
        return
    _print(["scenario", "question"], [[each.name, each.question] for each in known])


def version() -> None:
    """Print the version."""
    sys.stdout.write(f"gamelane {_native.version()}\n")


def _print(columns: list[str], rows: list[list[str]]) -> None:
    table = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    stdout().print(table)
