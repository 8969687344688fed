"""The `gamelane` command: results on stdout, messages on stderr, exit codes as in docs/exit-codes.md."""

import io
import os
import signal
import sys


def _open_what_is_closed() -> None:
    """Connect closed descriptors (`>&-`) to /dev/null. Else the next file to be opened would get the output."""
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(nowhere)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115 - a descriptor, for good
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115 - likewise


def _buffer_stdout() -> None:
    """Give stdout a buffer where PYTHONUNBUFFERED took it: Python then ignores that a full disk took only a part."""
    if not sys.stdout.isatty() and isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor, for good


def main() -> None:
    """Run the command and exit. Until the command can handle Ctrl-C, it ends the process without a traceback."""
    _open_what_is_closed()
    _buffer_stdout()
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
