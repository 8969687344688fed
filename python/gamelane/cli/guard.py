"""One door for every command: what goes wrong becomes a message and an exit code, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from gamelane.cli.talk import say
from gamelane.errors import ExitCode, LabError, OutputError, ScenarioError, UsageError

OK, INTERNAL, USAGE, OUTPUT, PARTLY, CANNOT_RUN, PEER, INTERRUPTED = ExitCode

TRACEBACK = "GAMELANE_TRACEBACK"


def guarded(command: Callable[[], object]) -> int:
    """Run the command; its exit code."""
    try:
        code = command()
        sys.stdout.flush()
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
    except KeyboardInterrupt:
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
        import traceback  # noqa: PLC0415 - takes long to load

        traceback.print_exc()
    say(f"internal error: {type(error).__name__}: {error}")
    say(f"This is a bug in gamelane. With {TRACEBACK}=1 the command says where it happened.")
    return INTERNAL
