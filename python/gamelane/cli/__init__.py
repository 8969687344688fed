"""The `gamelane` command: data on stdout, talk on stderr, exit codes as docs/exit-codes.md has them."""

import sys


def main() -> None:
    """Run the command and exit."""
    from gamelane.cli import prompt  # noqa: PLC0415 - so that `gamelane.cli.app` alone loads no more than it needs

    command = prompt.command(sys.argv[1:])
    if command is not None:
        from gamelane.cli.guard import guarded  # noqa: PLC0415

        sys.exit(guarded(command))
    from gamelane.cli import app  # noqa: PLC0415 - takes longer to load than many a capture to read

    app.main()


__all__ = ["main"]
