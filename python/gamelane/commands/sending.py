"""`gamelane traffic serve`, `send` and `join`: packets of games over real sockets, and what came of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gamelane import _native, experiment, library, live, programs
from gamelane.fit import play
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.report.write import write_report
from gamelane.terminal.talk import emit, say_where, stdout, writable


def become(words: Sequence[str]) -> None:
    """Become `gamelane-traffic`. The second word may be the name of a shipped game or scenario."""
    programs.TRAFFIC.become([words[0], *_found(list(words[1:]))])


def join(scenario: str, client: Path, out: Path, server: Path | None, seed: int | None, json: bool) -> None:
    """Report what `serve` and `send` recorded."""
    chosen = (
        experiment.Experiment(_native.Scenario.parse(_match(scenario), scenario, []), scenario)
        if _is_game(scenario)
        else experiment.load(scenario)
    )
    own = chosen.scenario.seed if seed is None else seed
    results = live.results(chosen, client, server, seed=own)
    results.write(writable(out))
    page = write_report(results, out)
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    say_where(page, quiet=False)


def _found(words: list[str]) -> list[str]:
    """Replace the name of a shipped game or scenario by a file. The scenario of a game is a file in memory."""
    if not words or words[0].startswith("-"):
        return words
    if not _is_game(words[0]):
        return [str(library.find(words[0])), *words[1:]]
    held = os.memfd_create("scenario", 0)
    os.write(held, _match(words[0]).encode())
    return [f"/proc/self/fd/{held}", *words[1:]]


def _is_game(name: str) -> bool:
    games = {model["name"] for model in _native.models() if model["app"] == "game"}
    return not Path(name).is_file() and name in games


def _match(game: str) -> str:
    return play.SCENARIO.format(duration="60s", model=f'"{game}"')
