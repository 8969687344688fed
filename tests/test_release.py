"""A release is prepared by `scripts/release.py`: version, lock file and changelog agree."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.needs import needs

ROOT = Path(__file__).parents[1]
pytestmark = needs(shutil.which("cargo"), "needs cargo")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path], check=True)
    for key, value in {"user.name": "test", "user.email": "test@localhost"}.items():
        subprocess.run(["git", "-C", tmp_path, "config", key, value], check=True)
    # As it stands here, not as it was committed.
    shutil.copy(ROOT / "scripts/release.py", tmp_path / "scripts")
    # In a release itself, nothing is unreleased.
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- Something.\n", 1))
    subprocess.run(["git", "-C", tmp_path, "add", "scripts/release.py", "CHANGELOG.md"], check=True)
    subprocess.run(["git", "-C", tmp_path, "commit", "-q", "-m", "something"], check=True)
    return tmp_path


def release(clone: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [clone / "scripts/release.py", *words], cwd=clone, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_release_has_one_version_everywhere_and_its_notes(clone: Path) -> None:
    unreleased = (clone / "CHANGELOG.md").read_text().split("## Unreleased\n")[1].split("\n## ")[0].strip()
    release(clone, "prepare", "17.0.1")
    cargo = tomllib.loads((clone / "Cargo.toml").read_text())
    assert cargo["workspace"]["package"]["version"] == "17.0.1"
    lock = tomllib.loads((clone / "Cargo.lock").read_text())["package"]
    assert {each["version"] for each in lock if each["name"].startswith("gamelane-")} == {"17.0.1"}
    before = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    others = [each for each in lock if not each["name"].startswith("gamelane-")]
    assert others == [each for each in before if not each["name"].startswith("gamelane-")]
    assert release(clone, "notes", "17.0.1").strip() == unreleased
    log = subprocess.run(["git", "log", "-1", "--format=%s"], cwd=clone, capture_output=True, text=True, check=True)
    assert log.stdout == "release: 17.0.1\n"
    assert "nothing under Unreleased" in release(clone, "prepare", "17.0.2", code=1)


def test_what_cannot_be_released_is_refused(clone: Path) -> None:
    assert "no version" in release(clone, "prepare", "next", code=1)
    assert "no section 17.0.1" in release(clone, "notes", "17.0.1", code=1)
    (clone / "README.md").write_text("changed")
    assert "commit them first" in release(clone, "prepare", "17.0.1", code=1)
