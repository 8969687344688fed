"""A case for a guest as files: the job goes in, its record and tables come out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from gamelane import _native
from gamelane.lab.run import Finished, absolute
from gamelane.records.results import RunRecord
from gamelane.runner import Job

JOB, RECORD, ERROR = "job.json", "record.json", "error.json"
TABLES, PCAP = "tables", "pcap"


@dataclass(frozen=True)
class Case:
    """What a guest has to run. `file` is the path of the scenario, and `toml` its text with every default."""

    engine: str
    file: str
    variants: tuple[str, ...]
    flows: tuple[str, ...]
    pcap: bool
    toml: str = ""
    variant: str = ""
    seed: int = 0

    def of(self, job: Job) -> Case:
        """Return the same for another job."""
        toml = absolute(job.scenario.to_toml(), Path(self.file).parent)
        return replace(self, toml=toml, variant=job.variant, seed=job.seed)

    @classmethod
    def read(cls, folder: Path) -> Case:
        """Read what `write` wrote."""
        keys = json.loads((folder / JOB).read_text(encoding="utf-8"))
        return cls(**{**keys, "variants": tuple(keys["variants"]), "flows": tuple(keys["flows"])})

    @property
    def scenario(self) -> _native.Scenario:
        """The scenario."""
        return _native.Scenario.parse(self.toml, self.file, [])

    def write(self, folder: Path) -> None:
        """Write the job, and make the folders for its results."""
        for name in (TABLES, PCAP):
            (folder / name).mkdir()
        (folder / JOB).write_text(json.dumps(asdict(self)), encoding="utf-8")


def write_finished(done: Finished, folder: Path) -> None:
    """Write record and tables. The record comes last: if it is there, all is."""
    for name, frame in done.frames.items():
        frame.write_ipc(folder / TABLES / f"{name}.arrow")
    (folder / RECORD).write_text(json.dumps(asdict(done.record)), encoding="utf-8")


def read_finished(folder: Path) -> Finished | None:
    """Read what `write_finished` wrote; None if the guest did not finish."""
    if not (folder / RECORD).is_file():
        return None
    record = RunRecord(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    tables = {file.stem: pl.read_ipc(file) for file in sorted((folder / TABLES).glob("*.arrow"))}
    return Finished(record, tables)
