"""The `gamelane` command: results on stdout, messages on stderr, exit codes as in docs/exit-codes.md."""

import signal
import sys


def main() -> None:
    """Run the command and exit. Until the command can handle Ctrl-C, it ends the process without a traceback."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Imported here, so that a program can import one module of this package alone.
    from gamelane.cli import prompt  # noqa: PLC0415
    from gamelane.cli.guard import guarded  # noqa: PLC0415

    files = prompt.captures(sys.argv[1:])
    if files is not None:
        sys.exit(guarded(lambda: prompt.run(files)))
    from gamelane.cli import app  # noqa: PLC0415

    app.main()


__all__ = ["main"]
