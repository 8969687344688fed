"""Options of the commands that recommend a setting. They load `gamelane._native`, which other commands need not."""

from __future__ import annotations

import click

from gamelane import _native

cost = click.option(
    "--cost",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    default=10.0,
    help="How much of its due goodput each transfer may lose, percent.",
)
target = click.option(
    "--for",
    "target",
    type=click.Choice(_native.recipe_targets()),
    default=_native.recipe_targets()[0],
    show_default=True,
    help="Print lines for Linux (tc), for OpenWrt's SQM, or for `gamelane gateway`.",
)
