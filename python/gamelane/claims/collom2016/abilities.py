"""What the paper's tools and games can do, and whether gamelane can: applications and the live trial."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.collom2016.arms import GAME, THROUGHPUT_DOWN, THROUGHPUT_UP, alone, check, own_client
from gamelane.claims.evidence import Evidence, Numbers
from gamelane.claims.findings import Finding, given
from gamelane.trials import blind


def _words(definition: str) -> dict[str, str]:
    """Return the words of a key of scenarios, with what they mean."""
    return {each["const"]: each["description"] for each in json.loads(_native.schema())["$defs"][definition]["oneOf"]}


@check("p2p-overhead")
def peer_to_peer(evidence: Evidence, claim: Claim) -> Finding:
    def upstream(role: str) -> list[Numbers]:
        arms = [
            own_client(alone()).with_({f"flow.{GAME}.role": role, f"flow.{GAME}.players": str(players)})
            for players in claim.theirs["players"]
        ]
        return [evidence.values(arm, THROUGHPUT_UP) / 1e3 for arm in arms]

    roles, client, host = _words("Role"), upstream("player"), upstream("host")
    return findings.all_of(
        given("peer" in roles, f"a game's roles are {', '.join(roles)}"),
        findings.near(
            100 * client[-1] / client[0], 100, claim.limits["percent"], "% is a client's uplink traffic, most to fewest"
        ),
        *(findings.less("a host's with fewer players", a, "with more", b, "kbit/s") for a, b in pairwise(host)),
        why="a mesh of equal players is missing. It needs a role that sends the game's state to every other player; the"
        ' nearest is `role = "host"`, one player who serves all others',
    )


@check("discovery")
def discovery(_: Evidence, __: Claim) -> Finding:
    apps = _words("App")
    return given(
        any("master server" in meaning for meaning in apps.values()),
        f"applications: {', '.join(apps)}",
        "none probes servers. It would ask a master server for its list, query each server, and begin a game with the"
        " chosen one. It ends before the match, so no other claim rests on it",
    )


@check("arma")
def more_players(evidence: Evidence, claim: Claim) -> Finding:
    two, three, four = (_update_bytes(evidence, players) for players in claim.theirs["players"])
    return findings.all_of(
        findings.less("2 players", two, "3 players", three, "B per update"),
        findings.near(
            100 * (four - three) / (three - two), 100, claim.limits["percent"], "% of this growth from 3 to 4 players"
        ),
        why="ARMA(1,1) around a mean that grows with the players. The coefficients are our construction, because the"
        " paper gives none; `gamelane traffic fit` makes the same of captures",
    )


def _update_bytes(evidence: Evidence, players: int) -> Numbers:
    """Return the mean payload of a server's update."""
    arm = alone().with_({f"flow.{GAME}.players": str(players)})
    received = evidence.values(arm, f"flows.{GAME}.down.received")
    per_packet = evidence.values(arm, THROUGHPUT_DOWN) * evidence.scenario(arm).duration_s / 8 / received
    return np.asarray(per_packet - _native.IPV4_HEADER - _native.UDP_HEADER)


@check("live.grid")
def live_grid(_: Evidence, claim: Claim) -> Finding:
    expected = {(delay, loss) for delay in claim.theirs["delays"] for loss in claim.theirs["losses"]}
    order = [_set(each) for each in blind.draw(blind.Settings("full", 1, 60, seed=1)).order]
    return given(
        set(order) == expected and len(order) == len(expected) and order != sorted(order),
        f"`gamelane impair trial --grid full` sets {len(set(order))} pairs in random order",
        "delays are added to the round trip, half each way; losses apply to each direction. Neither player knows the"
        " condition; in the paper one did",
    )


def _set(condition: blind.Condition) -> tuple[float, float]:
    """Return the round-trip delay in ms and the loss in per cent that the command for a condition sets."""
    words = condition.settings()
    delay, loss = words[words.index("--delay") + 1], words[words.index("--loss") + 1]
    return 2 * _native.read_quantity(delay, "time") / 1e6, float(loss.removesuffix("%"))
