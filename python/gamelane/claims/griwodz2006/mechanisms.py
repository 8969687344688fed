"""What the TCP settings do (sections 3 and 4), seen on the paper's thin streams."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.griwodz2006.arms import AT_100MS, Condition, check, multiplexed, simplex, thin
from gamelane.claims.griwodz2006.readings import because, delays, mean_delay, together
from gamelane.claims.register import Check

FULL_SEGMENT = 1448
LOSSY = Condition(5, 100, 0)
FACK, SACK = (multiplexed(LOSSY, setting) for setting in ("FACK", "SACK"))


@check("var.fack")
def fack(evidence: Evidence, _: Claim) -> Finding:
    more = evidence.beside("four times the runs", times=4)
    return findings.less(
        "mean retransmission delay, multiplexed: FACK",
        mean_delay(more, FACK, "all"),
        "SACK",
        mean_delay(more, SACK, "all"),
        "ms",
        f"four times the runs, at {LOSSY}. The two differ only in what starts a recovery. That a gap of 3 segments"
        " does, and one of 2 does not, is tested in crates/tcp/src/scoreboard/tests.rs",
    )


@check("var.fack-lag")
def fack_lag(evidence: Evidence, claim: Claim) -> Finding:
    fack, sack, reno = (simplex(LOSSY, setting) for setting in ("FACK", "SACK", "New Reno"))
    mean, tail = "down.delivery_ms.mean", "down.delivery_ms.p999"
    return findings.all_of(
        findings.less(
            "mean delivery delay: FACK", thin(evidence, fack, mean), "New Reno", thin(evidence, reno, mean), "ms"
        ),
        findings.near(
            thin(evidence, fack, tail) / thin(evidence, reno, tail),
            1,
            claim.limits["percent"],
            "of New Reno's 99.9 % delivery delay",
        ),
        why="the authors expected this before their test; their figure 2 shows no gain either. Timeouts repair almost"
        f" all losses with each setting. SACK makes the difference, not FACK: with SACK alone the mean is"
        f" {findings.number(thin(evidence, sack, mean))} ms",
    )


@check("var.newreno")
def newreno(evidence: Evidence, claim: Claim) -> Finding:
    smallest = np.array(evidence.derived(simplex(LOSSY, "New Reno"), "least window", _least_window), dtype=float)
    return findings.near(smallest, claim.theirs, 0, f"segment is the smallest window of the servers, at {LOSSY}")


def _least_window(run: _native.Run) -> float:
    rows = columns(run, "tcp")
    windows = rows["cwnd_bytes"][(rows["side"] == "server") & (rows["srtt_ms"] > 0)]
    return float(windows.min()) / FULL_SEGMENT


def _recovers_as_new_reno(setting: str) -> Check:
    def judge(evidence: Evidence, claim: Claim) -> Finding:
        ratios: dict[str, Numbers] = {}
        for block in AT_100MS:
            for number in (1, 2):
                mine, reno = (delays(evidence, simplex(block, s), number, "alone") for s in (setting, "New Reno"))
                ratios[f"{block}, no. {number}"] = mine / reno
        means = [float(np.nanmean(each)) for each in ratios.values()]
        found = together(
            {name: findings.near(each, 1, claim.limits["percent"], "") for name, each in ratios.items()},
            f"{min(means):.4f} to {max(means):.4f} of New Reno's retransmission delay",
        )
        return because(
            found, f"in crates/tcp {setting} changes only the window; recovery and timer are separate fields"
        )

    return judge


check("var.vegas")(_recovers_as_new_reno("Vegas"))
check("var.westwood")(_recovers_as_new_reno("Westwood"))


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    return [FACK, SACK]
