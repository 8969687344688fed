"""Runs a command and turns every exception into a message and an exit code (docs/exit-codes.md)."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from gamelane.errors import ExitCode, LabError, OutputError, ScenarioError, UsageError
from gamelane.interrupts import CtrlC, raised
from gamelane.terminal.talk import leave_stdout, say, unprinted

OK, INTERNAL, USAGE, OUTPUT, PARTLY, CANNOT_RUN, PEER, INTERRUPTED = ExitCode

TRACEBACK = "GAMELANE_TRACEBACK"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def guarded(command: Callable[[], object]) -> int:
    """Run the command and return its exit code. After Ctrl-C that is 130, whatever error it caused."""
    with raised() as ctrl_c:
        code = _run(command, ctrl_c)
    if code == INTERRUPTED:
        say("interrupted")
    return code


def _run(command: Callable[[], object], ctrl_c: CtrlC) -> int:
    try:
        code = command()
        sys.stdout.flush()
        if unprinted:
            return _unwritable(unprinted[0])
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
    except SystemExit:  # Click and Rich exit when the reader of stdout has closed it
        return OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return INTERRUPTED if ctrl_c.heard else _our_bug(error)
    return code if isinstance(code, int) else OK


def _unwritable(error: OSError) -> int:
    """Report a full disk. A reader of stdout that has left, as `head` does, is no error."""
    number = error.errno or _number_of_rust(error)
    if number not in (errno.EPIPE, *FULL):
        return _our_bug(error)
    if error.filename is None:
        leave_stdout()
    if number == errno.EPIPE:
        return OK
    say(f"error: cannot write to {error.filename or 'standard output'}: {os.strerror(number)}")
    return OUTPUT


def _number_of_rust(error: OSError) -> int:
    """Return the number of a system error that Rust reports in words; 0 if it has none."""
    number = str(error).rpartition("(os error ")[2].removesuffix(")")
    return int(number) if number.isdecimal() else 0


def _our_bug(error: Exception) -> int:
    if os.environ.get(TRACEBACK):
        import traceback  # noqa: PLC0415 - loads slowly

        traceback.print_exc()
    say(f"internal error: {type(error).__name__}: {error}")
    say(f"This is a bug in gamelane. Set {TRACEBACK}=1 to see where it happened.")
    return INTERNAL
