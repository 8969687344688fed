"""Subcommands that are programs of their own: `gamelane gateway` and `gamelane proxy`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from gamelane import programs


class Handover(click.Command):
    """A command that parses nothing. Every word goes to the program, including `--help` and `--`.

    `commands` holds the subcommands that run in Python instead.
    """

    commands: Mapping[str, click.Command] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they are."""
        ctx.args = list(args)
        return []


@click.command(cls=Handover)
@click.pass_context
def gateway(context: click.Context) -> None:
    """Become `gamelane-gateway` (docs/gateway.md)."""
    programs.GATEWAY.become(context.args)


@click.command(cls=Handover)
@click.pass_context
def proxy(context: click.Context) -> None:
    """Become `gamelane-proxy` (docs/proxy.md)."""
    programs.PROXY.become(context.args)
