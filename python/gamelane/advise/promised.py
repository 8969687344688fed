"""What an earlier advice promised: the part of `advice.json` that a later measurement is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from gamelane.advise.measured import read_json
from gamelane.analysis.line import Phase

FOLDER, FILE = "advice", "advice.json"


@dataclass(frozen=True)
class Promised:
    """A recommendation with what to expect of it."""

    recommendation: str
    expected: Sequence[Phase]
    schema: Literal[1] = 1


def read(folder: Path) -> Promised | None:
    """Read the advice beside a measurement; None if there is none. Raises RecordsError."""
    file = folder / FOLDER / FILE
    return read_json(file, TypeAdapter(Promised), f"gamelane advise {folder}") if file.exists() else None
