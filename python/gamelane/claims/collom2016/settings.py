"""The verdicts under other values of what the paper leaves open, as docs/claims/ledger/collom2016-settings.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from gamelane import _native, experiment
from gamelane.claims import Judgement, Paper, counted, counts
from gamelane.claims.collom2016 import SCENARIO, check, prefetch
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.judge import Rows, verdict

KINDS = ("result", "fitted")
"""Claims that a setting can move."""
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


def read() -> list[Setting]:
    """Read the settings."""
    text = (resources.files(__package__) / "settings.toml").read_text(encoding="utf-8")
    return [Setting(**row) for row in tomllib.loads(text)["setting"]]


class Under(Evidence):
    """Runs of the arms under a setting."""

    def __init__(self, setting: Setting, *, repeats: int, threads: int) -> None:
        base = experiment.load(SCENARIO).scenario.with_overrides(list(setting.set.items()))
        super().__init__(base, repeats, threads)
        self.setting = setting

    def scenario(self, arm: Arm) -> _native.Scenario:
        """Return the scenario of an arm with the setting's limits."""
        return super().scenario(Arm.of({key: self.setting.limits.get(value, value) for key, value in arm.overrides}))


def judge(setting: Setting, *, repeats: int, threads: int) -> Rows:
    """Return the verdicts under a setting on the claims that it can move."""
    evidence = Under(setting, repeats=repeats, threads=threads)
    prefetch(evidence)
    claims = [claim for claim in Paper.read(SCENARIO).claims if claim.kind in KINDS]
    return [(claim, verdict(claim, check.checks[claim.id], evidence)) for claim in claims]


def page(judged: Sequence[tuple[Setting, Rows]], repeats: int) -> str:
    """Return the page in Markdown: the settings with their counts, then the verdicts that move."""
    numbers = range(len(judged))
    marks = [{claim.id: MARKS[verdict.verdict] for claim, verdict in rows} for _, rows in judged]
    moved = [claim for claim in marks[0] if len({each[claim] for each in marks}) > 1]
    lines = [
        "# collom2016: settings and verdicts",
        "",
        f"`scripts/claims.py --settings` writes this page from {repeats} seeds of each setting. A setting changes what"
        " the paper leaves open and nothing else. [collom2016.md](../collom2016.md) says why the scenario is as it is.",
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
        *(
            f"| `{claim.removeprefix(f'{SCENARIO}.')}` | {' | '.join(each[claim] for each in marks)} |"
            for claim in moved
        ),
        "",
        "\\+ reproduced, - differs, ? cannot be told. `bulk.loss` is no result: it was a reason for the window.",
    ]
    return "\n".join(lines) + "\n"


def _others(marks: Sequence[Mapping[str, str]], moved: Sequence[str]) -> str:
    still = [mark for claim, mark in marks[0].items() if claim not in moved]
    return f"Of the others {still.count('+')} are reproduced and {still.count('-')} differ under every setting."
