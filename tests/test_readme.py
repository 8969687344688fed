"""The commands of the README run as they stand, from the folder of a fresh clone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
LINES = [line.partition("   #")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
LIMIT_S = 240

ELSEWHERE = ("make ", "sudo ", ".venv/bin/pip install ")
"""Tested elsewhere, need root, or need a network."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the repository, and the environment that `make` makes."""
    folder = tmp_path_factory.mktemp("clone")
    for path in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        first = path.partition("/")[0]
        if not (folder / first).exists():
            (folder / first).symlink_to(ROOT / first)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith(ELSEWHERE)])
def test_a_command_runs(line: str, clone: Path) -> None:
    done = subprocess.run(["bash", "-c", line], cwd=clone, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr


def test_python_runs(clone: Path) -> None:
    (code,) = [block for kind, block in BLOCKS if kind == "python"]
    subprocess.run([sys.executable, "-c", code], cwd=clone, check=True, timeout=LIMIT_S)


def test_every_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [line.split()[1] for line in LINES if line.startswith("make ")]
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_every_page_that_is_named_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("http") or (ROOT / target).exists(), target
