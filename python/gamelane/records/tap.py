"""Results of a gateway's recording (`gamelane gateway run --tap DIR`): the tables of every engine, by conversation.

The recording is replayed, or read if it is of Linux's queues. What passed is handed to the recorder. A packet is sent
when it comes to the gateway, and has arrived when it leaves.
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
        run, duration_s, ended, (policy, question, hashed, text) = _native.tapped(str(folder))
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordsError(str(error)) from error
    record = RunRecord.of(run)
    caveats = (ONE_POINT,) if ended == "whole" else (ONE_POINT, CUT)
    flows = tuple(Flow(name, own["app"], own["app"], 0.0, caveats) for name, own in record.summary["flows"].items())
    return Results(
        name=policy,
        question=question,
        file=str(file),
        hash=hashed,
        duration_s=duration_s,
        warmup_s=0.0,
        engine=GATEWAY,
        variants=(Variant(ALONE, {}, text, hashed, flows, (record,)),),
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
