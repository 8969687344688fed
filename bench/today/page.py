"""docs/today.md: a table for each household, and the sentence to remember."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path

from gamelane import _native, experiment
from gamelane.plot.style import number
from gamelane.sweep import plan
from gamelane.sweep.file import read as read_sweep
from gamelane.sweep.records import Cell, SweepRecords

from . import pictures
from .verdicts import Grade, Group, Verdict, groups, verdict, worst

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

- A cell has the mean of {seeds} seeds. The worst flow of a kind speaks for all of its kind.
- Games: 99 % of the round trips are below this; then what is lost. `gamelane presets NAME` shows the limits of a game.
- Calls: the rating of the E-model, 0 to 100; above 80 users are satisfied.
- Video: how much of the time it stands still. Video calls, cameras and live uploads: what is lost. Web: half of the
  pages take longer than this.
- **Good**, *playable*, ▲ degraded, ✖ unplayable.
- Packet sizes of today's games, most buffers and the limits of most games are estimates. Do not rely on a single
  number. Behind `autorate` seeds also differ much.
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


def write_pictures(records: SweepRecords, folder: Path) -> None:
    """Write both pictures."""
    policies = _values(records, "policy")
    games, transfers = [], []
    for household, policy, verdicts in _all(records):
        of_games = [one for of, one in verdicts.items() if of.kind == "game"]
        late = max(of_games, key=lambda one: (one.grade or Grade.GOOD, one.number))
        where = {"household": title_of(household), "policy": policy}
        games.append(where | {"text": number(late.number), "grade": worst(of_games).word})
        transfers.append((household, where, sum(one.number for of, one in verdicts.items() if _is_transfer(of))))
    first = {household: bps for household, where, bps in transfers if where["policy"] == FIRST}
    shares = [
        where | {"share": bps / first[household], "text": f"{bps / first[household]:.0%}"}
        for household, where, bps in transfers
        if first[household]
    ]
    pictures.games(folder / GAMES, games, policies)
    pictures.transfers(folder / TRANSFERS, shares, policies)


def _is_transfer(of: Group) -> bool:
    return of.kind == "transfer"


def _all(records: SweepRecords) -> Iterator[tuple[str, str, Mapping[Group, Verdict]]]:
    for household in _values(records, "household"):
        for policy, verdicts in _of(records, household).items():
            yield household, policy, verdicts


def _of(records: SweepRecords, household: str) -> dict[str, dict[Group, Verdict]]:
    """Return the verdicts of a household by policy."""
    scenario = experiment.load(household).scenario
    seconds = scenario.duration_s - scenario.warmup_s
    found = {}
    for cell in _cells(records, household):
        found[cell.values["policy"]] = {of: verdict(records, cell, of, seconds) for of in groups(scenario)}
    return found


def _cells(records: SweepRecords, household: str) -> list[Cell]:
    return [cell for cell in records.cells if cell.values["household"] == household]


def _values(records: SweepRecords, axis: str) -> list[str]:
    return list(dict.fromkeys(cell.values[axis] for cell in records.cells))


def _table(records: SweepRecords, household: str) -> list[str]:
    by_policy = _of(records, household)
    columns = list(next(iter(by_policy.values())))
    heads = ["gateway", *(_head(of) for of in columns)]
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(columns)]
    for policy, verdicts in by_policy.items():
        lines.append("| " + " | ".join([f"`{policy}`", *(_cell(of, verdicts[of]) for of in columns)]) + " |")
    return lines


def _head(of: Group) -> str:
    many = f"{len(of.flows)} " if len(of.flows) > 1 else ""
    unit = {"game": "ms", "call": "rating", "video": "stands still", "web": "page, s"}.get(of.kind)
    unit = unit or ("lost" if of.app == "udp" else "Mbit/s")
    return f"{many}{of.title}, {unit}"


def _cell(of: Group, one: Verdict) -> str:
    if of.kind == "game":
        lost = f", {one.loss:.1%} lost" if one.loss >= 0.001 else ""
        text = f"{number(one.number)}{lost}"
    elif of.kind == "call":
        text = f"{one.number:.0f}"
    elif of.kind == "web":
        text = "none" if isnan(one.number) else f"{one.number / 1e3:.1f}"
    elif of.kind == "video" or of.app == "udp":
        text = f"{one.number:.1%}"
    else:
        text = f"{one.number / 1e6:.1f}"
    marks = {Grade.GOOD: "**{}**", Grade.PLAYABLE: "*{}*", Grade.DEGRADED: "▲ {}", Grade.UNPLAYABLE: "✖ {}"}
    return text if one.grade is None else marks[one.grade].format(text)
