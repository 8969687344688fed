"""The `gamelane` command: data on stdout, talk on stderr, exit codes as docs/exit-codes.md has them."""

from gamelane.cli.app import main

__all__ = ["main"]
