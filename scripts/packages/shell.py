"""Commands, and words for the person who waits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is built, and how long it took."""
    say(f"builds {what}")
    began = time.monotonic()
    yield
    say(f"  {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(f"{text}\n")


def read(*words: str | Path) -> str:
    """Return what a command prints. If it fails, so does this program."""
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"dist: `{' '.join(map(str, words))}` failed (see above)")
    return done.stdout.strip()


def run(words: Sequence[str | Path], folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Run a command. If it fails, so does this program."""
    done = subprocess.run(words, cwd=folder, env=environment, check=False)
    if done.returncode:
        sys.exit(f"dist: `{' '.join(map(str, words))}` failed (see above)")
