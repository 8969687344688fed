"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gamelane import host
from gamelane.cli import completing

PATH = click.Path(path_type=Path)
SEED = click.IntRange(0, 2**63 - 1)
"""A seed as scenario files have it: TOML has no larger numbers."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_SCENARIO = "Scenario file, or the name of a shipped scenario (`gamelane scenarios`) or household."

scenario = click.argument("scenario", shell_complete=completing.scenarios, help=_SCENARIO)


def household(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a scenario, and the presets that change it or stand for it."""
    for word, variable, metavar, what in reversed(_PRESETS):
        command = click.option(
            f"--{word}",
            variable,
            metavar=metavar,
            multiple=True,
            shell_complete=completing.presets(word),
            help=f"{what} (`gamelane presets {word}`).",
        )(command)
    text = f"{_SCENARIO} Or give --plan and --with."
    return click.argument("scenario", required=False, shell_complete=completing.scenarios, help=text)(command)


_PRESETS = (
    ("plan", "plan", "NAME", "Access plan, such as cable-250-20: link and buffers"),
    ("with", "with_", "NAME,…", "Games and other applications, such as valorant,netflix-4k. Repeatable"),
    ("policy", "policy", "NAME", "What the gateway does, such as cake"),
    ("router", "router", "NAME", "Box that shapes, with its highest rate"),
)
"""Word, variable, metavar and meaning of the options that name presets."""


json = click.option("--json", is_flag=True, help="Print JSON instead of tables (docs/json-schema.md).")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print only results and errors.")
threads = click.option(
    "--threads",
    "-j",
    type=click.IntRange(1),
    metavar="N",
    default=host.cores,
    show_default="all cores",
    help="Number of runs at the same time.",
)
settings = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completing.settings,
    help="Change a key of the scenario, for example link.up=2mbit. Repeatable.",
)

MOST_RUNS = 1_000_000


def repeat(default: int, help: str = "Number of runs of each variant; seeds count up.") -> Decorator:  # noqa: A002
    """Return `--repeat N`."""
    return click.option("--repeat", type=click.IntRange(1, MOST_RUNS), metavar="N", default=default, help=help)


def output(help: str, *, metavar: str = "DIR", required: bool = False) -> Decorator:  # noqa: A002 - Click's word
    """Return `-o`, which says what is written there."""
    return click.option("--output", "-o", "out", metavar=metavar, type=PATH, required=required, help=help)


variant = click.option(
    "--variant",
    "named",
    metavar="NAME:KEY=VALUE,…",
    multiple=True,
    help="Add a variant, or more keys to a variant of --compare, for example 'fifo:gateway.*.limit=100p'. Repeatable.",
)


def compare(example: str) -> Decorator:
    """Return `--compare KEY=A,B`."""
    return click.option(
        "--compare",
        metavar="KEY=A,B,…",
        shell_complete=completing.settings,
        help=f"Run one variant per value, for example '{example}'.",
    )
