"""docs/today.md: a table for each household, and the sentence to remember."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gamelane import _native, experiment
from gamelane.analysis.fares import Application, Figure, Grade, applications, worst
from gamelane.analysis.stats import estimate
from gamelane.plot.style import number
from gamelane.sweep import plan
from gamelane.sweep.file import read as read_sweep
from gamelane.sweep.records import SweepRecords

from . import pictures

PICTURES = "img"
GAMES, TRANSFERS = "today-games.svg", "today-transfers.svg"
IDENTITY = "<!-- runs: {} -->"
"""Last line of the page: the runs it was made of. A test compares it with the runs of today."""
FIRST = "as-delivered"

HEAD = """# Today: eight households behind six gateways

Who suffers when several people share one link of today, what helps, and what it costs the others. Each household is a
[preset](presets.md): `gamelane run family` runs the first. `python -m bench.today` runs all {runs} simulations and
writes this page.

![The worst-off game of each household behind each gateway]({games})

![What all transfers together get behind each gateway]({transfers})

The gateways (`--policy`):

{policies}

How to read the tables:

- A cell has the mean of {seeds} seeds. Where they differ much, the lowest and the highest follow in brackets. The worst
  flow of a kind speaks for all of its kind.
- Games: 99 % of the round trips are below this; then what is lost. `gamelane presets NAME` shows the limits of a game.
- Calls: the rating of the E-model, 0 to 100; above 80 users are satisfied.
- Video: how much of the time it stands still. Video calls, cameras and live uploads: what is lost. Web: half of the
  pages take longer than this; `none`: no page arrived whole.
- **Good**, *playable*, ▲ degraded, ✖ unplayable.
- Packet sizes of today's games, most buffers and the limits of most games are estimates. Do not rely on a single
  number.
- Calls, cloud games, cameras and live uploads have a fixed rate here. The real ones adapt or drop frames, so they lose
  less.
"""


def title_of(household: str) -> str:
    """Return the title of a household."""
    return next(each["title"] for each in _native.presets() if each["name"] == household)


def page(records: SweepRecords) -> str:
    """Return the page in Markdown."""
    known = {each["name"]: each for each in _native.presets()}
    policies = _values(records, "policy")
    lines = [
        HEAD.format(
            runs=records.planned,
            seeds=len(records.document["seeds"])
            if "seeds" in records.document
            else records.planned // len(records.cells),
            games=f"{PICTURES}/{GAMES}",
            transfers=f"{PICTURES}/{TRANSFERS}",
            policies="\n".join(
                f"- `{name}`: {known[name]['title']}. {known[name]['notes']}".rstrip() for name in policies
            ),
        )
    ]
    for household in _values(records, "household"):
        preset = known[household]
        lines += [f"## {preset['title']}", "", f"*{preset['notes']}* `gamelane run {household}`", ""]
        lines += [*_table(records, household), ""]
        lines += [f"**Remember:** {preset['remember'] or '…'}", ""]
    return "\n".join([*lines, IDENTITY.format(identity()), ""])


def identity() -> str:
    """Return the identity of the sweep's runs: the scenarios, the seeds and the version."""
    return plan.make(read_sweep("today")).identity


@dataclass(frozen=True)
class Fare:
    """One figure of an application in a cell: a value for each seed."""

    figure: Figure
    values: Sequence[float | None]

    @cached_property
    def mean(self) -> float | None:
        """Return the mean over the seeds that have a value."""
        return estimate(self.values).mean

    @cached_property
    def grade(self) -> Grade | None:
        """Return the grade of the mean. A seed in which nothing arrived decides alone."""
        return self.figure.grade(None if None in self.values else self.mean)

    def text(self) -> str:
        """Return the mean; with the lowest and the highest value if these differ much."""
        if self.mean is None:
            return "none"
        known = [value for value in self.values if value is not None]
        low, high = min(known), max(known)
        varies = high - low > max(VARIES * abs(self.mean), FINE[self.figure.unit])
        ends = f" ({self._number(low)} to {self._number(high)})" if varies else ""
        return f"{self._number(self.mean)}{ends}"

    def _number(self, value: float) -> str:
        if self.figure.unit.startswith("%"):
            return f"{value:.1f}%"
        if self.figure.unit == "ms":
            return number(value)
        return f"{value:.0f}" if self.figure.unit == "of 100" else f"{value:.1f}"


VARIES = 0.5
"""Seeds that differ by more than this share of their mean, and by more than this, vary much."""
FINE = {"ms": 5.0, "%": 1.0, "% of the time": 1.0, "of 100": 5.0, "s": 0.5, "Mbit/s": 1.0}

Fares = Mapping[Application, Sequence[Fare]]


def write_pictures(records: SweepRecords, folder: Path) -> None:
    """Write both pictures."""
    policies = _values(records, "policy")
    games, transfers = [], []
    for household, policy, fares in _all(records):
        where = {"household": title_of(household), "policy": policy}
        own = [each for of, each in fares.items() if of.kind == "game"]
        late = max((each[0] for each in own), key=lambda fare: (fare.grade or Grade.GOOD, fare.mean or 0.0))
        grade = worst(fare.grade for each in own for fare in each)
        games.append(where | {"text": number(late.mean), "grade": grade.word})
        together = sum(each[0].mean or 0.0 for of, each in fares.items() if of.kind == "transfer")
        transfers.append((household, where, together))
    first = {household: rate for household, where, rate in transfers if where["policy"] == FIRST}
    shares = [
        where | {"share": rate / first[household], "text": f"{rate / first[household]:.0%}"}
        for household, where, rate in transfers
        if first[household]
    ]
    pictures.games(folder / GAMES, games, policies)
    pictures.transfers(folder / TRANSFERS, shares, policies)


def _all(records: SweepRecords) -> Iterator[tuple[str, str, Fares]]:
    for household in _values(records, "household"):
        for policy, fares in _of(records, household).items():
            yield household, policy, fares


def _of(records: SweepRecords, household: str) -> dict[str, Fares]:
    """Return how the applications of a household fare, by policy."""
    scenario = experiment.load(household).scenario
    flows = [(flow["name"], flow["app"], flow["label"]) for flow in scenario.flows()]
    members = applications(flows, scenario.duration_s - scenario.warmup_s)
    return {
        cell.values["policy"]: {
            of: [
                Fare(figure, [figure.of(run, records.metrics, of.flows) for run in cell.runs]) for figure in of.figures
            ]
            for of in members
        }
        for cell in records.cells
        if cell.values["household"] == household
    }


def _values(records: SweepRecords, axis: str) -> list[str]:
    return list(dict.fromkeys(cell.values[axis] for cell in records.cells))


def _table(records: SweepRecords, household: str) -> list[str]:
    by_policy = _of(records, household)
    columns = list(next(iter(by_policy.values())))
    heads = ["gateway", *(_head(of) for of in columns)]
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(columns)]
    for policy, fares in by_policy.items():
        lines.append("| " + " | ".join([f"`{policy}`", *(_cell(fares[of]) for of in columns)]) + " |")
    return lines


HEADS = {"round trip 99 %": "ms", "rating of the call": "rating", "page, median": "page, s"}


def _head(of: Application) -> str:
    many = f"{len(of.flows)} " if len(of.flows) > 1 else ""
    figure = of.figures[0]
    unit = "Mbit/s" if figure.unit == "Mbit/s" else HEADS.get(figure.heading, figure.heading)
    return f"{many}{of.title}, {unit}"


def _cell(fares: Sequence[Fare]) -> str:
    first, *others = fares
    lost = [f"{fare.text()} lost" for fare in others if (fare.mean or 0.0) >= (fare.figure.only_from or 0.0)]
    text = ", ".join([first.text(), *lost])
    grades = [fare.grade for fare in fares if fare.grade is not None]
    marks = {Grade.GOOD: "**{}**", Grade.PLAYABLE: "*{}*", Grade.DEGRADED: "▲ {}", Grade.UNPLAYABLE: "✖ {}"}
    return marks[worst(grades)].format(text) if grades else text
