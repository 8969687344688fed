"""What games, calls, video and transfers need: the goals and bounds of a search that was given none.

Bounds of games, calls and video follow from their needs. A transfer is due the lower of today's goodput and the one
behind FQ-CoDel. No bound rules out every setting: if neither gateway meets the need of a game or a call, the better of
the two is the bound, and a video need not stand still less than behind FQ-CoDel.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gamelane import _native
from gamelane.analysis.metrics import Metric, find, metrics
from gamelane.catalogue import INTERACTIVE, group
from gamelane.errors import UsageError
from gamelane.sweep.budget import Limit
from gamelane.tune import known, objective
from gamelane.tune.objective import Aim, Goal, Row, Wishes, over_seeds
from gamelane.tune.search import Runner

GAME_LOSS = 0.01
"""Loss above which a shooter is no longer good (`quality.grade`)."""
CALL_RATING = 80.0
"""Rating of a call from which users are satisfied (ITU-T G.107, annex B)."""
STALLED = 0.01
"""Share of the time that a video may stand still (our choice)."""
SLACK = 0.1
"""How much worse than the better of the two gateways a setting may be if neither meets a need."""
VIDEO = "dash"
NOT_MET = "near the better of today and FQ-CoDel: neither meets the need"


@dataclass(frozen=True)
class Reference:
    """Results by seed of two gateways: today's, and FQ-CoDel's, which gives each flow a fair share."""

    known: Mapping[str, Metric]
    today: Sequence[Row]
    fair: Sequence[Row]

    def means(self, metric: Metric) -> tuple[float, float]:
        """Return the mean of a metric for both; 0 if it has none."""
        today, fair = (over_seeds(metric, rows).mean or 0.0 for rows in (self.today, self.fair))
        return today, fair


def aim(runner: Runner, wishes: Wishes, cost: float) -> Aim:
    """Return the goals and bounds that a person wrote. Those of `usual` stand in for what was not written."""
    today, fair = runner.rows([{}, known.fair(runner.scenario)])
    names = metrics(column for column, value in today[0].items() if value is None or isinstance(value, (int, float)))
    is_whole = wishes.goals and wishes.bounds
    stand_ins = Aim((), ()) if is_whole else usual(runner.scenario, Reference(names, today, fair), cost)
    return objective.aim(names, wishes, stand_ins)


def usual(scenario: _native.Scenario, reference: Reference, cost: float) -> Aim:
    """Return goals and bounds for the flows of a scenario.

    Transfers may lose the share `cost` of what they are due: the less of what they get today and behind FQ-CoDel.
    """
    bounds = []
    dues: dict[Metric, float] = {}
    for flow in scenario.flows():
        name, app = flow["name"], flow["app"]
        if app in INTERACTIVE:
            bounds += _of_a_call(name, reference) if group(app) == "call" else _of_a_game(name, reference)
            continue
        goodput = reference.known.get(f"{name}.goodput")
        due = min(reference.means(goodput)) if goodput else 0.0
        if goodput and due:
            dues[goodput] = due
        if app == VIDEO:
            bounds += _of_a_video(name, (scenario.duration_s - scenario.warmup_s) * STALLED, reference)
        elif goodput and due:
            bounds.append(_of_a_transfer(goodput, due, cost, reference))
    return Aim(_goals(scenario, reference.known, dues), tuple(bounds))


def shortage(dues: Sequence[float], goodputs: Sequence[float | None]) -> float:
    """Return the share that each flow lacks of what it is due, as a mean over the flows."""
    return statistics.fmean(max(0.0, 1 - (got or 0.0) / due) for due, got in zip(dues, goodputs, strict=True))


def _goals(scenario: _native.Scenario, known: Mapping[str, Metric], dues: Mapping[Metric, float]) -> tuple[Goal, ...]:
    delays = [f"{flow['name']}.rtt" for flow in scenario.flows() if flow["app"] in INTERACTIVE]
    delays = [name for name in delays if f"p99({name})" in known]
    if not delays:
        raise UsageError(
            "this scenario has no game and no call, so tune has no default goal\n"
            "  hint:    give goals: --goal 'min p99(FLOW.rtt)' --goal 'max FLOW.goodput'"
        )
    goals = [Goal(find(f"p99({', '.join(delays)})", known), most=False)]
    if dues:
        columns = tuple(column for metric in dues for column in metric.columns)
        goals.append(Goal(Metric("cost", "share", columns, rule=partial(shortage, tuple(dues.values()))), most=False))
    return tuple(goals)


def _of_a_call(name: str, reference: Reference) -> list[Limit]:
    rating = reference.known.get(f"e_model({name})")
    if rating is None:
        return []
    reached = max(reference.means(rating)) * (1 - SLACK)
    least = min(CALL_RATING, reached)
    why = "users of a call are satisfied" if reached >= CALL_RATING else NOT_MET
    return [Limit(f"{rating.name} >= {least:.3g}", rating, ">=", least, why)]


def _of_a_game(name: str, reference: Reference) -> list[Limit]:
    loss = reference.known.get(f"{name}.loss")
    if loss is None:
        return []
    most, why = GAME_LOSS, "a game plays well"
    reached = min(reference.means(loss)) * (1 + SLACK)
    if reached > GAME_LOSS:
        most, why = reached, NOT_MET
    return [Limit(f"{loss.name} <= {100 * most:.3g}%", loss, "<=", most, why)]


def _of_a_video(name: str, need: float, reference: Reference) -> list[Limit]:
    stalls = reference.known.get(f"{name}.stall")
    if stalls is None:
        return []
    most, why = need, "a video may stand still 1 % of the time"
    _, fair = reference.means(stalls)
    if fair > need:
        most, why = fair * (1 + SLACK), "as behind FQ-CoDel, with which it stands still longer than 1 % of the time"
    return [Limit(f"{stalls.name} <= {most:.3g}s", stalls, "<=", most, why)]


def _of_a_transfer(goodput: Metric, due: float, cost: float, reference: Reference) -> Limit:
    today, fair = reference.means(goodput)
    least = due * (1 - cost)
    of = "what it gets today" if today <= fair else "its share behind FQ-CoDel"
    return Limit(f"{goodput.name} >= {least / 1e6:.3g}mbit", goodput, ">=", least, f"{1 - cost:.0%} of {of}")
