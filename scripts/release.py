#!/usr/bin/env python3
"""Prepares a release: `release.py prepare 0.2.0` commits the version; `release.py notes 0.2.0` prints what is new.

When the commit is on main, the workflow `release` builds it, tests what it built, and tags it.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

VERSION = re.compile(r"\d+\.\d+\.\d+")
WORKSPACE = re.compile(r'(?m)(?<=^version = ")[^"]+')
UNRELEASED = "## Unreleased\n"


def prepare(version: str) -> None:
    """Write the version into Cargo.toml, Cargo.lock and CHANGELOG.md, and commit."""
    if not VERSION.fullmatch(version):
        sys.exit(f"release: {version}: no version\n  allowed: three numbers, such as 0.2.0")
    if _git("status", "--porcelain"):
        sys.exit("release: files have changed\n  hint:    commit them first")
    if version in _sections():
        sys.exit(f"release: CHANGELOG.md has a section {version} already")
    if not _sections()["Unreleased"].strip():
        sys.exit("release: CHANGELOG.md says nothing under Unreleased")
    cargo, changelog = Path("Cargo.toml"), Path("CHANGELOG.md")
    cargo.write_text(WORKSPACE.sub(version, cargo.read_text(), count=1))
    subprocess.run(["cargo", "update", "--quiet", "--workspace"], check=True)
    today = datetime.datetime.now(datetime.UTC).date()
    heading = f"{UNRELEASED}\n## {version} ({today})\n"
    changelog.write_text(changelog.read_text().replace(UNRELEASED, heading, 1))
    _git("commit", "--quiet", "-m", f"release: {version}", "Cargo.toml", "Cargo.lock", "CHANGELOG.md")


def notes(version: str) -> None:
    """Print the section of a version."""
    if version not in _sections():
        sys.exit(f"release: CHANGELOG.md has no section {version}\n  hint:    scripts/release.py prepare {version}")
    sys.stdout.write(_sections()[version].strip() + "\n")


def _sections() -> dict[str, str]:
    """Return the sections of CHANGELOG.md by version."""
    parts = re.split(r"(?m)^## (\S+).*\n", Path("CHANGELOG.md").read_text())
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    """Do what was asked, in the folder of the repository."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("what", choices=["prepare", "notes"])
    arguments.add_argument("version")
    given = arguments.parse_args()
    (prepare if given.what == "prepare" else notes)(given.version)


if __name__ == "__main__":
    main()
