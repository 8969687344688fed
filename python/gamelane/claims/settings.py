"""The verdicts on a paper under other values of what it leaves open, as docs/claims/ledger/PAPER-settings.md.

`PAPER/settings.toml` holds the values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from gamelane import _native, experiment
from gamelane.claims import Judgement, Kind, Paper, counted, counts
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.judge import Rows, package, verdict

MARKS: dict[Judgement, str] = {"reproduced": "+", "holds": "+", "differs": "-", "cannot-tell": "?"}


@dataclass(frozen=True)
class Setting:
    """Overrides of the scenario, and limits of queues in place of those of the arms."""

    name: str
    set: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> str:
        """Return the changes in words of the command line."""
        changes = [f"`{key}={value}`" for key, value in self.set.items()]
        return ", ".join(changes + [f"`{old}` as `{new}`" for old, new in self.limits.items()])


@dataclass(frozen=True)
class Settings:
    """The settings of a paper, the first without a change, and the kinds of claims that they can move."""

    paper: str
    kinds: tuple[Kind, ...]
    settings: tuple[Setting, ...]

    @classmethod
    def read(cls, paper: str) -> Settings:
        """Read the settings of a paper."""
        file = resources.files(package(paper)) / "settings.toml"
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        return cls(paper, tuple(found["kinds"]), tuple(Setting(**row) for row in found["setting"]))


class Under(Evidence):
    """Runs of the arms under a setting."""

    def __init__(self, paper: str, setting: Setting, *, repeats: int, threads: int) -> None:
        base = experiment.load(package(paper).SCENARIO).scenario.with_overrides(list(setting.set.items()))
        super().__init__(base, repeats, threads)
        self.setting = setting

    def scenario(self, arm: Arm) -> _native.Scenario:
        """Return the scenario of an arm with the setting's limits."""
        return super().scenario(Arm.of({key: self.setting.limits.get(value, value) for key, value in arm.overrides}))


def judge(of: Settings, setting: Setting, *, repeats: int, threads: int) -> Rows:
    """Return the verdicts under a setting on the claims that it can move."""
    evidence = Under(of.paper, setting, repeats=repeats, threads=threads)
    package(of.paper).prefetch(evidence)
    checks = package(of.paper).check.checks
    claims = [claim for claim in Paper.read(of.paper).claims if claim.kind in of.kinds]
    return [(claim, verdict(claim, checks[claim.id], evidence)) for claim in claims]


def page(paper: str, judged: Sequence[tuple[Setting, Rows]], repeats: int) -> str:
    """Return the page in Markdown: the settings with their counts, then the verdicts that move."""
    numbers = range(len(judged))
    marks = [{claim.id: MARKS[verdict.verdict] for claim, verdict in rows} for _, rows in judged]
    moved = [claim for claim in marks[0] if len({each[claim] for each in marks}) > 1]
    lines = [
        f"# {paper}: settings and verdicts",
        "",
        f"`scripts/claims.py --settings {paper}` writes this page from {repeats} seeds of each setting. A setting"
        f" changes what the paper leaves open and nothing else. [{paper}.md](../{paper}.md) says why the scenario is as"
        " it is.",
        "",
        "| no. | setting | changes | results |",
        "| ---: | --- | --- | --- |",
        *(
            f"| {number} | {setting.name} | {setting.keys} | {counted(counts(rows)['result'])} |"
            for number, (setting, rows) in zip(numbers, judged, strict=True)
        ),
        "",
        f"{len(moved)} of {len(marks[0])} verdicts move. {_others(marks, moved)}",
        "",
        f"| claim | {' | '.join(map(str, numbers))} |",
        f"| --- |{' :---: |' * len(judged)}",
        *(f"| `{claim.removeprefix(f'{paper}.')}` | {' | '.join(each[claim] for each in marks)} |" for claim in moved),
        "",
        "\\+ reproduced or holds, - differs, ? cannot be told. The counts above are those of results.",
    ]
    return "\n".join(lines) + "\n"


def _others(marks: Sequence[Mapping[str, str]], moved: Sequence[str]) -> str:
    still = [mark for claim, mark in marks[0].items() if claim not in moved]
    return f"Of the others {still.count('+')} agree and {still.count('-')} differ under every setting."
