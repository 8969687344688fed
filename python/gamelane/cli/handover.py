"""Subcommands that are programs of their own, such as `gamelane gateway` and `gamelane proxy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import ShellComplete

from gamelane import programs
from gamelane.cli import completing


class Handover(click.Command):
    """A command that parses nothing. Every word goes to the program, including `--help` and `--`.

    The program answers Tab, too. `words` makes its words from those of this command. `first` are completers of the
    first word. `keys` says that `--set` takes keys of a scenario. `commands` holds the subcommands that run in Python.
    """

    commands: Mapping[str, click.Command] = {}

    def __init__(
        self,
        *given: Any,
        program: programs.Program,
        words: Callable[[list[str]], list[str]] = list,
        first: Sequence[completing.Completer] = (),
        keys: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self.program, self.words, self.first, self.keys = program, words, first, keys

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words as they are."""
        ctx.args = list(args)
        return []

    def shell_complete(self, ctx: click.Context, incomplete: str) -> completing.Items:
        """Ask the program; for a subcommand that runs in Python, Click."""
        words, here = ctx.args, ShellComplete(click.Group(commands=dict(self.commands)), {}, "", "")
        if words and words[0] in self.commands:
            return here.get_completions(words, incomplete)
        if self.keys and words[-1:] == ["--set"]:
            return completing.keys_of(words[0], incomplete)
        found = completing.of_program(self.program, self.words(words), incomplete)
        if words or incomplete.startswith("-"):
            return found
        first = [item for complete in self.first for item in complete(ctx, self.get_params(ctx)[0], incomplete)]
        return [*found, *here.get_completions([], incomplete), *first]


@click.command(cls=Handover, program=programs.GATEWAY, keys=True)
@click.pass_context
def gateway(context: click.Context) -> None:
    """Become `gamelane-gateway` (docs/gateway.md)."""
    programs.GATEWAY.become(context.args)


@click.command(cls=Handover, program=programs.PROXY)
@click.pass_context
def proxy(context: click.Context) -> None:
    """Become `gamelane-proxy` (docs/proxy.md)."""
    programs.PROXY.become(context.args)
