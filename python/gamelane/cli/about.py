"""`gamelane schema`, `models`, `scenarios` and `version`: print what this version contains."""

from __future__ import annotations

import sys
from json import loads

import click

from gamelane import _native, library
from gamelane.cli import completing, options
from gamelane.errors import UsageError, did_you_mean
from gamelane.terminal.talk import emit, say, stdout


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    emit(loads(_native.schema()))


@click.command()
@click.argument(
    "model", required=False, shell_complete=completing.models, help="Show this model alone, with notes and sources."
)
@options.json
def models(model: str | None, json: bool) -> None:
    """List the shipped game models: the `app` each is for, and where its numbers come from."""
    known = _native.models()
    if model is not None:
        names = [each["name"] for each in known]
        if model not in names:
            allowed = ", ".join(names)
            raise UsageError(f"{model}: no such model\n  allowed: {allowed}{did_you_mean(model, names)}")
        known = [each for each in known if each["name"] == model]
    if json:
        emit({"schema": 1, "models": known})
        return
    _print(
        ["model", "game", "app", "players", "provenance"],
        [[each["name"], each["title"], each["app"], str(each["players"] or ""), each["provenance"]] for each in known],
    )
    if model is not None:
        stdout().print(f"\n{known[0]['notes']}\n")
        _print(["key", "source"], [[key, text] for key, text in known[0]["sources"].items()])
    else:
        say("`gamelane models MODEL` shows notes and sources of one")


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


WRAPPED = ("game", "question", "source")
"""Columns that take what the others leave of the terminal."""


def _print(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table  # noqa: PLC0415 - loads slowly, and --json needs none

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column not in WRAPPED)
    for row in rows:
        table.add_row(*row)
    stdout().print(table)
