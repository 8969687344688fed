"""Claims about streams that fill a link: changes for thin streams must not affect them; and the windows of section 3.

They have a scenario of their own, `bulk.toml`: two transfers over 10 Mbit/s, 40 ms and a FIFO of 100 packets.
"""

from __future__ import annotations

from importlib import resources
from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding, given
from gamelane.claims.griwodz2006.arms import check

ALONE = {"flow.other.enabled": "false"}
VARYING = {"link.rtt": "20ms", "flow.one.path_jitter": "200ms"}
"""Round trips of 20 to 420 ms."""
LONG = ALONE | {"link.rtt": "100ms", "duration": "120s"}
FULL_SEGMENT = 1448


def _own(evidence: Evidence) -> Evidence:
    file = resources.files(__name__.rpartition(".")[0]) / "bulk.toml"
    scenario = _native.Scenario.parse(file.read_text(encoding="utf-8"), "bulk.toml", [])
    return Evidence(scenario, evidence.repeats, evidence.threads, evidence.cancel, evidence.on_run)


def _timer(timer: str, **more: str) -> dict[str, str]:
    return {"flow.one.tcp.timer": timer} | {f"flow.one.tcp.{key}": value for key, value in more.items()}


@check("mod.thin", "mod.vs-fixedrto")
def bulk_is_left_alone(evidence: Evidence, _: Claim) -> Finding:
    own = _own(evidence)
    again = {
        name: own.values(Arm.of(ALONE | VARYING | keys), "flows.one.retransmissions")
        for name, keys in (
            ("standard", _timer("linux-2.6")),
            ("modified", _timer("modified")),
            ("fixed", _timer("fixed", fixed_rto="200ms")),
        )
    }
    return findings.all_of(
        given(
            bool(np.all(again["standard"] == again["modified"])),
            f"standard and modified: {findings.number(again['standard'])} and"
            f" {findings.number(again['modified'])} segments",
        ),
        findings.less("modified", again["modified"], "fixed at 200 ms", again["fixed"], "segments retransmitted"),
        why="the round trip of this transfer varies between 20 and 420 ms. With three or more segments in flight it"
        " keeps the standard timer, so the same packets leave at the same times",
    )


@check("var.vegas-loses")
def vegas_loses(evidence: Evidence, _: Claim) -> Finding:
    own = _own(evidence)
    shares = {}
    for kind in ("vegas", "westwood"):
        arm = Arm.of({"flow.one.tcp.congestion": kind})
        one, other = (own.values(arm, f"flows.{flow}.goodput_bps") / 1e6 for flow in ("one", "other"))
        shares[kind] = (one, other)
    return findings.all_of(
        findings.less("Vegas", shares["vegas"][0], "New Reno beside it", shares["vegas"][1], "Mbit/s"),
        findings.less(
            "Vegas", _share(*shares["vegas"]), "Westwood", _share(*shares["westwood"]), "of the link beside New Reno"
        ),
    )


def _share(one: Numbers, other: Numbers) -> Numbers:
    return one / (one + other)


@check("var.bic")
def bic(evidence: Evidence, _: Claim) -> Finding:
    def growth(run: _native.Run) -> list[float]:
        rows = columns(run, "tcp")
        window = rows["cwnd_bytes"][rows["side"] == "server"] / FULL_SEGMENT
        return _after_losses(window)

    own = _own(evidence)
    arm = Arm.of(LONG | {"flow.one.tcp.congestion": "bic"})
    found = np.array(own.derived(arm, "growth", growth), dtype=float)
    early, late, steepest = found.T
    return findings.all_of(
        findings.less("5 to 10 s after a loss", late, "in the first 2 s", early, "segments a second"),
        given(
            float(steepest.max()) <= 16,
            f"at most {findings.number(steepest)} segments in 100 ms, the shortest round trip",
        ),
        why="a transfer alone. The steps shrink towards the window of the last loss and are at most 16 segments."
        " Below 14 segments BIC is Reno (crates/tcp/src/congestion/bic.rs)",
    )


def _after_losses(window: Numbers) -> list[float]:
    """Return the growth after losses in segments a second: in the first 2 s, from 5 to 10 s, and most in 0.1 s."""
    falls = np.flatnonzero(window[1:] < 0.9 * window[:-1]) + 1
    stretches = [window[start:end] for start, end in pairwise(falls) if end - start >= 10 * SAMPLES_A_SECOND]
    steps = [np.diff(stretch) * SAMPLES_A_SECOND for stretch in stretches]
    early = np.mean([each[: 2 * SAMPLES_A_SECOND].mean() for each in steps])
    late = np.mean([each[5 * SAMPLES_A_SECOND : 10 * SAMPLES_A_SECOND].mean() for each in steps])
    most = max(float(each.max()) for each in steps) / SAMPLES_A_SECOND
    return [float(early), float(late), most]


SAMPLES_A_SECOND = 10
