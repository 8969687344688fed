"""A case for a guest as files: the job goes in, and what the guest observed comes out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from gamelane import _native
from gamelane.lab.run import NAMED, absolute
from gamelane.runner import Job

JOB, ERROR = "job.json", "error.json"


@dataclass(frozen=True)
class Case:
    """What a guest has to play. `file` is the path of the scenario, and `toml` its text with every default.

    `exact`: time in the guest is virtual.
    """

    engine: str
    file: str
    toml: str
    seed: int
    exact: bool = True

    @classmethod
    def of(cls, job: Job, engine: str, file: str, *, exact: bool = True) -> Case:
        """Make the case of a job."""
        return cls(engine, file, absolute(job.scenario.to_toml(), Path(file).parent), job.seed, exact)

    @classmethod
    def read(cls, folder: Path) -> Case:
        """Read what `write` wrote."""
        return cls(**json.loads((folder / JOB).read_text(encoding="utf-8")))

    @property
    def scenario(self) -> _native.Scenario:
        """The scenario."""
        return _native.Scenario.parse(self.toml, self.file, [])

    @property
    def named(self) -> list[Path]:
        """The files that the scenario names."""
        return [path for found in NAMED.finditer(self.toml) if (path := Path(found[2])).is_file()]

    def write(self, folder: Path) -> None:
        """Write the job."""
        (folder / JOB).write_text(json.dumps(asdict(self)), encoding="utf-8")
