"""What Tab offers for the arguments and options of commands. A shell asks by `gamelane completion`'s script."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from gamelane import _native, library, programs
from gamelane.errors import ScenarioError, UsageError

Items = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Items]


def names(known: Callable[[], Iterable[str]], *, files: bool = False) -> Completer:
    """Offer names. With `files`, offer files too: a name may be shipped, or be a file of the user."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
        found = [CompletionItem(name) for name in known() if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if files else found

    return complete


scenarios = names(lambda: [*library.shipped(), *library.households()], files=True)
sweeps = names(library.sweeps, files=True)
models = names(lambda: [each["name"] for each in _native.models()])
models_or_files = names(lambda: [each["name"] for each in _native.models()], files=True)
engines = names(lambda: ("sim", "lab", "kernel", "sim,lab", "sim,kernel"))
formats = names(lambda: ("csv", "flent"))
captures = names(lambda: (), files=True)
interfaces = names(lambda: [name for _, name in socket.if_nameindex()])
meters = names(lambda: ("irtt", "iperf3", "irtt,iperf3"))


def presets(word: str) -> Completer:
    """Offer the presets of a kind. `with` takes several, joined by commas."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
        before, comma, last = incomplete.rpartition(",") if word == "with" else ("", "", incomplete)
        known = (each["name"] for each in _native.presets() if each["word"] == word)
        return [CompletionItem(f"{before}{comma}{name}") for name in known if name.startswith(last)]

    return complete


def scenarios_or_apps(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offer scenarios and households, and applications joined by commas."""
    return [*presets("with")(context, parameter, incomplete), *scenarios(context, parameter, incomplete)]


def of_program(program: programs.Program, words: Sequence[str], incomplete: str) -> Items:
    """Offer what a program of ours tells Fish (by its library clap_complete); nothing if the program is not built."""
    try:
        path = program.find()
    except UsageError:
        return []
    asked = [str(path), "--", program.name, *words, incomplete]
    answered = subprocess.run(asked, env=os.environ | {"COMPLETE": "fish"}, capture_output=True, text=True, check=False)
    found = (line.partition("\t") for line in answered.stdout.splitlines())
    # As Click does: options only where a word begins like one.
    return [
        CompletionItem(name, help=text or None) for name, _, text in found if name[0] != "-" or incomplete[:1] == "-"
    ]


def settings(context: click.Context, _parameter: click.Parameter, incomplete: str) -> Items:
    """Offer keys of a scenario, one level at a time, and after `=` the words that the key allows."""
    # Click leaves arguments unread before an option without a value.
    return keys_of(context.params.get("scenario") or next(iter(context.args), None), incomplete)


def keys_of(scenario: Any, incomplete: str) -> Items:
    """Offer the keys of a scenario, as `settings` does. If it cannot be read, a flow is named `*`."""
    from gamelane.keys import keys  # noqa: PLC0415 - only where it is needed

    known = keys(_flows(scenario))
    key, equals, value = incomplete.partition("=")
    if equals:
        *earlier, last = value.split(",")
        before = f"{key}={''.join(f'{word},' for word in earlier)}"
        words = [word for word in known.get(key, ()) if word.startswith(last) and word not in earlier]
        return [CompletionItem(before + word) for word in words]
    found: dict[str, None] = {}
    for name in known:
        if name.startswith(incomplete):
            step, dot, _ = name[len(incomplete) :].partition(".")
            found[incomplete + step + (dot or "=")] = None
    return [CompletionItem(name) for name in found]


def _flows(scenario: Any) -> list[str]:
    """Return the names of the flows of a scenario; `*` if it cannot be read."""
    try:
        text, path = library.source(scenario)
        parsed = _native.Scenario.parse(text, str(path), [])
    except (ScenarioError, UsageError, TypeError):
        return ["*"]
    return ["*", *(flow["name"] for flow in parsed.flows())]
