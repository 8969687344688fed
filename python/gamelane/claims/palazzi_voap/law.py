"""How VoAP works: the law as seen at the sender, when it starts, and the effect of a window on a sender."""

from __future__ import annotations

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.palazzi_voap.arms import (
    ALPHA,
    BETA,
    DOWNLOAD,
    GAME,
    GOODPUT,
    SECOND,
    check,
    regular,
    voap,
)

STEP = 8
STEPPED = voap(step=str(STEP), period="100ms", even="false")
"""The paper's law alone, with a step larger than the noise, and the period of the samples."""
QUIET = {f"flow.{GAME}.enabled": "false", "warmup": "0s"}
SMALL, LARGER = "48KiB", "64KiB"
VEGAS = regular().with_(
    {f"flow.{GAME}.enabled": "false", f"flow.{SECOND}.enabled": "true", f"flow.{SECOND}.tcp.congestion": "vegas"}
)
SEGMENT = 1448
BIN_S = 0.1


def prefetched() -> list[Arm]:
    """Return the arms whose summaries the checks below use."""
    return [VEGAS, *(_small(arm, window) for arm in (voap(), regular()) for window in (SMALL, LARGER))]


def _small(arm: Arm, window: str) -> Arm:
    return arm.with_(QUIET | {f"flow.{DOWNLOAD}.tcp.receive_window": window})


@check("rule")
def rule(evidence: Evidence, _: Claim) -> Finding:
    def moves(run: _native.Run) -> dict[str, float]:
        tcp, delay = columns(run, "tcp"), columns(run, "delay")
        flight = tcp["in_flight_bytes"][tcp["side"] == "server"] / SEGMENT
        down = delay["direction"] == "down"
        bins = (delay["t_s"][down] / BIN_S).astype(int)
        size = len(flight) + 1
        total = np.bincount(bins, delay["queue_delay_ms"][down], minlength=size)[:size]
        mean = total / np.maximum(np.bincount(bins, minlength=size)[:size], 1)
        first, last = int(evidence.base.warmup_s * 10), len(flight) - 2
        change = np.diff(flight)[first + 1 : last + 1]  # change in the period after the measured one
        met = mean[first + 1 : last + 1]
        return {
            "below": float(np.median(change[met < ALPHA])),
            "between": float(np.median(change[(met >= ALPHA) & (met <= BETA)])),
            "above": float(np.median(change[met > BETA])),
        }

    found = evidence.derived(STEPPED, "moves", moves)
    moved = {zone: np.array([run[zone] for run in found]) for zone in ("below", "between", "above")}
    wanted = {"below": STEP, "between": 0, "above": -STEP}
    return given(
        all(bool(np.all(np.abs(moved[zone] - wanted[zone]) <= 1)) for zone in wanted),
        f"segments in flight in the next 100 ms: {moved['below'].mean():+.1f} after a mean delay below alpha,"
        f" {moved['between'].mean():+.1f} between, {moved['above'].mean():+.1f} above beta (medians)",
        f"this check uses a step of {STEP} every 100 ms. The paper gives no step, period or sharing rule;"
        " docs/claims/palazzi-voap.md says which are robust",
    )


@check("trigger")
def trigger(evidence: Evidence, _: Claim) -> Finding:
    lowered = {window: evidence.values(_small(voap(), window), "voap.lowered") for window in (SMALL, LARGER)}
    longest = max(
        float(evidence.values(_small(voap(), window), f"flows.{DOWNLOAD}.down.queue_delay_ms.max").max())
        for window in lowered
    )
    kept = evidence.values(_small(voap(), LARGER), GOODPUT) / evidence.values(_small(regular(), LARGER), GOODPUT)
    return findings.all_of(
        given(
            longest < BETA and bool(np.all(lowered[SMALL] == 0)),
            f"window {SMALL}: {lowered[SMALL].max():.0f} lowered, no delay above {longest:.1f} ms",
        ),
        given(
            bool(np.all(lowered[LARGER] == 0)),
            f"{LARGER}: {findings.number(lowered[LARGER])} lowered in slow start, goodput"
            f" {findings.number(kept, 4)} times that without VoAP",
            "until a flow meets a delay, its window is limited to three times its flight plus ten segments. This"
            " does not slow down slow start. It is needed because an advertised window cannot be taken back, and"
            " current hosts advertise megabytes",
        ),
    )


@check("min")
def send_window(evidence: Evidence, _: Claim) -> Finding:
    def beyond(run: _native.Run) -> tuple[float, float]:
        tcp = columns(run, "tcp")
        own = tcp["side"] == "server"
        flight, cwnd = tcp["in_flight_bytes"][own], tcp["cwnd_bytes"][own]
        late = tcp["t_s"][own] >= evidence.base.warmup_s
        return float((flight - cwnd).max()), float((flight[late] / cwnd[late]).max())

    steered = np.array(evidence.derived(voap(), "beyond", beyond))
    small = evidence.derived(_small(regular(), LARGER), "flight", _most_in_flight)
    return given(
        bool(np.all(steered[:, 0] <= 0)) and max(small) <= 64 * 1024,
        f"never more in flight than the congestion window; with VoAP at most {100 * steered[:, 1].max():.0f} % of it,"
        f" with a window of {LARGER} at most {max(small) / 1024:.1f} KiB",
        "a limit below the congestion window is the advertised window",
    )


def _most_in_flight(run: _native.Run) -> float:
    tcp = columns(run, "tcp")
    return float(tcp["in_flight_bytes"][tcp["side"] == "server"].max())


@check("vegas-alone")
def vegas_alone(evidence: Evidence, _: Claim) -> Finding:
    vegas, reno = (evidence.values(VEGAS, f"flows.{flow}.goodput_bps") / 1e6 for flow in (SECOND, DOWNLOAD))
    return findings.less(
        "Vegas", vegas, "New Reno beside it", reno, "Mbit/s", "two downloads on the regular access point"
    )
