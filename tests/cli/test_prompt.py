"""The prompt way of `gamelane analyze` says what the parser's way says, and loads none of what makes that one slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gamelane.cli import prompt

CAPTURE = Path(__file__).parents[1] / "captures" / "openarena-4p-srv.pcapng.gz"
PARSER = "from gamelane.cli import app; app.main()"


def _run(code: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--json", str(CAPTURE)],
        [str(CAPTURE), "-q"],
        [str(CAPTURE)],
        ["--json", "cut"],
        ["cut"],
        ["text"],
        ["absent"],
        ["."],
        ["-", "-"],
    ],
)
def test_both_ways_say_the_same(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut").write_bytes(CAPTURE.read_bytes()[:5000])
    (tmp_path / "text").write_text("no capture")
    assert prompt.command(["analyze", *words]) is not None
    promptly = _run("from gamelane.cli import main; main()", "analyze", *words)
    assert promptly == _run(PARSER, "analyze", *words)


@pytest.mark.parametrize(
    "words", [[], ["run"], ["analyze"], ["analyze", "--help"], ["analyze", "-o", "out", "a"], ["analyze", "-qx", "a"]]
)
def test_what_is_not_plain_is_left_to_the_parser(words: list[str]) -> None:
    assert prompt.command(words) is None


def test_nothing_slow_is_loaded_to_print_json() -> None:
    slow = {"typer", "pydantic", "rich", "numpy", "polars"}
    code = "import sys\nfrom gamelane.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    status, _, loaded = _run(code, "analyze", "--json", str(CAPTURE))
    assert status == 0
    assert not slow & set(loaded.split())
