"""A command that is a program has the program's words, JSON and exit codes: there is no second definition of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gamelane import programs
from gamelane.programs import CAPTURE, GATEWAY, IMPAIR, PROXY, TRAFFIC, Program
from tests.cli.command import GAMELANE
from tests.cli.test_capture import inside, match
from tests.needs import lacking

__all__ = ["match"]  # a fixture

COMMANDS: dict[str, tuple[Program, list[str]]] = {
    "capture": (CAPTURE, []),
    "gateway": (GATEWAY, []),
    "impair": (IMPAIR, []),
    "proxy": (PROXY, []),
    "traffic serve": (TRAFFIC, ["serve"]),
    "traffic send": (TRAFFIC, ["send"]),
    "serve": (TRAFFIC, ["listen"]),
}
"""Commands that become a program, and its words for them."""

Done = subprocess.CompletedProcess[str]


def run(words: Sequence[str], folder: Path) -> Done:
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=240, stdin=subprocess.DEVNULL
    )


def both(command: str, words: Sequence[str], folder: Path) -> tuple[Done, Done]:
    """What the command does, and what the program does."""
    program, first = COMMANDS[command]
    return run([GAMELANE, *command.split(), *words], folder), run([str(program.find()), *first, *words], folder)


def told(done: Done) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


def subcommands(command: str) -> Iterator[list[str]]:
    """The words of every subcommand of a program that `--help` lists, and of theirs."""
    program, first = COMMANDS[command]

    def below(words: list[str]) -> Iterator[list[str]]:
        yield words
        asked = [str(program.find()), *first, *words, "--help"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        listed = re.search(r"^Commands:\n((?:  .*\n)+)", said, re.MULTILINE)
        for line in listed[1].splitlines() if listed else ():
            if (name := line.split()[0]) != "help":
                yield from below([*words, name])

    return below([])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_subcommand_is_the_programs(command: str, tmp_path: Path) -> None:
    every = list(subcommands(command))
    if command in ("gateway", "impair", "proxy"):
        assert len(every) > 5
    for words in every:
        ours, theirs = both(command, [*words, "--help"], tmp_path)
        assert told(ours) == told(theirs)
        assert ours.returncode == 0


def test_every_program_is_compared() -> None:
    every = {each.name for each in vars(programs).values() if isinstance(each, Program)}
    assert {program.name for program, _ in COMMANDS.values()} == every


REFUSED = [
    ("capture", ["lo", "--no-such-option"], 2),
    ("capture", ["no-such-interface"], 2),
    ("capture", ["lo", "--snaplen", "3"], 2),
    ("capture", ["lo", "--duration", "soon"], 2),
    ("gateway", ["run", "absent.toml"], 2),
    ("gateway", ["replay", "absent"], 2),
    ("gateway", ["status", "--listen", "127.0.0.1:9"], 6),
    ("impair", ["run", "no-such-interface", "--delay", "1ms"], 2),
    ("impair", ["run", "lo", "--loss", "many"], 2),
    ("impair", ["show", "no-such-interface"], 6),
    ("impair", ["set"], 2),
    ("proxy", ["check", "absent.toml"], 2),
    ("proxy", ["status", "absent.toml"], 2),
    ("traffic serve", ["game.toml", "--listen", "198.51.100.1:27960"], 2),
    ("traffic send", ["game.toml", "--to", "nowhere"], 2),
    ("traffic send", ["game.toml", "--set", "link.up=much"], 2),
    ("serve", ["--listen", "198.51.100.1:27970"], 2),
    ("serve", ["--clients", "0"], 2),
]


@pytest.mark.parametrize(("command", "words", "code"), REFUSED, ids=str)
def test_what_is_refused_is_refused_alike(command: str, words: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "game.toml").write_text(GAME)
    ours, theirs = both(command, words, tmp_path)
    assert told(ours) == told(theirs)
    assert ours.returncode == code


def shape(value: Any) -> Any:
    """The keys and types of a document: what does not change from one recording to the next."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    return [shape(each) for each in value[:1]] if isinstance(value, list) else type(value).__name__


def test_the_shipped_profiles_are_the_same_document(tmp_path: Path) -> None:
    ours, theirs = both("impair", ["profiles", "--json"], tmp_path)
    assert told(ours) == told(theirs)
    assert json.loads(ours.stdout)["profiles"]


@pytest.mark.usefixtures("match")
def test_a_recording_gives_the_same_document() -> None:
    documents = []
    for words in ([GAMELANE, "capture"], [str(CAPTURE.find())]):
        done = run(inside(*words, "lo", "-c", "60", "-q", "--json"), Path.cwd())
        assert (done.returncode, done.stderr) == (0, "")
        documents.append(json.loads(done.stdout))
    ours, theirs = documents
    assert list(ours) == list(theirs) == ["schema", "captures", "pair", "verdict", "recording"]
    assert shape(ours["recording"]) == shape(theirs["recording"])
    assert list(ours["captures"][0]) == list(theirs["captures"][0])


@contextmanager
def listening(folder: Path, *words: str) -> Iterator[str]:
    """The server of a game on loopback, and its address."""
    asked = [str(TRAFFIC.find()), "serve", *words, "--listen", "127.0.0.1:0", "--once"]
    server = subprocess.Popen(asked, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        first = server.stderr.readline()
        while first.startswith("note: "):
            first = server.stderr.readline()
        found = re.search(r"listening on (\S+) ", first)
        assert found, first
        yield found[1]
    finally:
        server.terminate()
        server.communicate()


def test_traffic_that_is_sent_gives_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "game.toml").write_text(GAME)
    documents = []
    for words in ([GAMELANE, "traffic", "send"], [str(TRAFFIC.find()), "send"]):
        with listening(tmp_path, "game.toml") as address:
            done = run([*words, "game.toml", "--to", address], tmp_path)
        assert done.returncode == 0, done.stderr
        documents.append(json.loads(done.stdout))
    ours, theirs = documents
    assert shape(ours) == shape(theirs)
    assert ours["flows"]["game"]["client"]["sent"] == theirs["flows"]["game"]["client"]["sent"] > 0


GAME = """\
duration = "2s"

[link]
up = "10mbit"
down = "10mbit"

[[flow]]
name = "game"
app = "game"
model = "quake3"
"""


@pytest.mark.parametrize(("host", "code"), [("127.0.0.1:9", 6), ("198.51.100.1", 2)], ids=["no server", "no key"])
def test_a_measurement_that_fails_ends_alike(host: str, code: int, tmp_path: Path) -> None:
    """`gamelane measure` starts the program, and grades what it wrote."""
    words = ["measure", host, "-o", "line"]
    ours, theirs = (run([program, *words], tmp_path) for program in (GAMELANE, str(TRAFFIC.find())))
    assert told(ours) == told(theirs)
    assert ours.returncode == code


def test_without_a_privilege_the_codes_are_alike(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        lacking("needs root, to give up a privilege")
    without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for command, words in (("capture", ["lo"]), ("impair", ["check"])):
        program, first = COMMANDS[command]
        ours = run([*without, GAMELANE, command, *words], tmp_path)
        theirs = run([*without, str(program.find()), *first, *words], tmp_path)
        assert told(ours) == told(theirs)
        assert ours.returncode == 5, ours.stderr
