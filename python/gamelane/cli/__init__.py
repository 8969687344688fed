"""The `gamelane` command: results on stdout, messages on stderr, exit codes as in docs/exit-codes.md."""


def main() -> None:
    """Run the command and exit."""
    from gamelane.cli import app  # noqa: PLC0415 - so that a program can import one module of this package alone

    app.main()


__all__ = ["main"]
