"""The pages of the manual say what `--help` says, and the programs that show them accept them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gamelane.cli.app import COMMANDS
from gamelane.cli.manual import STATUS
from gamelane.errors import ExitCode
from tests import snapshots
from tests.needs import needs

FOLDER = Path(__file__).parents[2] / "packaging" / "wheel" / "data" / "share" / "man" / "man1"
PROGRAMS = Path(__file__).parents[2] / "packaging" / "man"


def test_the_pages_are_up_to_date(tmp_path: Path) -> None:
    """`make docs` writes them. Another process does it here: Click keeps options of commands that tests called."""
    subprocess.run([sys.executable, "-m", "gamelane.cli.manual", tmp_path], check=True, timeout=60)
    for page in tmp_path.iterdir():
        snapshots.check(FOLDER / page.name, page.read_text(encoding="utf-8"))
    every = {"gamelane", *(f"gamelane-{name}" for name in COMMANDS)}
    of_programs = {path.stem for path in PROGRAMS.iterdir()}
    ours = {path.stem for path in tmp_path.iterdir()}
    assert ours == {path.stem for path in FOLDER.iterdir()}
    assert ours <= every <= ours | of_programs


def test_every_exit_code_is_explained() -> None:
    assert list(STATUS) == list(ExitCode)


@pytest.mark.parametrize("page", sorted(FOLDER.iterdir()), ids=lambda page: page.stem)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["mandoc", "-T", "lint", "-W", "error"], marks=needs(shutil.which("mandoc"), "needs mandoc")),
        pytest.param(["groff", "-man", "-ww", "-z"], marks=needs(shutil.which("groff"), "needs groff")),
    ],
    ids=lambda words: words[0],
)
def test_a_page_is_accepted(words: list[str], page: Path) -> None:
    done = subprocess.run([*words, page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
