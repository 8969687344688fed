"""`python -m gamelane` is the `gamelane` command."""

from gamelane.cli import main

if __name__ == "__main__":
    main()
