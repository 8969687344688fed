"""Results of real traffic: record files of `gamelane traffic serve|send`, with the tables of a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gamelane import _native, host
from gamelane.errors import RecordsError
from gamelane.experiment import Experiment, flows
from gamelane.records.frames import frames
from gamelane.records.results import ALONE, Results, RunRecord, Variant

ENGINE = "live"


def results(
    experiment: Experiment, client: Path, server: Path | None = None, *, seed: int, command: tuple[str, ...] = ()
) -> Results:
    """Make results of the record files of one or both ends. Flows that were not played have no rows."""
    scenario = experiment.scenario
    try:
        run = _native.played(scenario, seed, str(client), None if server is None else str(server))
    except (OSError, ValueError) as error:
        raise RecordsError(str(error)) from error
    record = RunRecord.of(run)
    caveat = ONE_END if server is None else BOTH_ENDS
    played = tuple(
        replace(flow, caveats=(*flow.caveats, caveat))
        for flow in flows(scenario)
        if flow.name in record.summary["flows"]
    )
    variant = Variant(ALONE, {}, scenario.to_toml(), scenario.hash, played, (record,))
    return Results(
        name=scenario.name,
        question=scenario.question,
        file=experiment.file,
        hash=scenario.hash,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        engine=ENGINE,
        variants=(variant,),
        planned_runs=1,
        frames=frames(run, variant=ALONE, variants=[ALONE]),
        host=host.describe(),
        command=command,
    )


ONE_END = (
    "Real packets, recorded at the client only: losses are unknown without the server's file; queues are not visible."
)
BOTH_ENDS = "Real packets, recorded at both ends: queues are not visible; where a packet was lost is unknown."
