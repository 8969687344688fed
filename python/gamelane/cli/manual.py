"""Writes the pages of the manual, `gamelane.1` and one page per subcommand, from the text of `--help`.

A subcommand that is nothing but a program of its name has that program's page, from `packaging/man`.
`make docs` writes them to `packaging/wheel`, from where the wheel installs them to `share/man/man1`.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from gamelane.cli.app import COMMANDS, app
from gamelane.cli.handover import Handover
from gamelane.errors import ExitCode

STATUS = {
    ExitCode.OK: "Done.",
    ExitCode.FAILED: "The work itself failed: a bug in gamelane, or failed runs of a sweep.",
    ExitCode.USAGE: "The command line, a scenario or another input cannot be used.",
    ExitCode.OUTPUT: "The output cannot be written.",
    ExitCode.PARTIAL: "An input could be read only in part.",
    ExitCode.CANNOT_RUN: "This machine cannot do it.",
    ExitCode.PEER: "The other end does not answer, or the two ends do not agree.",
    ExitCode.INTERRUPTED: "Interrupted. Finished runs are printed and written.",
}
"""As in docs/exit-codes.md, which says more."""

WIDTH = 78


def pages() -> dict[str, str]:
    """Return each page by its name: `gamelane-run`."""
    top = click.Context(app, info_name=app.name, **app.context_settings)
    found = {"gamelane": _page(top, "gamelane", app.help or "", [*_commands(), *_status()], "")}
    for name, (_, line) in COMMANDS.items():
        command = app.load(name)
        if isinstance(command, Handover) and command.program.name == f"gamelane-{name}" and not command.commands:
            continue
        context = click.Context(command, info_name=name, parent=top)
        found[f"gamelane-{name}"] = _page(context, f"gamelane-{name}", line, list(_inner(context)), "gamelane(1)")
    return found


def _page(context: click.Context, title: str, line: str, more: list[str], also: str) -> str:
    text = [
        f'.TH {_escaped(title.upper())} 1 "" gamelane "gamelane manual"',
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(line.rstrip('.'))}",
        ".SH SYNOPSIS",
        _usage(context),
        ".SH DESCRIPTION",
        *_described(context.command),
        *_parameters(context, ".SH"),
        *more,
    ]
    if also:
        text += [".SH SEE ALSO", f".BR {also.replace('(', ' (')}"]
    return "\n".join(text) + "\n"


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS"
    for name, (_, line) in COMMANDS.items():
        yield from (".TP", f".BR gamelane\\-{name} (1)", _escaped(line))


def _status() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, meaning in STATUS.items():
        yield from (".TP", f".B {code}", _escaped(meaning))


def _inner(context: click.Context) -> Iterator[str]:
    """Yield the subcommands of a subcommand."""
    inner: Mapping[str, click.Command] = getattr(context.command, "commands", {})
    if inner:
        yield ".SH COMMANDS"
    for name, command in inner.items():
        own = click.Context(command, info_name=name, parent=context)
        yield f".SS {_escaped(own.command_path)}"
        yield from (_usage(own), ".PP", *_described(command), *_parameters(own, ".PP"))


def _usage(context: click.Context) -> str:
    if isinstance(context.command, Handover):
        return f".B {_escaped(context.command_path)}\n[OPTIONS]"
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f".B {_escaped(context.command_path)}\n{_escaped(pieces)}"


def _described(command: click.Command) -> Iterator[str]:
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    if isinstance(command, Handover):
        paragraphs.append("With `--help` it prints its options.")
    for index, paragraph in enumerate(paragraphs):
        yield from (".PP",) * bool(index)
        yield _marked(paragraph)


def _parameters(context: click.Context, heading: str) -> Iterator[str]:
    """Yield arguments and options. Programs that a command becomes have their own."""
    if isinstance(context.command, Handover):
        return
    parameters = context.command.get_params(context)
    for title, kind in (("ARGUMENTS", click.Argument), ("OPTIONS", click.Option)):
        records = [each.get_help_record(context) for each in parameters if isinstance(each, kind)]
        known = [record for record in records if record is not None]
        if known and heading == ".SH":
            yield f".SH {title}"
        for name, text in known:
            yield from (".TP", re.sub(r"(\\-[\w\\-]+)", r"\\fB\1\\fR", _escaped(name)), _marked(text))


def _marked(text: str) -> str:
    """Return lines of a text, with what stands between backquotes in bold."""
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", "\n".join(map(_escaped, lines)), flags=re.DOTALL)


def _escaped(text: str) -> str:
    """Escape a text for roff: ASCII only, and no line that begins like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.1").write_text(text, encoding="ascii")
