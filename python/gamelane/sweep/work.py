"""Makes one run of a sweep, on any thread or machine. Input and output are small and can be pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gamelane import _native
from gamelane.analysis.boxes import box
from gamelane.catalogue import INTERACTIVE
from gamelane.sweep.journal import Done


@dataclass(frozen=True)
class Base:
    """The scenario that a sweep varies, as its file has it."""

    text: str
    file: str


@dataclass(frozen=True)
class Job:
    """One run to make."""

    id: str
    overrides: tuple[tuple[str, str], ...]
    seed: int


@dataclass(frozen=True)
class Failed:
    """A run that failed, and why: a bug in gamelane, or a file that the worker cannot read."""

    id: str
    why: str


def make(base: Base, job: Job, cancel: _native.Cancel | None = None) -> Done | Failed:
    """Make a run. Raises only if it is cancelled."""
    try:
        scenario = _native.Scenario.parse(base.text, base.file, list(job.overrides))
        run = _native.run(scenario, job.seed, cancel=cancel)
        return _done(job, scenario, run)
    except _native.Cancelled:
        raise
    except Exception as error:
        return Failed(job.id, f"{type(error).__name__}: {error}")
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return Failed(job.id, f"the simulator stopped: {error}")


def _done(job: Job, scenario: _native.Scenario, run: _native.Run) -> Done:
    summary: dict[str, Any] = json.loads(run.summary_json())
    del summary["seed"]
    _add_boxes(summary, scenario, run)
    return Done(job.id, job.seed, run.cpu_seconds, run.events, summary)


def _add_boxes(summary: dict[str, Any], scenario: _native.Scenario, run: _native.Run) -> None:
    """Add the box plot of each interactive flow's RTT, which the quantiles of the summary do not determine."""
    wanted = [flow["name"] for flow in scenario.flows() if flow["app"] in INTERACTIVE]
    if not wanted:
        return
    rows = pl.DataFrame(run.table("rtt")).filter(pl.col("t_s") >= scenario.warmup_s)
    for name in wanted:
        summary["flows"][name]["rtt_box_ms"] = _five(rows.filter(pl.col("flow") == name)["rtt_ms"].to_numpy())


def _five(samples: np.ndarray[Any, np.dtype[np.float64]]) -> Mapping[str, float | int | None]:
    if not len(samples):
        return dict.fromkeys(("min", "low", "lower", "median", "upper", "high")) | {"outliers": 0}
    of = box(samples)
    numbers = {"min": samples.min(), "low": of.low, "lower": of.lower_hinge, "median": of.median}
    numbers |= {"upper": of.upper_hinge, "high": of.high}
    return {name: float(number) for name, number in numbers.items()} | {"outliers": len(of.outliers)}
