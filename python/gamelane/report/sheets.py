"""Pages of `gamelane tune` and `gamelane remedies`: a sentence, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamelane.plot.panels import Figure
from gamelane.plot.style import number
from gamelane.remedies import KINDS, PLAIN, Ranking
from gamelane.report import pages, remedies, tune, tune_figure
from gamelane.tune.search import Found


@dataclass(frozen=True)
class Heading:
    """Heading of a column, with its unit."""

    text: str
    unit: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table. The first cell of a row names it; the others are numbers, or text if `is_text`."""

    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    is_text: bool = False


def write_tune(folder: Path, scenario: str, found: Found, commands: Sequence[str]) -> Path:
    """Write `report.html` and `figures/` of a search; return the page."""
    figure = tune_figure.figure(found)
    return write(
        folder,
        [figure] if figure else [],
        made_by="gamelane tune",
        title=f"Settings for {scenario}",
        headline=tune.recommendation(found),
        sheets=searched(found),
        commands=commands,
    )


def searched(found: Found) -> tuple[Sheet, ...]:
    """Return the tables of a search: the settings to choose from, and the bounds."""
    return (_settings(found), *([_bounds(found)] if found.aim.bounds else []))


def write_remedies(folder: Path, ranking: Ranking) -> Path:
    """Write `report.html` and `figures/` of a ranking; return the page."""
    return write(
        folder,
        remedies.figures(ranking),
        made_by="gamelane remedies",
        title=f"Remedies for {ranking.flow} of {ranking.scenario}",
        headline=f"{ranking.order[0]} delivers messages fastest. Mean of {len(ranking.seeds)} runs.",
        sheets=[_remedies(ranking, kind) for kind in KINDS],
    )


def write(folder: Path, drawn: Sequence[Figure], **values: Any) -> Path:
    """Write a page of tables and figures, and the figures as pictures; return the page."""
    return pages.write(folder / "report.html", pages.render("sheets.html", drawn, **values), drawn)


def _settings(found: Found) -> Sheet:
    goals = found.aim.goals
    headings = (
        Heading("settings"),
        Heading("result"),
        *(Heading(goal.text, tune.unit(goal.metric)) for goal in goals),
    )
    best = [found.best] if found.best is not None and found.best not in found.front else []
    rows = (
        (
            tune.words(trial.settings) or "unchanged",
            ", ".join(word for word, of in (("recommended", found.best), ("knee", found.knee)) if trial is of),
            *(tune.cell(of, goal.metric) for of, goal in zip(trial.goals(found.aim), goals, strict=True)),
        )
        for trial in [found.before, *best, *found.front]
    )
    first = ["the unchanged gateway", *(["the recommended setting"] if found.best is not None else [])]
    caption = (
        f"Of {len(found.trials)} settings tried over {tune.over(found)}: {', '.join(first)}, and those that no other "
        f"setting within the bounds beats in every goal. {_interval(found)}"
    )
    if found.knee is not None:
        caption += f" {tune.KNEE}"
    return Sheet("Settings", headings, tuple(rows), caption)


def _interval(found: Found) -> str:
    return "Mean ± 95 % interval." if len(found.seeds) > 1 else "One run each, so no interval."


def _bounds(found: Found) -> Sheet:
    rows = tuple((limit.text, limit.why or "asked for") for limit in found.aim.bounds)
    kept = sum(not trial.breaks(found.aim) for trial in found.trials)
    caption = f"{kept} of {len(found.trials)} settings meet every bound."
    return Sheet("Bounds", (Heading("bound"), Heading("reason")), rows, caption, is_text=True)


def _remedies(ranking: Ranking, kind: str) -> Sheet:
    losses = list(dict.fromkeys(each.loss_percent for each in ranking.measured))
    middle = losses[(len(losses) - 1) // 2]
    headings = (
        Heading("remedy"),
        *(Heading(f"{loss:g} % loss", f"{quantile}, ms") for loss in losses for quantile in ("99 %", "99.9 %")),
        Heading("packets", "%"),
        Heading("bytes", "%"),
    )
    rows = []
    for remedy in ranking.order:
        delays = [
            number(of.mean)
            for loss in losses
            for each in [ranking.at(remedy, kind, loss)]
            for of in (each.delivery_p99_ms, each.delivery_p999_ms)
        ]
        cost = ranking.at(remedy, kind, middle)
        rows.append((remedy, *delays, number(cost.packets_percent.mean), number(cost.bytes_percent.mean)))
    words = remedies.WORDS[kind]
    burst = f", {ranking.burst_packets:g} packets per burst" if kind == "bursts" else ""
    caption = (
        "Delay from write to delivery at the players, by loss rate of the link in each direction; lower is better. "
        f"Packets and bytes at {middle:g} % loss, relative to '{PLAIN}'."
    )
    return Sheet(f"Delay with {words}{burst}", headings, tuple(rows), caption)
