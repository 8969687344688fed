"""Options of `gamelane presets`."""

from __future__ import annotations

import click

from gamelane import _native
from gamelane.cli import completing, options
from gamelane.cli.doing import carry_out


def _words() -> list[str]:
    known = _native.presets()
    kinds = [each["word"] for each in known] + [each["group"] for each in known if each["group"]]
    return [*dict.fromkeys(kinds), *(each["name"] for each in known)]


@click.command()
@click.argument(
    "word",
    required=False,
    shell_complete=completing.names(_words),
    help="A preset, to explain it. Or a kind (with, plan, policy, router, household) or a group (game, video, …), to "
    "list it.",
)
@options.json
def presets(**given: object) -> object:
    """List today's games, applications, access plans, policies, routers and households, and explain one.

    The names go with --plan, --with, --policy and --router of `gamelane run`, `tune` and `rate`. A household runs by
    its name.
    """
    return carry_out("presets", "presets", given)
