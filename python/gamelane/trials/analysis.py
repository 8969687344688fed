"""Analyzes the ratings of a blind trial: mean opinion score of each condition, and sensitivity to delay and loss.

Intervals are 95 %, by Student's t over the ratings of one condition (docs/statistics.md). Ratings of one player are
repeated measures of that player, not a sample of players; the text says so. Sensitivity is the slope of a line through
the ratings along one axis, with the other at zero: points lost per 100 ms, and per 10 % of loss. It holds for the range
that was played only. The opinion scale is ordinal and saturates at its ends, so a rank correlation is shown too.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from scipy import stats as science

from gamelane.analysis.stats import Estimate, estimate, t_quantile
from gamelane.errors import UsageError
from gamelane.plot import images
from gamelane.plot.panels import Chart, Figure, Panel, x_axis
from gamelane.report.series import inline
from gamelane.trials.blind import SCALE, Condition

SCHEMA = 1
ACCEPTABLE = 3.0
"""Fair."""
FEWEST = 3
"""Distinct values that a line needs."""


@dataclass(frozen=True)
class Rating:
    """One answer."""

    player: str
    condition: Condition
    value: int


@dataclass(frozen=True)
class Opinion:
    """All ratings of one condition."""

    delay_ms: float
    loss_percent: float
    ratings: tuple[int, ...]
    opinion: Estimate


@dataclass(frozen=True)
class Sensitivity:
    """How the score changes along one axis, with the other at zero."""

    axis: str
    unit: str
    step: float
    per_step: Estimate
    rank_correlation: float | None
    p_value: float | None
    unacceptable_from: float | None
    """The lowest value from which on every mean score is below fair; None if the score at the largest value is not."""


@dataclass(frozen=True)
class Analysis:
    """The result of a trial."""

    players: tuple[str, ...]
    conditions: tuple[Opinion, ...]
    sensitivities: tuple[Sensitivity, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the document of docs/impair.md."""
        return {
            "schema": SCHEMA,
            "players": list(self.players),
            "conditions": [
                {
                    "delay_ms": each.delay_ms,
                    "loss_percent": each.loss_percent,
                    "ratings": list(each.ratings),
                    "opinion": each.opinion.as_json(),
                }
                for each in self.conditions
            ],
            "sensitivity": {
                each.axis: {
                    "per": f"{each.step:g} {each.unit}",
                    "opinion": each.per_step.as_json(),
                    "rank_correlation": each.rank_correlation,
                    "p_value": each.p_value,
                    "unacceptable_from": each.unacceptable_from,
                }
                for each in self.sensitivities
            },
        }

    def words(self) -> list[str]:
        """Return sentences for what no table shows."""
        said = []
        for each in self.sensitivities:
            if each.per_step.mean is None:
                said.append(f"{each.axis}: too few values were rated to fit its effect")
                continue
            width = f" ± {each.per_step.ci95:.2f}" if each.per_step.ci95 is not None else ""
            limit = (
                "never below fair"
                if each.unacceptable_from is None
                else f"below fair from {each.unacceptable_from:g} {each.unit}"
            )
            said.append(f"{each.axis}: {each.per_step.mean:+.2f}{width} points per {each.step:g} {each.unit}; {limit}")
        who = "one player" if len(self.players) == 1 else f"{len(self.players)} players"
        said.append(f"ratings of {who}: intervals show how consistent these are, not how other players would rate")
        return said


def read(folder: Path) -> list[Rating]:
    """Read every player's log in the folder."""
    ratings = []
    for log in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(log.read_text(encoding="utf-8").splitlines(), 1):
            try:
                entry = json.loads(line)
                value = entry["rating"]
                condition = Condition(float(entry["delay_ms"]), float(entry["loss_percent"]))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"{log}, line {number}: not a rating: {error}") from error
            if value not in SCALE:
                raise UsageError(f"{log}, line {number}: rating {value!r}\n  allowed: 1 to 5")
            ratings.append(Rating(log.stem, condition, value))
    if not ratings:
        raise UsageError(
            f"{folder}: no ratings in this folder\n  hint:    collect some with `gamelane impair trial IF -o {folder}`"
        )
    return ratings


def analyse(ratings: Sequence[Rating]) -> Analysis:
    """Group ratings by condition and fit both axes."""
    by_condition: dict[Condition, list[int]] = defaultdict(list)
    for rating in ratings:
        by_condition[rating.condition].append(rating.value)
    conditions = tuple(
        Opinion(of.delay_ms, of.loss_percent, tuple(values), estimate(values))
        for of, values in sorted(by_condition.items())
    )
    delay = [(of.delay_ms, of) for of in conditions if of.loss_percent == 0]
    loss = [(of.loss_percent, of) for of in conditions if of.delay_ms == 0]
    return Analysis(
        tuple(sorted({rating.player for rating in ratings})),
        conditions,
        (_along("delay", "ms", 100.0, delay), _along("loss", "%", 10.0, loss)),
    )


def _along(axis: str, unit: str, step: float, points: Sequence[tuple[float, Opinion]]) -> Sensitivity:
    x = [value for value, of in points for _ in of.ratings]
    y = [rating for _, of in points for rating in of.ratings]
    below: float | None = None
    for value, of in sorted(points, key=lambda point: point[0], reverse=True):
        if of.opinion.mean is None or of.opinion.mean >= ACCEPTABLE:
            break
        below = value
    if len(points) < FEWEST:
        return Sensitivity(axis, unit, step, Estimate(None, None), None, None, below)
    line = science.linregress(x, y)
    freedom = len(x) - 2
    half = t_quantile(freedom) * float(line.stderr) * step if freedom > 0 else None
    varied = len(set(y)) > 1
    ranks = science.spearmanr(x, y) if varied else None
    return Sensitivity(
        axis,
        unit,
        step,
        Estimate(float(line.slope) * step, half),
        None if ranks is None else float(ranks.statistic),
        None if ranks is None else float(ranks.pvalue),
        below,
    )


def draw(found: Analysis, folder: Path) -> list[Path]:
    """Draw the result as PNG and SVG."""
    panels = [
        Panel(
            _opinions([of for of in found.conditions if of.loss_percent == 0], "delay_ms", "ms"),
            "added RTT, no loss",
        ),
        Panel(
            _opinions([of for of in found.conditions if of.delay_ms == 0], "loss_percent", "%"),
            "loss in each direction, no delay",
        ),
    ]
    both = [of for of in found.conditions if of.delay_ms and of.loss_percent]
    if both:
        panels.append(Panel(_grid(found.conditions), "mean opinion score of each pair"))
    figure = Figure("opinion", "Mean opinion score, 5 excellent to 1 bad", "With 95 % intervals.", tuple(panels), ())
    return images.write([figure], folder / "figures")


def _opinions(of: Sequence[Opinion], key: str, unit: str) -> Chart:
    rows = pl.DataFrame(
        [
            {
                "x": getattr(each, key),
                "y": each.opinion.mean,
                "low": max(1.0, (each.opinion.mean or 0) - (each.opinion.ci95 or 0)),
                "high": min(5.0, (each.opinion.mean or 0) + (each.opinion.ci95 or 0)),
            }
            for each in of
        ],
        schema={"x": pl.Float64, "y": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )
    base = alt.Chart(inline(rows)).encode(x=x_axis("x", unit))
    opinion = alt.Y("y:Q", title=None, scale=alt.Scale(domain=[1, 5]), axis=alt.Axis(values=list(SCALE)))
    bars = base.mark_rule(color="$muted").encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    line = base.mark_line(point=True, color="$blue").encode(y=opinion)
    chart: Chart = alt.layer(bars, line).properties(height=220)
    return chart


def _grid(of: Sequence[Opinion]) -> Chart:
    rows = pl.DataFrame(
        [{"delay": each.delay_ms, "loss": each.loss_percent, "opinion": each.opinion.mean} for each in of]
    )
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("delay:O", title="ms"), y=alt.Y("loss:O", title="%", sort="descending")
    )
    cells = base.mark_rect().encode(
        color=alt.Color("opinion:Q", scale=alt.Scale(domain=[1, 5], range=["$orange", "$paper"]), legend=None)
    )
    chart: Chart = alt.layer(
        cells, base.mark_text(color="$ink").encode(text=alt.Text("opinion:Q", format=".1f"))
    ).properties(height=220)
    return chart
