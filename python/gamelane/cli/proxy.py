"""`gamelane proxy`: hands over to the `gamelane-proxy` program."""

from __future__ import annotations

import typer

from gamelane import programs


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "proxy",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(proxy)


def proxy(context: typer.Context) -> None:
    """Carry thin TCP streams over few connections: near|far|check|certificates|status. See docs/proxy.md."""
    programs.PROXY.become(context.args)
