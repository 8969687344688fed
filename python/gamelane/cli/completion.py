"""`gamelane completion`: prints the script by which a shell completes commands, options, names and keys.

Click makes the scripts. Ours for Bash knows that `=` is part of a word, and adds no space after `link.` and `link.up=`.
"""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from gamelane.cli.app import COMPLETION_ASKED

PROGRAM = "gamelane"


class Bash(BashComplete):
    """Gets the line up to the cursor. Bash itself would split `--set link.up=2mbit` at the `=`.

    Where nothing is offered, Bash completes the names of files.
    """

    source_template = """\
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} type value
    local typed=${line##*[[:space:]]} before=
    # Bash replaces what follows the last `=` only, unless the word is quoted.
    [[ $typed == *=* && $typed != [\\"\\']* && $COMP_WORDBREAKS == *=* ]] && before=${typed%%"${typed##*=}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            plain)
                COMPREPLY+=("${value#"$before"}")
                [[ $value == *[.=/] ]] && compopt -o nospace ;;
        esac
    done < <(COMP_WORDS=$line %(complete_var)s=bash_complete "$1")
}
complete -o nosort -o default -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one at the cursor, and that one."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])


class Zsh(ZshComplete):
    """Adds no space after items without a description: keys of a scenario, which a value follows."""

    source_template = ZshComplete.source_template.replace("compadd -U ", "compadd -U -S '' ")


class Fish(FishComplete):
    """Keeps the commas of a value and of its description."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)), help="Your shell.")
def completion(shell: str) -> None:
    """Print the script for Tab completion in a shell.

    For Bash, add `eval "$(gamelane completion bash)"` to ~/.bashrc. For Zsh, the same with zsh to ~/.zshrc, below
    compinit. For Fish: `gamelane completion fish > ~/.config/fish/completions/gamelane.fish`.
    """
    made = SHELLS[shell](click.Command(PROGRAM), {}, PROGRAM, COMPLETION_ASKED)
    sys.stdout.write(made.source())


def register() -> None:
    """Let Click answer our Bash script. Call this if `COMPLETION_ASKED` is set."""
    add_completion_class(Bash)
