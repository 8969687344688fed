"""Where the paper leaves something open, a claim is judged in each way that it allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from gamelane.claims import findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding, Outcome
from gamelane.claims.griwodz2006.arms import count, thin

Reading = Literal["alone", "all"]
"""Packets whose delay counts: those that were retransmitted by themselves, or also those included in the
retransmission of another packet. An included packet was sent later and waited less.
"""
READINGS: dict[Reading, str] = {"alone": "retransmitted by themselves", "all": "all packets"}
COLUMNS: dict[Reading, str] = {"alone": "delay_ms_self", "all": "delay_ms"}

WORDS: dict[Outcome, str] = {"reproduced": "agrees", "differs": "differs", "cannot-tell": "cannot be told"}


def delays(evidence: Evidence, arm: Arm, number: int, reading: Reading) -> Numbers:
    """Return the mean time in ms from first transmission to `number`-th retransmission, if it was successful."""
    return thin(evidence, arm, f"nth.{number}.{COLUMNS[reading]}")


def mean_delay(evidence: Evidence, arm: Arm, reading: Reading) -> Numbers:
    """Return the mean delay in ms of all successful retransmissions, of any number.

    Successes are counted for all packets together. Packets retransmitted by themselves get their share of the
    retransmissions of the same number.
    """
    sums, packets = np.zeros(evidence.repeats), np.zeros(evidence.repeats)
    for number in range(1, 9):
        weight = count(evidence, arm, number, "successful")
        if reading == "alone":
            share = count(evidence, arm, number, "self") / np.maximum(count(evidence, arm, number), 1)
            weight = weight * share
        sums += np.nan_to_num(delays(evidence, arm, number, reading)) * weight
        packets += weight
    return sums / packets


def in_each_reading(judge: Callable[[Reading], Finding]) -> Finding:
    """Judge with the delays of each reading."""
    return agreed(
        {name: judge(reading) for reading, name in READINGS.items()},
        "the paper does not say whether its delays count packets included in another packet's retransmission",
    )


def agreed(ways: Mapping[str, Finding], unsaid: str) -> Finding:
    """Return the verdict on which all ways to read the paper agree. Else what is `unsaid` leaves it open."""
    ours = "; ".join(f"{name}: {finding.ours}" for name, finding in ways.items())
    outcomes = {finding.outcome for finding in ways.values()}
    reasons = [f"{name}: {finding.why}" for name, finding in ways.items() if finding.why]
    if len(outcomes) == 1:
        return Finding(outcomes.pop(), ours, "; ".join(reasons))
    split = ", ".join(f"{name}: {WORDS[finding.outcome]}" for name, finding in ways.items())
    return Finding("cannot-tell", ours, "; ".join([f"{unsaid} ({split})", *reasons]))


def together(found: Mapping[str, Finding], ours: str, why: str = "") -> Finding:
    """Combine many findings and show `ours` instead of their values. The reason names those that do not agree."""
    outcome = findings.all_of(*found.values()).outcome
    others = [f"{name} {WORDS[finding.outcome]}" for name, finding in found.items() if finding.outcome != "reproduced"]
    return Finding(outcome, ours, "; ".join(part for part in (", ".join(others), why) if part))


def because(finding: Finding, why: str) -> Finding:
    """Return the finding with a further reason."""
    return replace(finding, why="; ".join(part for part in (finding.why, why) if part))
