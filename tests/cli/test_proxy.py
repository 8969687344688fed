"""`gamelane proxy` finds the program and hands over to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .command import GAMELANE


def with_program(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GAMELANE_PROXY": str(program)}
    return subprocess.run(
        [GAMELANE, "proxy", *words], capture_output=True, text=True, check=False, timeout=240, env=environment
    )


def test_words_and_exit_code_are_handed_over(tmp_path: Path) -> None:
    program = tmp_path / "gamelane-proxy"
    program.write_text(f'#!{sys.executable}\nimport sys\nprint(*sys.argv[1:], sep="|")\nsys.exit(4)\n')
    program.chmod(0o755)
    done = with_program(program, "near", "near.toml", "--json-log", "--help")
    assert (done.returncode, done.stdout, done.stderr) == (4, "near|near.toml|--json-log|--help\n", "")


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    done = with_program(tmp_path / "nothing", "near", "near.toml")
    assert done.returncode == 2
    assert "no such program" in done.stderr
