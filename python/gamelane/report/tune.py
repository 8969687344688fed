"""Presents the result of a search: text for the terminal, and JSON."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane import _native, quantity
from gamelane.analysis.metrics import Metric
from gamelane.analysis.stats import Estimate
from gamelane.plot.style import half_width, number
from gamelane.report.sweep.overview import SCALES
from gamelane.sweep.budget import Limit
from gamelane.tune.choose import Trial
from gamelane.tune.objective import over_seeds
from gamelane.tune.parameters import QUEUE, SHAPE, Settings
from gamelane.tune.search import Found

SCHEMA = 2
ROWS = 12
WIDTH = 20
KNEE = "On either side of the knee, a small gain in one goal costs much of the other."


def recommendation(found: Found) -> str:
    """Return the recommendation in sentences."""
    if found.best is not None:
        said = [f"Set {words(found.best.settings)}: {_changes(found, found.best)}.", *_broken_today(found)]
        return " ".join([*said, *caveats(found)])
    tried = len(found.trials)
    said = [
        f"Leave the gateway as it is: none of {tried} settings within the bounds is clearly better."
        if found.front or not found.before.breaks(found.aim)
        else f"None of {tried} settings meets every bound, so none is recommended."
    ]
    if found.unsure is not None:
        runs = len(found.seeds)
        said.append(
            f"But {words(found.unsure.settings)} is better in each of {runs} runs: {_changes(found, found.unsure)}."
            f" {runs} runs are too few to be sure. More may tell: --repeat {3 * runs}."
        )
    forbidden = found.forbidden
    if forbidden is not None:
        said.append(f"In the way: {'; '.join(_told(limit) for limit in forbidden.breaks(found.aim))}.")
        said.append(f"Without that, {words(forbidden.settings)} gives {_changes(found, forbidden)}.")
    return " ".join([*said, *caveats(found)])


def caveats(found: Found) -> list[str]:
    """Return what goes with a recommendation: what the lines do not express, and that no setting was repeated."""
    said = [] if found.is_expressed else ["The lines do not express all of it, and say why."]
    beyond = found.beyond
    if beyond is not None:
        said.append(
            f"Clearly better, but the lines do not express it: {words(beyond.settings)}, which gives "
            f"{_changes(found, beyond)}."
        )
    if len(found.seeds) == 1:
        said.append("Each setting ran once, so no interval is known, and a difference may be chance.")
    return said


def _broken_today(found: Found) -> list[str]:
    """Return a sentence on the bounds that the unchanged gateway breaks."""
    broken = [f"{limit.text} (it has {_value(limit.metric, found.before)})" for limit in found.before.breaks(found.aim)]
    return [f"Today's gateway breaks {'; '.join(broken)}."] if broken else []


def _value(metric: Metric, trial: Trial) -> str:
    return f"{number(shown(metric, trial))} {unit(metric)}".strip()


def over(found: Found) -> str:
    """Return how often each setting ran: `3 seeds`."""
    return f"{len(found.seeds)} seed{'s' if len(found.seeds) > 1 else ''}"


def words(settings: Settings) -> str:
    """Return settings as a person says them: `cake, acks filter, shaped to 19 Mbit/s up, 225 Mbit/s down`."""
    said = [settings[QUEUE]] if QUEUE in settings else []
    for key, value in settings.items():
        name = key.removeprefix("gateway.").removeprefix("*.")
        if key == SHAPE:
            said.append("not shaped" if value == "false" else f"shaped to {_rates(value)}")
        elif name == "autorate" and value != "false":
            said.append("autorate")
        elif key != QUEUE and (name, value) not in LEFT_OUT:
            said.append(f"{name} {BRACKETS.sub('', value).strip()}")
    return ", ".join(said)


BRACKETS = re.compile(r'[][{}"]')
LEFT_OUT = {("acks", "plain"), ("voap", "false"), ("autorate", "false"), ("ingress", "false"), ("wash", "false")}


def _rates(shape: str) -> str:
    rates = tomllib.loads(f"shape = {shape}")["shape"] if shape.startswith("{") else {"": shape}
    return ", ".join(
        f"{number((quantity.parse(rate, 'bit/s') or 0) / 1e6)} Mbit/s {way}" for way, rate in rates.items()
    )


def show(found: Found, lines: list[str], console: Console) -> None:
    """Print the recommendation, the front, the bounds, and the lines that put it into effect."""
    console.print(Text(recommendation(found), style="bold"))
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for goal in found.aim.goals:
        table.add_column(f"{goal.text}\n{unit(goal.metric)}", justify="right", max_width=WIDTH)
    table.add_column()
    table.add_column("settings")
    shown = list(found.front[:ROWS])
    if found.best is not None and found.best not in shown:
        shown.insert(0, found.best)
    for trial in [found.before, *shown]:
        style = "bold" if trial is found.best else "dim" if trial is found.before else ""
        cells = [cell(of, goal.metric) for of, goal in zip(trial.goals(found.aim), found.aim.goals, strict=True)]
        table.add_row(*cells, _mark(found, trial), words(trial.settings) or "unchanged", style=style)
    console.print(table)
    marked = {_mark(found, trial) for trial in shown}
    notes = [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if any(mark in each for each in marked)]
    if len(found.front) > ROWS:
        notes.append(f"and {len(found.front) - ROWS} more")
    if notes:
        console.print(Text("; ".join(notes), style="dim"))
    console.print()
    kept = sum(not trial.breaks(found.aim) for trial in found.trials)
    tried = f"{len(found.trials)} settings tried over {over(found)}, {kept} meet every bound:"
    console.print(Text(tried, style="dim"))
    for limit in found.aim.bounds:
        console.print(Text(f"  {_told(limit)}", style="dim"))
    if lines:
        console.print()
        for line in lines:
            console.print(Text(line), soft_wrap=True)


MARKS = {"*": "recommended", "k": "knee: on either side, a small gain in one goal costs much of the other"}


def _mark(found: Found, trial: Trial) -> str:
    return ("*" if trial is found.best else "") + ("k" if trial is found.knee else "")


def document(found: Found, recipes: dict[str, _native.Recipe]) -> dict[str, Any]:
    """Return the JSON of `gamelane tune` (docs/json-schema.md)."""
    return {
        "schema": SCHEMA,
        "goals": [goal.text for goal in found.aim.goals],
        "bounds": [{"bound": limit.text, "why": limit.why} for limit in found.aim.bounds],
        "seeds": list(found.seeds),
        "before": _trial(found, found.before),
        "best": None if found.best is None else _trial(found, found.best),
        "beyond": None if found.beyond is None else _trial(found, found.beyond),
        "knee": None if found.knee is None else _trial(found, found.knee),
        "front": [_trial(found, trial) for trial in found.front],
        "trials": [_trial(found, trial) for trial in found.trials],
        "recommendation": recommendation(found),
        "apply": {target: _lines(recipe) for target, recipe in recipes.items()},
    }


def _lines(recipe: _native.Recipe) -> dict[str, Any]:
    return {
        "matches": recipe.matches,
        "unsaid": recipe.unsaid,
        "edit": recipe.edit,
        "undo": recipe.undo,
        "apply": recipe.apply,
    }


def factor(metric: Metric) -> float:
    """Return what a metric is multiplied by to show it."""
    return SCALES.get(metric.unit, (1.0, metric.unit))[0]


def unit(metric: Metric) -> str:
    """Return the unit in which a metric is shown."""
    return SCALES.get(metric.unit, (1.0, metric.unit))[1]


def shown(metric: Metric, trial: Trial) -> float | None:
    """Return the mean of a metric over the seeds of a trial, in the unit in which it is shown."""
    mean = over_seeds(metric, trial.rows).mean
    return None if mean is None else mean * factor(metric)


def cell(of: Estimate, metric: Metric) -> str:
    """Return a mean with its interval, in the unit in which the metric is shown."""
    if of.mean is None:
        return "n/a"
    scaled = Estimate(of.mean * factor(metric), None if of.ci95 is None else of.ci95 * factor(metric))
    half = half_width(scaled)
    return f"{number(scaled.mean)}{f' ± {half}' if half else ''}"


def _changes(found: Found, trial: Trial) -> str:
    changes = []
    for index, goal in enumerate(found.aim.goals):
        before, after = (_words(each.goals(found.aim)[index], goal.metric) for each in (found.before, trial))
        if before == after:
            changes.append(f"{goal.metric.name} stays {after} {unit(goal.metric)}")
            continue
        sure = "" if len(found.seeds) == 1 or found.change(trial, index).clear else " (no clear change)"
        changes.append(f"{goal.metric.name} {before} → {after} {unit(goal.metric)}{sure}")
    return "; ".join(changes)


def _told(limit: Limit) -> str:
    return f"{limit.text} ({limit.why})" if limit.why else limit.text


def _trial(found: Found, trial: Trial) -> dict[str, Any]:
    of = trial.goals(found.aim)
    return {
        "number": trial.number,
        "settings": trial.settings,
        "goals": {goal.metric.name: each.as_json() for goal, each in zip(found.aim.goals, of, strict=True)},
        "broken": [limit.text for limit in trial.breaks(found.aim)],
    }


def _words(of: Estimate, metric: Metric) -> str:
    return number(None if of.mean is None else of.mean * factor(metric))
