"""How VoAP works: where it acts, when it starts, the law as seen at the sender, and the effect of a window."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, cannot_tell, given
from gamelane.claims.palazzi_voap.arms import (
    DOWNLOAD,
    GAME,
    GOODPUT,
    averaged,
    check,
    labelled,
    regular,
    thresholds,
    voap,
)

STEP = 8
STEPPED = voap(step=str(STEP), period="100ms", even="false")
"""The paper's law alone, with a step larger than the noise, and the period of the samples."""
SMALL_KIB, LARGER_KIB = 48, 64
SEGMENT = 1448
BIN_S = 0.1


def prefetched() -> list[Arm]:
    """Return the arms whose summaries the checks below use."""
    return [_alone(arm, window) for arm in (voap(), regular()) for window in (SMALL_KIB, LARGER_KIB)]


def _alone(arm: Arm, kib: int) -> Arm:
    """Return the arm of a download alone, whose receiver offers a window of so many KiB."""
    return arm.with_(
        {f"flow.{GAME}.enabled": "false", "warmup": "0s", f"flow.{DOWNLOAD}.tcp.receive_window": f"{kib}KiB"}
    )


@check("where")
def only_the_gateway(evidence: Evidence, _: Claim) -> Finding:
    before, after = (evidence.document(arm) for arm in (regular(), voap()))
    added = after["gateway"].pop("voap", None)
    lowered = averaged(evidence).values(voap(), "voap.lowered")
    return findings.all_of(
        given(added is not None and before == after, "the two scenarios differ only in gateway.voap"),
        findings.above(lowered, 0, "windows lowered in a run"),
        why="scaled windows, checksums and a right edge that never moves left are tested in crates/stage",
    )


@check("rule")
def rule(evidence: Evidence, claim: Claim) -> Finding:
    alpha, beta = thresholds(evidence, STEPPED)

    def steps(run: _native.Run) -> dict[str, float]:
        tcp, delay = columns(run, "tcp"), columns(run, "delay")
        flight = tcp["in_flight_bytes"][tcp["side"] == "server"] / SEGMENT
        down = delay["direction"] == "down"
        bins = (delay["t_s"][down] / BIN_S).astype(int)
        size = len(flight) + 1
        total = np.bincount(bins, delay["queue_delay_ms"][down], minlength=size)[:size]
        mean = total / np.maximum(np.bincount(bins, minlength=size)[:size], 1)
        first, last = int(evidence.base.warmup_s / BIN_S), len(flight) - 2
        change = np.diff(flight)[first + 1 : last + 1] / STEP  # change in the period after the measured one
        met = mean[first + 1 : last + 1]
        zones = {
            "below alpha": met < alpha,
            "between the two": (met >= alpha) & (met <= beta),
            "above beta": met > beta,
        }
        return {zone: float(np.median(change[there])) for zone, there in zones.items()}

    found = evidence.derived(STEPPED, "steps", steps)

    def zone(name: str) -> Finding:
        moved, wanted = np.array([run[name] for run in found]), claim.theirs[name]
        return findings.between(
            moved, wanted - claim.limits["steps"], wanted + claim.limits["steps"], f"steps after a delay {name}"
        )

    return findings.all_of(
        *map(zone, claim.theirs),
        why=f"median change of the data in flight in the next 100 ms, with a step of {STEP} segments every 100 ms and"
        " even = false. By default our VoAP also evens out the windows of flows (docs/models/voap.md). The paper gives"
        " no step, period or sharing rule",
    )


@check("trigger")
def trigger(evidence: Evidence, claim: Claim) -> Finding:
    arms = {kib: _alone(voap(), kib) for kib in (SMALL_KIB, LARGER_KIB)}
    _, beta = thresholds(evidence, voap())
    longest = max(
        float(evidence.values(arm, f"flows.{DOWNLOAD}.down.queue_delay_ms.max").max()) for arm in arms.values()
    )
    if longest > beta:
        return cannot_tell(f"a packet waited {longest:.1f} ms, longer than beta")
    kept = evidence.values(arms[LARGER_KIB], GOODPUT) / evidence.values(_alone(regular(), LARGER_KIB), GOODPUT)
    return findings.all_of(
        *(
            labelled(f"{kib} KiB", findings.zero(evidence.values(arm, "voap.lowered") - claim.theirs, "ACKs changed"))
            for kib, arm in arms.items()
        ),
        why="the size is the receiver's window, and the download is alone. No packet waited longer than"
        f" {longest:.1f} ms. Until a flow meets a delay above beta, VoAP limits its window to three times its flight"
        " plus ten segments: an advertised window cannot be taken back, and current hosts advertise megabytes."
        f" The goodput is {findings.number(kept, 4)} times that without VoAP",
    )


@check("min")
def send_window(evidence: Evidence, claim: Claim) -> Finding:
    """Compare the flight with each window where that window is the smaller one."""

    def windows(run: _native.Run) -> dict[str, float]:
        tcp = columns(run, "tcp")
        own = tcp["side"] == "server"
        late = tcp["t_s"][own] >= evidence.base.warmup_s
        flight, cwnd = tcp["in_flight_bytes"][own], tcp["cwnd_bytes"][own]
        return {
            "flight": float(flight[late].mean()),
            "cwnd": float(cwnd[late].mean()),
            "beyond": float((flight > cwnd).sum()),
        }

    def of(arm: Arm, key: str) -> Numbers:
        return np.array([run[key] for run in evidence.derived(arm, "windows", windows)])

    small, percent = _alone(regular(), LARGER_KIB), claim.limits["percent"]
    share = 100 * of(small, "flight") / (LARGER_KIB * 1024)
    steered = 100 * of(voap(), "flight") / of(voap(), "cwnd")
    return findings.all_of(
        findings.near(
            100 * of(regular(), "flight") / of(regular(), "cwnd"),
            100,
            percent,
            "% of the congestion window in flight, where the receiver's is 4 MiB",
        ),
        findings.near(share, 100, percent, f"% of a receiver's window of {LARGER_KIB} KiB"),
        labelled("more in flight than the congestion window with VoAP", findings.zero(of(voap(), "beyond"), "samples")),
        why=f"with VoAP the flight is {findings.number(steered)} % of the congestion window, because the lowered window"
        " is the smaller one",
    )
