"""The wheel gives a machine without a compiler the command and every program."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.installed.places import MACHINE, PYTHON, Place, debian, download, made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    wheel = made(f"gamelane-*{MACHINE}.whl")
    here = debian(tmp_path_factory.mktemp("place"), "python3-venv")
    download(wheel, here.root / "wheels")
    here.run("python3", "-m", "venv", "/opt/gamelane")
    here.run("/opt/gamelane/bin/pip", "install", "-q", "--no-index", "--find-links=/wheels", "gamelane")
    yield here
    shutil.rmtree(here.root)


def test_it_runs_without_a_compiler(place: Place) -> None:
    place.run("sh", "-c", "command -v cc || command -v cargo", code=127)
    told = place.run("/opt/gamelane/bin/gamelane", "run", "household", "--set", "duration=5s", "-q", "--json")
    assert json.loads(told)["scenario"]["name"] == "household"


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ("gateway run", "gamelane-gateway run"),
        ("impair run", "gamelane-impair run"),
        ("traffic serve", "gamelane-traffic serve"),
        ("serve", "gamelane-traffic listen"),
        ("capture", "gamelane-capture"),
        ("proxy near", "gamelane-proxy near"),
    ],
)
def test_a_command_finds_its_program(place: Place, words: str, usage: str) -> None:
    assert f"Usage: {usage} [" in place.run("/opt/gamelane/bin/gamelane", *words.split(), "--help")


def test_a_command_finds_its_program_where_scripts_are_elsewhere(place: Place) -> None:
    """As with `pip install --user`: the interpreter has the packages, but not the scripts, beside it."""
    place.run("python3", "-m", "venv", "/opt/other")
    where = ["install", "-q", "--no-index", "--no-deps", "--find-links=/wheels", "--prefix=/opt/elsewhere", "gamelane"]
    place.run("/opt/other/bin/pip", *where)
    paths = [f"/opt/{folder}/lib/python{PYTHON}/site-packages" for folder in ("elsewhere", "gamelane")]
    command = ["/opt/other/bin/python", "-m", "gamelane", "proxy", "--version"]
    assert place.run("env", f"PYTHONPATH={':'.join(paths)}", *command).startswith("gamelane-proxy ")
