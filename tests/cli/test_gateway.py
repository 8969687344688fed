"""`gamelane gateway` finds the program and hands over to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .command import GAMELANE


def test_words_and_exit_code_are_handed_over(tmp_path: Path) -> None:
    program = tmp_path / "gamelane-gateway"
    program.write_text(f'#!{sys.executable}\nimport sys\nprint(*sys.argv[1:], sep="|")\nsys.exit(5)\n')
    program.chmod(0o755)
    done = subprocess.run(
        [GAMELANE, "gateway", "run", "--lan", "eth1", "--wan", "eth0", "home.toml", "--", "--help", "-h"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "GAMELANE_GATEWAY": str(program)},
    )
    words = "run|--lan|eth1|--wan|eth0|home.toml|--|--help|-h\n"
    assert (done.returncode, done.stdout, done.stderr) == (5, words, "")
