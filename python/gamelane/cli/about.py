"""`gamelane schema`, `models`, `scenarios` and `version`: print what this version contains."""

from __future__ import annotations

import sys
from json import loads

import click

from gamelane import _native, library
from gamelane.cli import options
from gamelane.cli.talk import emit, stdout


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    emit(loads(_native.schema()))


@click.command()
@options.json
def models(json: bool) -> None:
    """List the shipped game models: the `app` each is for, and where its numbers come from."""
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


@click.command()
@options.json
def scenarios(json: bool) -> None:
    """List the shipped scenarios and the question that each answers."""
    paths = map(library.find, library.shipped())
    known = [_native.Scenario.parse(library.text_of(path), str(path), []) for path in paths]
    if json:
        emit({"schema": 1, "scenarios": [{"name": each.name, "question": each.question} for each in known]})
        return
    _print(["scenario", "question"], [[each.name, each.question] for each in known])


@click.command()
def version() -> None:
    """Print the version."""
    sys.stdout.write(f"gamelane {_native.version()}\n")


def _print(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table  # noqa: PLC0415 - loads slowly, and --json needs none

    table = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    stdout().print(table)
