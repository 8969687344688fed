"""Real traffic as results: what `gamelane traffic serve|send` recorded, in the tables and reports of a simulation."""

from __future__ import annotations

from dataclasses import replace

from gamelane import host
from gamelane.experiment import Experiment, flows
from gamelane.records import live
from gamelane.records.results import ALONE, Results, RunRecord, Variant

ENGINE = "live"


def results(experiment: Experiment, match: live.Match, *, seed: int, command: tuple[str, ...] = ()) -> Results:
    """Put what the ends recorded beside the scenario they played. Flows that were not sent have no rows."""
    scenario = experiment.scenario
    described = flows(scenario)
    tables = live.frames(match, [flow.name for flow in described], variant=ALONE, variants=[ALONE], seed=seed)
    summary = live.summary(tables, {flow.name: flow.app for flow in described}, seed=seed)
    said = (ONE_END if match.server is None else BOTH_ENDS,)
    played = tuple(replace(flow, caveats=(*flow.caveats, *said)) for flow in described if flow.name in summary["flows"])
    record = RunRecord(seed=seed, cpu_seconds=0.0, events=0, bottleneck_packets=0, summary=summary)
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
        frames=tables,
        host=host.describe(),
        command=command,
    )


ONE_END = (
    "Real packets, as the client saw them: what was lost on the way is not known without the server's file, and "
    "queues are not seen."
)
BOTH_ENDS = "Real packets, as both ends saw them: queues are not seen, and a loss is of the path as a whole."
