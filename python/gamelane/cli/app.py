"""The commands, and how their words are parsed; each command's module is loaded when it is called."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from gamelane.cli.guard import USAGE, guarded
from gamelane.errors import UsageError

app = typer.Typer(
    help="Keeps online games playable on a shared home link, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MODULES = (
    "run",
    "sweep",
    "tune",
    "rate",
    "analyze",
    "capture",
    "replay",
    "report",
    "reproduce",
    "remedies",
    "traffic",
    "gateway",
    "proxy",
    "impair",
    "doctor",
    "about",
)
ABOUT = ("schema", "models", "scenarios", "version")


def _register(words: list[str]) -> None:
    """Load the module of the command given, or all of them: each brings libraries that take long to load."""
    word = words[0] if words else ""
    named = "about" if word in ABOUT else word
    for name in (named,) if named in MODULES else MODULES:
        import_module(f"gamelane.cli.{name}").register(app)


@app.callback()
def _group() -> None:
    """With this a single command is still one of several to Typer."""


_register(sys.argv[1:])


def main() -> None:
    """Run the command and exit."""
    sys.exit(guarded(_run))


def _run() -> object:
    try:
        return app(standalone_mode=False)
    except typer.TyperException as error:
        if not error.format_message():
            return USAGE
        raise UsageError(f"{error.format_message()}\n  hint:    add --help to the command") from None
    except typer.Abort:
        raise KeyboardInterrupt from None
