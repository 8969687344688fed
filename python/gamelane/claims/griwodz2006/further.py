"""The further work that the paper names, answered by runs. What each answer means: docs/claims/griwodz2006.md."""

from __future__ import annotations

from math import nan

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.findings import Finding
from gamelane.claims.griwodz2006.arms import (
    MODIFIED,
    MULTIPLEXED,
    PLAYERS,
    TCP,
    Condition,
    check,
    simplex,
    thin,
)
from gamelane.claims.griwodz2006.bundling import LOSSY, NO_LOSS, RDB_ALL
from gamelane.claims.griwodz2006.modified import BURSTY, HIGH

LINEAR = {f"{TCP}.linear_timeouts": "true"}
CARRY_ALL = {f"{TCP}.piggyback": "all"}
STREAMS = MULTIPLEXED | {f"flow.{PLAYERS}.carriage": "streams"}
DATAGRAMS = {f"flow.{PLAYERS}.carriage": "datagrams"}
SHORT_QUEUE = {"gateway.down.limit": "20p"}
AT_LOSSES = (Condition(1, 100, 0), LOSSY)


def _narrow(kbit: float) -> dict[str, str]:
    """Return keys for a link downstream that is the only cause of loss. The streams need 129 kbit/s."""
    return NO_LOSS | {"link.down": f"{kbit:g}kbit"}


def _delay(evidence: Evidence, arm: Arm, quantile: str = "p99") -> Numbers:
    """Return a quantile of the delivery delay to the players in seconds."""
    return thin(evidence, arm, f"down.delivery_ms.{quantile}") / 1e3


@check("f.rto")
def timeout(evidence: Evidence, claim: Claim) -> Finding:
    kbit = claim.limits["kbit"]
    changes = {"at 20 %": HIGH, "in bursts of 5": BURSTY, f"at {kbit:g} kbit/s": _narrow(kbit)}
    standard, shorter, linear = (
        [_delay(evidence, simplex(LOSSY).with_(change | timer)) for change in changes.values()]
        for timer in ({}, MODIFIED, LINEAR)
    )
    places = list(changes)
    return findings.all_of(
        *(
            findings.less(f"{place}: modified", mine, "standard", theirs, "s")
            for place, mine, theirs in zip(places[:2], shorter, standard, strict=False)
        ),
        findings.less(f"{places[2]}: standard", standard[2], "modified", shorter[2], "s"),
        why="99 % delivery delay. Linux's linear timeouts drop only the doubling: "
        + ", ".join(f"{place} {findings.number(each)} s" for place, each in zip(places, linear, strict=True))
        + ". A timer for thin streams must skip the doubling and follow rttvar: half a round trip is less than the wait"
        " in a queue of 1000 packets",
    )


@check("f.piggyback")
def bundling(evidence: Evidence, _: Claim) -> Finding:
    following, everything, repeats = (_delay(evidence, simplex(LOSSY).with_(c)) for c in ({}, CARRY_ALL, RDB_ALL))
    plain, bundled = (
        evidence.values(simplex(LOSSY).with_(c), f"flows.{PLAYERS}.down.sent_bytes") for c in ({}, RDB_ALL)
    )
    return findings.all_of(
        findings.less("retransmissions carry all that waits:", everything, "the next segment:", following, "s"),
        findings.less("new packets repeat too:", repeats, "retransmissions alone:", everything, "s"),
        why=f"99 % delivery delay at {LOSSY}. Repeating costs {findings.number(100 * (bundled / plain - 1))} % more"
        " bytes downstream",
    )


@check("f.hol")
def blocking(evidence: Evidence, _: Claim) -> Finding:
    found = []
    for condition in AT_LOSSES:
        for name, change, other, without in (
            ("datagrams", DATAGRAMS, "TCP", {}),
            ("independent streams", STREAMS, "one ordered connection", MULTIPLEXED),
        ):
            arms = [simplex(condition).with_(keys) for keys in (change, without)]
            held = [thin(evidence, arm, "down.held_ms.mean") for arm in arms]
            found.append(findings.less(f"{condition}, wait behind a loss: {name}", held[0], other, held[1], "ms"))
    tails = [
        f"{condition}: "
        + ", ".join(
            f"{name} {findings.number(_delay(evidence, simplex(condition).with_(change)))} s"
            for name, change in (
                ("TCP", {}),
                ("datagrams", DATAGRAMS),
                ("one connection", MULTIPLEXED),
                ("streams", STREAMS),
            )
        )
        for condition in AT_LOSSES
    ]
    return findings.all_of(
        *found,
        why=f"99 % delivery delay at {'; '.join(tails)}. In a connection of its own a player waits little behind a"
        " loss: most of the delay is the timeout",
    )


@check("f.muxadapt")
def adapting(evidence: Evidence, claim: Claim) -> Finding:
    kbit, percent = claim.limits["kbit"], claim.limits["percent"]
    whole = simplex().with_(MULTIPLEXED | _narrow(kbit) | SHORT_QUEUE)
    players = thin(evidence, whole, "players")[0]
    fewer = whole.with_({f"flow.{PLAYERS}.connections": f"{percent / 100 * players:.0f}"})
    return findings.all_of(
        findings.less(
            f"median delivery delay with {percent:g} % of the messages",
            _delay(evidence, fewer, "p50"),
            "with all",
            _delay(evidence, whole, "p50"),
            "s",
        ),
        why="one connection fits its rate to the link by itself: it offers"
        f" {findings.number(_offered(evidence, whole))} kbit/s and loses {findings.number(_lost(evidence, whole))} %."
        " What does not fit waits in the server. The server sees that the socket is full, and can write less",
    )


@check("f.aggregate")
def aggregate(evidence: Evidence, claim: Claim) -> Finding:
    bottleneck = _narrow(claim.limits["kbit"]) | SHORT_QUEUE
    own, shorter, shared = (simplex().with_(bottleneck | change) for change in ({}, MODIFIED, MULTIPLEXED))
    return findings.all_of(
        findings.less(
            "offered without a bottleneck",
            _offered(evidence, simplex().with_(NO_LOSS)),
            "over the narrow link",
            _offered(evidence, own),
            "kbit/s",
        ),
        findings.less(
            "lost by one shared connection", _lost(evidence, shared), "by single ones", _lost(evidence, own), "%"
        ),
        why="queue of 20 packets. Timeouts repeat what waits or was lost, so the streams send more when there is less."
        f" The modified timeout offers {findings.number(_offered(evidence, shorter))} kbit/s and loses"
        f" {findings.number(_lost(evidence, shorter))} %. 99 % delivery delay: single"
        f" {findings.number(_delay(evidence, own))} s, modified {findings.number(_delay(evidence, shorter))} s, shared"
        f" {findings.number(_delay(evidence, shared))} s",
    )


def _offered(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the rate sent to the players in kbit/s of IP packets."""
    return evidence.values(arm, f"flows.{PLAYERS}.down.sent_bytes") * (8 / 1e3 / evidence.base.duration_s)


def _lost(evidence: Evidence, arm: Arm) -> Numbers:
    return 100 * evidence.values(arm, f"flows.{PLAYERS}.down.loss")


@check("f.correlation")
def correlation(evidence: Evidence, _: Claim) -> Finding:
    worlds = {
        "independent": {},
        "in bursts on the shared link": NO_LOSS | {"link.loss.good_to_bad": "0.202%", "link.loss.bad_to_good": "20%"},
        "in a full queue": _narrow(160) | SHORT_QUEUE,
    }
    arms = [simplex().with_(change) for change in worlds.values()]
    means, visible = (
        dict(zip(worlds, each, strict=True))
        for each in zip(*(np.array(evidence.derived(arm, "pairs", _pairs), dtype=float).T for arm in arms), strict=True)
    )
    alone, *together = worlds
    return findings.all_of(
        *(findings.less(f"losses {alone}", means[alone], name, means[name], "mean correlation") for name in together),
        why="all pairs of connections that lost a packet, in windows of 10 s. The thinness hides a shared cause in a"
        " single pair but not in the mean over all. Pairs beyond the 95 % interval of independent ones: "
        + ", ".join(f"{name} {findings.number(each)} %" for name, each in visible.items()),
    )


def _pairs(run: _native.Run) -> tuple[float, float]:
    """Return the mean correlation of the connections' losses, and the per cent of pairs in which it is visible."""
    rows = columns(run, "retransmissions")
    connection = rows["connection"].astype(int)
    if len(np.unique(connection)) < 2:
        return nan, nan
    window = ((rows["t_s"] - rows["application_delay_ms"] / 1e3) / WINDOW_S).astype(int)
    losing = np.zeros((connection.max() + 1, window.max() + 1))
    losing[connection, window] = 1
    # The coefficient of a connection that loses in every window or in none is not defined.
    matrix = np.asarray(np.corrcoef(losing[losing.std(axis=1) > 0]))
    pairs = matrix[np.triu_indices_from(matrix, 1)]
    return float(pairs.mean()), float(100 * np.mean(np.abs(pairs) > 1.96 / losing.shape[1] ** 0.5))


WINDOW_S = 10


def prefetched() -> list[Arm]:
    """Return the arms that only this file uses."""
    lossy = [HIGH | LINEAR, BURSTY | LINEAR, CARRY_ALL, RDB_ALL]
    arms = [simplex(LOSSY).with_(change) for change in lossy]
    arms += [simplex(LOSSY).with_(_narrow(200) | timer) for timer in ({}, MODIFIED, LINEAR)]
    arms += [simplex(condition).with_(change) for condition in AT_LOSSES for change in (STREAMS, DATAGRAMS)]
    return arms + [simplex().with_(_narrow(100) | SHORT_QUEUE | change) for change in ({}, MODIFIED, MULTIPLEXED)]
