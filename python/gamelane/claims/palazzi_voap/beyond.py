"""Beyond VoAP: Vegas in the hosts, which the paper rules out, and the mesh, which it leaves to further work."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.findings import Finding
from gamelane.claims.palazzi_voap.arms import DOWNLOAD, GAME, GOODPUT, SECOND, check, labelled, regular, voap

NO_GAME = regular().with_({f"flow.{GAME}.enabled": "false"})
RENO = NO_GAME.with_({f"flow.{SECOND}.enabled": "true"})
"""Two downloads of New Reno; the second starts 2 s later."""
VEGAS_SECOND, VEGAS_FIRST = (RENO.with_({f"flow.{flow}.tcp.congestion": "vegas"}) for flow in (SECOND, DOWNLOAD))
VEGAS_ALONE = NO_GAME.with_({f"flow.{DOWNLOAD}.tcp.congestion": "vegas"})
RELAYS = ("1", "2")


def prefetched() -> list[Arm]:
    """Return every arm of this file."""
    mesh = [_mesh(arm, relays) for relays in RELAYS for arm in (regular(), voap())]
    return [RENO, VEGAS_SECOND, VEGAS_FIRST, VEGAS_ALONE, *mesh]


@check("vegas-alone")
def vegas_alone(evidence: Evidence, _: Claim) -> Finding:
    def goodput(arm: Arm, flow: str) -> Numbers:
        return evidence.values(arm, f"flows.{flow}.goodput_bps") / 1e6

    def one(place: str, arm: Arm, flow: str, other: str) -> Finding:
        vegas, beside, instead = goodput(arm, flow), goodput(arm, other), goodput(RENO, flow)
        found = findings.less("Vegas", vegas, "New Reno beside it", beside, "Mbit/s")
        replaced = findings.less("Vegas", vegas, "New Reno in its place", instead, "Mbit/s")
        both = findings.all_of(found, replaced)
        ours = f"{found.ours}, New Reno in its place {findings.number(instead)} Mbit/s"
        return labelled(f"Vegas starts {place}", Finding(both.outcome, ours, both.why))

    return findings.all_of(
        one("second", VEGAS_SECOND, SECOND, DOWNLOAD),
        one("first", VEGAS_FIRST, DOWNLOAD, SECOND),
        why="two downloads on the regular access point, the second 2 s later. Vegas with the link to itself has"
        f" {findings.number(goodput(VEGAS_ALONE, DOWNLOAD))} Mbit/s, so its loss-based neighbour is the cause",
    )


def _mesh(arm: Arm, relays: str) -> Arm:
    return arm.with_({"link.wifi.relays": relays})


@check("f.mesh")
def mesh(evidence: Evidence, _: Claim) -> Finding:
    def one(relays: str) -> Finding:
        before, after = (_mesh(arm, relays) for arm in (regular(), voap()))
        slow = [evidence.values(arm, f"flows.{GAME}.rtt_ms.p99") for arm in (after, before)]
        lost = [100 * evidence.values(arm, f"flows.{GAME}.down.loss") for arm in (after, before)]
        kept = 100 * evidence.values(after, GOODPUT) / evidence.values(before, GOODPUT)
        found = findings.less("99th percentile of the game's round trip with VoAP", slow[0], "regular", slow[1], "ms")
        rest = (
            f"download {findings.number(kept)} % of the regular access point's; video lost"
            f" {findings.number(lost[0])} and {findings.number(lost[1])} %"
        )
        return labelled(f"relays = {relays}", Finding(found.outcome, f"{found.ours}; {rest}", found.why))

    return findings.all_of(
        *map(one, RELAYS),
        why="VoAP acts at the access point alone. It bounds all data in flight, so the relays' queues stay short too."
        " All nodes of our mesh hear each other",
    )
