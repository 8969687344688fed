"""One door for every command: what goes wrong becomes a message and an exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from importlib import import_module

import typer

from gamelane.cli.talk import say
from gamelane.errors import Interrupted, LabError, OutputError, ScenarioError, UsageError

OK, INTERNAL, USAGE, OUTPUT, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 3, 4, 130

TRACEBACK = "GAMELANE_TRACEBACK"

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
    "analyze",
    "replay",
    "report",
    "reproduce",
    "remedies",
    "traffic",
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
    sys.exit(_guarded())


def _guarded() -> int:
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        if error.format_message():
            say(f"error: {error.format_message()}\n  hint:    add --help to the command")
        return USAGE
    except (ScenarioError, UsageError) as error:
        say(f"error: {error}")
        return USAGE
    except OutputError as error:
        say(f"error: {error}")
        return OUTPUT
    except LabError as error:
        say(f"error: {error}")
        return CANNOT_RUN
    except OSError as error:
        return _unwritable(error)
    except SystemExit:  # Typer's answer when whoever read stdout has left
        return OUTPUT
    except (Interrupted, KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        return _our_bug(error)
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C, and `run` after keeping what had finished
        say("interrupted")
    return code if isinstance(code, int) else OK


def _unwritable(error: OSError) -> int:
    """Stdout is full, or whoever read it has left, which is no news to them."""
    if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT):
        return _our_bug(error)
    if error.errno != errno.EPIPE:
        say(f"error: standard output cannot be written to: {error.strerror}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries once more at exit
    return OUTPUT


def _our_bug(error: Exception) -> int:
    if os.environ.get(TRACEBACK):
        traceback.print_exc()
    say(f"internal error: {type(error).__name__}: {error}")
    say(f"This is a bug in gamelane. With {TRACEBACK}=1 the command says where it happened.")
    return INTERNAL
