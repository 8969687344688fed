"""The programs written in Rust that forward or record packets, carry streams, or need microsecond timing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from gamelane.errors import UsageError
from gamelane.interrupts import leave_to_program

TREE = Path(__file__).resolve().parents[2]
IS_TREE = (TREE / "Makefile").exists()
"""Whether this is a source tree, and no installed package."""


@dataclass(frozen=True)
class Program:
    """A program, and the `make` target that builds it."""

    name: str
    target: str

    @property
    def variable(self) -> str:
        """The environment variable that may name it."""
        return self.name.upper().replace("-", "_")

    def become(self, words: list[str]) -> NoReturn:
        """Replace this process by the program."""
        path = self.find()
        sys.stdout.flush()
        leave_to_program()
        os.execv(path, [self.name, *words])

    def find(self) -> Path:
        """Return its path: from its variable, what the package installed, in PATH, or from cargo's target directory."""
        named = os.environ.get(self.variable)
        if named:
            if not _runs(Path(named)):
                raise UsageError(
                    f"{self.variable}={named}: no such program\n"
                    f"  hint:    unset it, or set it to the path of {self.name}"
                )
            return Path(named)
        for candidate in self._candidates():
            if _runs(candidate):
                return candidate
        places = "in this package, in PATH" + (" or in cargo's target directory" if IS_TREE else "")
        remedy = f"build it with `make {self.target}`" if IS_TREE else "install gamelane again"
        raise UsageError(
            f"{self.name}: not found beside this command, {places}\n"
            f"  hint:    {remedy}, or set {self.variable}=/path/to/{self.name}"
        )

    def _candidates(self) -> Iterator[Path]:
        yield Path(sys.executable).with_name(self.name)
        # `pip install --user` and `--target` do not install beside the interpreter.
        with suppress(metadata.PackageNotFoundError):
            yield from (Path(file.locate()) for file in metadata.files("gamelane") or () if file.name == self.name)
        on_path = shutil.which(self.name)
        if on_path:
            yield Path(on_path)
        if not IS_TREE:
            return
        target = Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target"))
        built = [target / profile / self.name for profile in ("release", "debug")]
        # The newest build first: the other profile may be built from older sources.
        yield from sorted(filter(_runs, built), key=lambda path: path.stat().st_mtime, reverse=True)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


PROXY = Program("gamelane-proxy", "proxy")
GATEWAY = Program("gamelane-gateway", "gateway")
IMPAIR = Program("gamelane-impair", "tools")
TRAFFIC = Program("gamelane-traffic", "tools")
CAPTURE = Program("gamelane-capture", "tools")
