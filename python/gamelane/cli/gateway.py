"""`gamelane gateway`: hands over to the `gamelane-gateway` program."""

from __future__ import annotations

import typer

from gamelane import programs


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "gateway",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(gateway)


def gateway(context: typer.Context) -> None:
    """Bridge two interfaces under the gateway of a scenario: run|status|watch. See docs/gateway.md."""
    programs.GATEWAY.become(context.args)
