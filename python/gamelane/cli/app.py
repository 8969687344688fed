"""The `gamelane` command: a table of its subcommands with their modules and help lines.

A subcommand's module is imported when that subcommand runs. `gamelane --help` imports none of them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from gamelane.cli.guard import guarded
from gamelane.errors import UsageError

COMMANDS = {
    "run": ("run", "Run a scenario: table, HTML report, records."),
    "sweep": ("sweep", "Run every combination of a sweep file; resumes if stopped."),
    "tune": ("tune", "Search gateway settings that are best for the game."),
    "rate": ("rate", "Find the highest rate a link carries without a queue."),
    "analyze": ("analyze", "Explain the lag, loss and retransmissions in captures."),
    "capture": ("capture", "Record an interface and analyze its games live."),
    "replay": ("replay", "Repeat a capture's writes over another TCP, link or gateway."),
    "report": ("report", "Render a report again from records; compare folders."),
    "reproduce": ("reproduce", "Check the claims of the papers."),
    "remedies": ("remedies", "Rank remedies for a game over TCP, with their cost."),
    "traffic": ("traffic", "Fit game models to captures; generate and send traffic."),
    "measure": ("measure", "Measure the line to a host, idle and loaded; grade it."),
    "serve": ("measure", "Let other hosts measure their line to this one."),
    "advise": ("advise", "Recommend a queue and rates for a measured line."),
    "gateway": ("handover", "Run a scenario's gateway between two real interfaces."),
    "proxy": ("handover", "Carry many thin TCP streams over few connections."),
    "impair": ("impair", "Add delay and loss to real packets; run blind trials."),
    "doctor": ("doctor", "Check what works on this machine, and how to get the rest."),
    "completion": ("completion", "Print the script for Tab completion in your shell."),
    "schema": ("about", "Print the JSON Schema of scenario files."),
    "models": ("about", "List the shipped game models."),
    "presets": ("presets", "List today's games, applications, plans, households."),
    "scenarios": ("about", "List the shipped scenarios."),
    "version": ("about", "Print the version."),
}
"""Module and help line of each subcommand, in the order of the help. The function has the subcommand's name."""


class Group(click.Group):
    """A group that imports a subcommand when it runs. Until then it holds placeholders with the help lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the table."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the subcommand that was named; Click suggests a name if there is no such subcommand."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else self.load(name), rest

    @staticmethod
    def load(name: str) -> click.Command:
        """Import a subcommand."""
        command: click.Command = getattr(import_module(f"gamelane.cli.{COMMANDS[name][0]}"), name)
        return command


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from gamelane.cli import about  # noqa: PLC0415 - as for the subcommands

        context.invoke(about.version)
        context.exit()


app = Group(
    "gamelane",
    help="Keeps online games playable on a shared home link, and proves it.",
    commands=[click.Command(name, short_help=line) for name, (_, line) in COMMANDS.items()],
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
        )
    ],
    context_settings={"help_option_names": ["--help", "-h"], "show_default": True, "max_content_width": 100},
)


COMPLETION_ASKED = "_GAMELANE_COMPLETE"
"""The variable by which a shell asks for completions."""


def main() -> None:
    """Run the command and exit."""
    sys.exit(guarded(_run))


def _run() -> object:
    if COMPLETION_ASKED in os.environ:
        from gamelane.cli import completion  # noqa: PLC0415 - as for the subcommands

        completion.register()
    try:
        return app(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "gamelane"
        raise UsageError(f"{error.format_message()}\n  hint:    {where} --help") from None
    except click.Abort:
        raise KeyboardInterrupt from None
