"""The four tables, row by row: both columns, theirs beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gamelane.claims import Claim, Paper, findings
from gamelane.claims.burriss2006.arms import (
    CELLS,
    ONE_SECOND,
    Column,
    check,
    loss,
    other_readings,
    streams,
    table,
    tcp_arms,
    throughput,
)
from gamelane.claims.evidence import Evidence, Numbers
from gamelane.claims.findings import Finding, all_of, given, number

UNITS = {"loss": "%", "jitter": "ms", "maxia": "ms"}

TRIED: dict[str, dict[str, str]] = {
    "an ACK for each segment": {"tcp.delayed_ack": "off"},
    "Linux's TCP": {"tcp.stack": "linux"},
    "Linux's timer": {"tcp.timer": "linux-6"},
    "3 slots in the modem": {"gateway.modem.limit": "3p"},
    "20 slots": {"gateway.modem.limit": "20p"},
    "a buffer of one second": ONE_SECOND,
    "MAPs 10 ms apart": {"link.docsis.map_interval": "10ms"},
    "5 neighbours with 5 % load": {"link.docsis.modems": "5", "link.docsis.load": "5%"},
    "20 neighbours with 20 % load": {"link.docsis.modems": "20", "link.docsis.load": "20%"},
}
"""Changes of the scenario, one at a time, that could explain a difference."""

NOT_FOUND = "The cause is not found"
JITTER = f"without priority theirs is 3 to 4 times ours. {NOT_FOUND}: see 1t1u.jitter"
LONGEST = f"with priority theirs is longer. {NOT_FOUND}: see 1t1u.maxia"
WHY = {
    "1t1u.loss": "the modem's slots were chosen for the 35 % without priority. 3 and 4 slots pass too",
    "1t1u.jitter": f"without priority theirs is twice ours. {NOT_FOUND}: no change that was tried gives it",
    "2t1u.jitter": JITTER,
    "2t2u.jitter": JITTER,
    "1t2u.loss": "behind a bridge that shapes this modem loses nothing. The bridge's own queue loses packets of the"
    " plain stream",
    "2t1u.loss": f"a second upload hardly changes our loss, and theirs grows by 25 points. {NOT_FOUND}",
    "2t2u.loss": f"without priority theirs is 12 points higher, and with it ours loses nothing. {NOT_FOUND}: see"
    " 2t1u.loss and more-udp-prio",
    "1t1u.maxia": f"with priority theirs is 5 times ours. {NOT_FOUND}: neighbours on the channel give a part of it",
    "2t1u.maxia": LONGEST,
    "1t2u.maxia": "in the longest gaps of the plain stream its wait rises by 0.7 s from one packet to the next: a burst"
    f" of the upload came between. Of the prioritised stream: {NOT_FOUND.lower()}",
    "2t2u.maxia": LONGEST,
}
"""Why a claim has its verdict."""


def value(evidence: Evidence, column: Column, name: str) -> Numbers:
    """Return a row's value in a column."""
    return loss(evidence, column) if name == "loss" else streams(evidence, column)[name]


def judged(findings_: Iterable[Finding], values: Iterable[Numbers], unit: str, why: str = "") -> Finding:
    """Combine the findings of several values, and show all values with their unit."""
    joined = all_of(*findings_)
    shown = f"{', '.join(number(each) for each in values)} {unit}"
    return Finding(joined.outcome, shown, "; ".join(each for each in (joined.why, why) if each))


def _loss(own: Numbers, their: float, claim: Claim) -> Finding:
    share = findings.near(100 - own, 100 - their, claim.limits["arrived"], "% arrived")
    small = claim.limits["small"]
    if their < small:
        return all_of(findings.below(own, small, "%"), share)
    return all_of(findings.near(own, their, claim.limits["percent"], "%"), share)


def _jitter(own: Numbers, their: float, claim: Claim) -> Finding:
    return findings.near(own, their, claim.limits["percent"], "ms")


def _longest(own: Numbers, their: float, claim: Claim) -> Finding:
    factor = claim.limits["factor"]
    return findings.between(own, their / factor, their * factor, "ms")


def _row(cell: str, name: str, rule: Callable[[Numbers, float, Claim], Finding]) -> None:
    @check(f"{cell}.{name}")
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        own = [value(evidence, column, name) for column in table(cell)]
        found = [rule(each, their, claim) for each, their in zip(own, claim.theirs, strict=True)]
        whys = [WHY.get(f"{cell}.{name}", ""), _tried(evidence, cell, name), _other(evidence, cell, name)]
        return judged(found, own, UNITS[name], "; ".join(each for each in whys if each))


def _other(evidence: Evidence, cell: str, name: str) -> str:
    """Return a row's values in the other readings of a table."""
    return _listed("other readings of the table", evidence, other_readings(cell), name)


def _tried(evidence: Evidence, cell: str, name: str) -> str:
    """Return the values with a changed scenario, of the rows that show best what is missing."""
    if f"{cell}.{name}" not in {"1t1u.loss", "1t1u.jitter", "1t1u.maxia", "2t1u.loss"}:
        return ""
    left, right = table(cell)
    changed = {change: (left.with_(keys), right.with_(keys)) for change, keys in TRIED.items()}
    return _listed("changes tried", evidence, changed, name)


def _listed(title: str, evidence: Evidence, columns: Mapping[str, tuple[Column, Column]], name: str) -> str:
    found = []
    for what, pair in columns.items():
        left, right = (number(value(evidence, column, name).mean(keepdims=True)) for column in pair)
        found.append(f"{what}: {left} and {right} {UNITS[name]}")
    return f"{title}: {', '.join(found)}" if found else ""


def _tcp(cell: str) -> None:
    @check(f"{cell}.tcp")
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        own = [throughput(evidence, arm) for arm in tcp_arms(cell)]
        pairs = zip(own, claim.theirs, strict=True)
        return judged(
            (findings.near(each, their, claim.limits["percent"], "kbit/s") for each, their in pairs), own, "kbit/s"
        )


def _signs(cell: str) -> None:
    @check(f"{cell}.signs")
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        before, after = table(cell)
        rows = {
            name: (value(evidence, after, name), value(evidence, before, name), unit) for name, unit in UNITS.items()
        }
        runs = tcp_arms(cell)
        rows["tcp"] = (throughput(evidence, runs[-1]), throughput(evidence, runs[0]), "kbit/s")
        return all_of(
            *(
                findings.less(f"{name} with priority", rows[name][0], "without", rows[name][1], rows[name][2])
                for name in claim.theirs["lower"]
            )
        )


def of_paper(id_: str) -> Any:
    """Return the value of another claim."""
    return next(each for each in Paper.read("burriss2006").claims if each.id == f"burriss2006.{id_}").theirs


def _received(cell: str) -> None:
    @check(f"{cell}.received")
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        sent = claim.limits["sent"]
        follows = [sent * (1 - lost / 100) for lost in of_paper(f"{cell}.loss")]
        return _follows(claim, follows, "packets by their loss", _runs(evidence, cell, "received"))


def _interarrival(cell: str) -> None:
    @check(f"{cell}.ia")
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        follows = [1e3 * claim.limits["seconds"] / received for received in of_paper(f"{cell}.received")]
        return _follows(claim, follows, "ms by their packets received", _runs(evidence, cell, "ia"))


def _runs(evidence: Evidence, cell: str, name: str) -> str:
    return " and ".join(number(streams(evidence, column)[name]) for column in table(cell))


def _follows(claim: Claim, follows: list[float], what: str, runs: str) -> Finding:
    """Judge whether a row of the paper follows from another, and show our runs beside it."""
    allowed = claim.limits["percent"] / 100
    agree = all(abs(one - their) <= allowed * their for one, their in zip(follows, claim.theirs, strict=True))
    shown = ", ".join(f"{each:.5g}" for each in follows)
    why = "" if agree else "two rows of their table contradict each other"
    return given(agree, f"{shown} {what}; our runs {runs}", why)


for _name in CELLS:
    _tcp(_name)
    _row(_name, "loss", _loss)
    _row(_name, "jitter", _jitter)
    _row(_name, "maxia", _longest)
    _received(_name)
    _interarrival(_name)
    _signs(_name)
