"""What a lab run leaves for its evaluation: samples and reports here, and the captures and records in its folder.

A guest writes it to a file, and the host evaluates it: a guest is slow at computing and has little memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gamelane.lab.messages import Written
from gamelane.lab.reports import Report
from gamelane.lab.sampler import Samples
from gamelane.lab.sockdiag import TcpState

FILE = "observed.json"


@dataclass(frozen=True)
class Observed:
    """Observations of a finished run. Its captures are in the folder of the run (`taps.file`)."""

    began_monotonic_ns: int
    began_unix_ns: int
    taps: Sequence[str]
    """Names of the captures."""
    samples: Samples
    reports: Sequence[Report]
    echoes: Mapping[int, str]
    """Names of the record files of the clients of games and calls, by flow."""
    written: Mapping[int, Written]
    """What games over TCP wrote, by flow."""
    cpu_s: float
    """CPU seconds of all programs of the run. A guest counts none."""

    def write(self, folder: Path) -> None:
        """Write it to `FILE` in `folder`, whole or not at all."""
        partial = folder / f"{FILE}.part"
        partial.write_text(json.dumps(asdict(self)), encoding="utf-8")
        partial.replace(folder / FILE)

    @classmethod
    def read(cls, folder: Path) -> Observed | None:
        """Read what `write` wrote; None if there is nothing."""
        if not (folder / FILE).is_file():
            return None
        keys: dict[str, Any] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        samples = Samples(**keys["samples"])
        samples.tcp = [(at, flow, side, TcpState(**state)) for at, flow, side, state in keys["samples"]["tcp"]]
        return cls(
            **{
                **keys,
                "samples": samples,
                "reports": [Report(**report) for report in keys["reports"]],
                "echoes": {int(flow): name for flow, name in keys["echoes"].items()},
                "written": {int(flow): Written(**written) for flow, written in keys["written"].items()},
            }
        )
