"""What no run decides: people, other papers and servers of 2016. Each verdict names what would decide it."""

from __future__ import annotations

from gamelane.claims import Claim
from gamelane.claims.collom2016.arms import check
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, cannot_tell
from gamelane.claims.register import Check

TRIAL = (
    "24 players, each on one machine with `gamelane impair trial IF --player NAME --repeat 2 -o trial` (28 minutes),"
    " then `gamelane impair analyze trial`. It holds if"
)
"""The trial of docs/claims/collom2016.md. The condition follows."""

DECIDED_BY = {
    **dict.fromkeys(
        ("t1.sydney", "t1.california", "t1.washington", "t1.london"),
        "a ping from Melbourne to this server of 2016; only its value can be used, as link.rtt",
    ),
    "lan-rtt": "pings in many homes; the paper makes a general remark",
    "qoe.wc3": "players of Warcraft III under round trips of up to a second, as in [17]",
    **dict.fromkeys(
        ("qoe.ut.loss", "qoe.ut.shoot", "qoe.ut.move"),
        "players of Unreal Tournament 2003 who shoot and move under set delays and losses, as in [7]",
    ),
    **dict.fromkeys(
        ("qoe.q3.lat", "qoe.q3.loss"),
        "players of Quake III in a blind trial, as in [21]; `gamelane impair trial --grid full` sets such conditions",
    ),
    "qoe.mmo": "lengths of sessions of a running online game, with the latency, loss and jitter of each, as in [9]",
    "qoe.jitter": "a trial that varies jitter at constant latency; `gamelane impair set --set jitter=5ms` can set it",
    "qoe.serverchoice": "a list of two servers that differ in latency only, and which of them players join, as in [2]",
    "live.delay": f"{TRIAL} the mean opinion falls from 0 to 50 ms (its 95 % interval over players excludes zero), does"
    " not fall from 0 to 25 ms by half a point, and at 200 ms is at most 2 (poor)",
    "live.loss": f"{TRIAL} the mean opinion at 1, 3, 5 and 10 % of loss is less than half a point below that at 0 (95 %"
    " interval over players), and at 20 % it is lower than at 0",
    "live.latency-over-loss": f"{TRIAL} the mean opinion falls more from 0 to 200 ms than from 0 to 40 % of loss"
    " (paired by player, the 95 % interval of the difference excludes zero)",
}


def _undecided(by: str) -> Check:
    def judge_it(_: Evidence, __: Claim) -> Finding:
        return cannot_tell(f"decided by {by}")

    return judge_it


for _name, _by in DECIDED_BY.items():
    check(_name)(_undecided(_by))
