"""Runs a command and turns every exception into a message and an exit code (docs/exit-codes.md)."""

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
    """Run the command and return its exit code."""
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
    except SystemExit:  # Click exits when the reader of stdout has closed it
        return OUTPUT
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        return _our_bug(error)
    if code == INTERRUPTED:  # from Click after Ctrl-C, or from a command that delivered what had finished
        say("interrupted")
    return code if isinstance(code, int) else OK


def _unwritable(error: OSError) -> int:
    """Report a full disk. A reader that closed stdout needs no message."""
    if error.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT):
        return _our_bug(error)
    if error.errno != errno.EPIPE:
        say(f"error: cannot write to standard output: {error.strerror}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at exit
    return OUTPUT


def _our_bug(error: Exception) -> int:
    if os.environ.get(TRACEBACK):
        import traceback  # noqa: PLC0415 - loads slowly

        traceback.print_exc()
    say(f"internal error: {type(error).__name__}: {error}")
    say(f"This is a bug in gamelane. Set {TRACEBACK}=1 to see where it happened.")
    return INTERNAL
