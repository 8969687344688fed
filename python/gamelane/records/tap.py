"""Results of a gateway's recording (`gamelane gateway run --tap DIR`): the tables of every engine, by conversation.

The recording is replayed, and what passed is handed to the recorder. A packet is sent when it comes to the gateway, and
has arrived when it leaves.
"""

from __future__ import annotations

import json
from pathlib import Path

from gamelane import _native, host
from gamelane.errors import RecordsError
from gamelane.records.frames import frames
from gamelane.records.results import ALONE, GATEWAY, Flow, Results, RunRecord, Variant

ABOUT = "tap.json"


def read(folder: Path) -> Results:
    """Replay and read the recording in a folder."""
    file = folder / "policy-0000.toml"
    try:
        run, duration_s, ended = _native.tapped(str(folder))
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        overrides = [(key, value) for key, value in about["overrides"]]
        scenario = _native.Scenario.parse(file.read_text(encoding="utf-8"), str(file), overrides)
    except (OSError, ValueError) as error:
        raise RecordsError(str(error)) from error
    record = RunRecord.of(run)
    caveats = (ONE_POINT,) if ended == "whole" else (ONE_POINT, CUT)
    flows = tuple(Flow(name, own["app"], own["app"], 0.0, caveats) for name, own in record.summary["flows"].items())
    return Results(
        name=scenario.name,
        question=scenario.question,
        file=str(file),
        hash=scenario.hash,
        duration_s=duration_s,
        warmup_s=0.0,
        engine=GATEWAY,
        variants=(Variant(ALONE, {}, scenario.to_toml(), scenario.hash, flows, (record,)),),
        planned_runs=1,
        frames=frames(run, variant=ALONE, variants=[ALONE]),
        host=host.describe(),
        gamelane=about["version"],
    )


ONE_POINT = (
    "Real packets, seen at one gateway: delays are those in its queues; the path beyond it, round trips between the "
    "hosts, and losses elsewhere are not visible."
)
CUT = "The recording ends before the gateway did."
