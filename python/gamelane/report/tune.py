"""Presents the result of a search: text for the terminal, JSON, and the Pareto front as a picture."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.analysis.stats import Estimate
from gamelane.apply import Recipe
from gamelane.plot.style import half_width, number
from gamelane.report.figures import Figure, Key, Panel
from gamelane.report.series import inline
from gamelane.report.sweep.overview import SCALES
from gamelane.sweep.metrics import Metric
from gamelane.tune.search import Found, Trial

SCHEMA = 1
ROWS = 12


def recommendation(found: Found) -> str:
    """Return the recommendation as a sentence."""
    if found.best is None:
        return f"None of {len(found.trials)} settings meets every bound, so none is recommended."
    settings = ", ".join(f"{key} = {value}" for key, value in found.best.settings.items())
    changes = []
    for index, goal in enumerate(found.aim.goals):
        before, after = (trial.goals(found.aim)[index] for trial in (found.before, found.best))
        factor, unit = SCALES.get(goal.metric.unit, (1.0, goal.metric.unit))
        of = found.change(index)
        sure = "" if of.clear else " (no clear change)"
        changes.append(f"{goal.metric.name} {_words(before, factor)} → {_words(after, factor)} {unit}{sure}")
    return f"Set {settings}: {'; '.join(changes)}."


def show(found: Found, lines: list[str], console: Console) -> None:
    """Print the recommendation, the front, and the lines that put it into effect."""
    console.print(Text(recommendation(found), style="bold"))
    console.print()
    keys = list(dict.fromkeys(key for trial in found.front for key in trial.settings))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for goal in found.aim.goals:
        unit = SCALES.get(goal.metric.unit, (1.0, goal.metric.unit))[1]
        table.add_column(f"{goal.text}\n{unit}", justify="right", no_wrap=True)
    for key in keys:
        table.add_column(f"\n{key}")
    for trial in [found.before, *found.front[:ROWS]]:
        style = "bold" if trial is found.best else "dim" if trial is found.before else ""
        cells = [_cell(of, goal.metric) for of, goal in zip(trial.goals(found.aim), found.aim.goals, strict=True)]
        words = ["unchanged"] if trial is found.before else [trial.settings.get(key, "") for key in keys]
        table.add_row(*cells, *words, style=style)
    console.print(table)
    if len(found.front) > ROWS:
        console.print(Text(f"and {len(found.front) - ROWS} more", style="dim"))
    console.print()
    kept = sum(not trial.broken(found.aim) for trial in found.trials)
    console.print(
        Text(f"{len(found.trials)} settings tried over {len(found.seeds)} seeds, {kept} meet every bound:", style="dim")
    )
    for limit in found.aim.bounds:
        console.print(Text(f"  {limit.text}", style="dim"))
    if lines:
        console.print()
        for line in lines:
            console.print(Text(line), soft_wrap=True)


def document(found: Found, recipes: dict[str, Recipe]) -> dict[str, Any]:
    """Return the JSON of `gamelane tune` (docs/json-schema.md)."""
    return {
        "schema": SCHEMA,
        "goals": [goal.text for goal in found.aim.goals],
        "bounds": [limit.text for limit in found.aim.bounds],
        "seeds": list(found.seeds),
        "before": _trial(found, found.before),
        "best": None if found.best is None else _trial(found, found.best),
        "front": [_trial(found, trial) for trial in found.front],
        "trials": [_trial(found, trial) for trial in found.trials],
        "recommendation": recommendation(found),
        "apply": {target: recipe.document() for target, recipe in recipes.items()},
    }


def figure(found: Found) -> Figure | None:
    """Return a plot of the trials over the first two goals, with the front; None with a single goal."""
    if len(found.aim.goals) < 2:
        return None
    x, y = found.aim.goals[:2]
    rows = []
    for trial in [*found.trials, found.before]:
        of = trial.goals(found.aim)
        if of[0].mean is None or of[1].mean is None:
            continue
        kind = _kind(found, trial)
        rows.append((of[0].mean * _factor(x.metric), of[1].mean * _factor(y.metric), kind, kind in LARGE))
    rows.sort(key=lambda row: list(COLOURS).index(row[2]), reverse=True)  # recommended on top
    frame = pl.DataFrame(rows, schema=["x", "y", "kind", "large"], orient="row")
    smallest = frame["x"].min()
    log = isinstance(smallest, float) and smallest > 0
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(
            "x:Q",
            title=_axis(x.metric),
            scale=alt.Scale(type="log" if log else "linear", zero=False, nice=False, padding=12),
        ),
        y=alt.Y("y:Q", title=_axis(y.metric), scale=alt.Scale(zero=False)),
    )
    kinds = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    points = base.mark_point(filled=True, opacity=1, stroke="$paper", strokeWidth=0.5).encode(
        color=alt.Color("kind:N", scale=kinds, legend=None),
        size=alt.condition("datum.large == 'true'", alt.value(130), alt.value(40)),
    )
    front = base.transform_filter("datum.kind == 'front' || datum.kind == 'recommended'")
    line = front.mark_line(interpolate="step-after", strokeWidth=1, color="$blue")
    caption = (
        f"{x.text} against {y.text}; mean over {len(found.seeds)} seeds. "
        "The line joins the settings that no other setting beats in both."
    )
    legend = tuple(Key(kind, colour) for kind, colour in COLOURS.items())
    return Figure(
        "pareto",
        "Settings to choose from",
        caption,
        (Panel(alt.layer(line, points).properties(height=300)),),
        legend,
    )


def _kind(found: Found, trial: Trial) -> str:
    if trial is found.before:
        return "unchanged"
    if found.best is not None and trial.settings == found.best.settings:
        return "recommended"
    if any(trial is each for each in found.front):
        return "front"
    return "breaks a bound" if trial.broken(found.aim) else "beaten"


def _trial(found: Found, trial: Trial) -> dict[str, Any]:
    of = trial.goals(found.aim)
    return {
        "number": trial.number,
        "settings": trial.settings,
        "goals": {goal.metric.name: each.as_json() for goal, each in zip(found.aim.goals, of, strict=True)},
        "broken": list(trial.broken(found.aim)),
    }


def _cell(of: Estimate, metric: Metric) -> str:
    factor = _factor(metric)
    if of.mean is None:
        return "n/a"
    scaled = Estimate(of.mean * factor, None if of.ci95 is None else of.ci95 * factor)
    half = half_width(scaled)
    return f"{number(scaled.mean)}{f' ± {half}' if half else ''}"


def _words(of: Estimate, factor: float) -> str:
    return number(None if of.mean is None else of.mean * factor)


def _factor(metric: Metric) -> float:
    return SCALES.get(metric.unit, (1.0, metric.unit))[0]


def _axis(metric: Metric) -> str:
    unit = SCALES.get(metric.unit, (1.0, metric.unit))[1]
    return f"{metric.name}, {unit}" if unit else metric.name


COLOURS = {
    "recommended": "#d55e00",
    "front": "$blue",
    "beaten": "$muted",
    "breaks a bound": "#e6c2b5",
    "unchanged": "$ink",
}
LARGE = ("recommended", "unchanged")
