"""Settings of the paper that the scenario has: the set-up, the thresholds, Table I."""

from __future__ import annotations

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given
from gamelane.claims.palazzi_voap.arms import GAME, averaged, check, labelled, regular, voap
from gamelane.claims.register import Check

TRACES = "the OnLive traces are not public: we send video frames at this rate (models/cloud)"
RADIOS = {"802.11g": "wifi-g"}
ROWS = {"t1.ut23": "ut-2-3", "t1.ut13": "ut-1-3", "t1.rome": "rome", "t1.rome23": "rome-2-3", "t1.rome13": "rome-1-3"}
COMMANDS = {"up.ut": ("ut-2-3", "ut-1-3"), "up.rome": ("rome", "rome-2-3", "rome-1-3")}
"""The games by the claim about the rate of their commands."""


@check("scenario")
def scenario(evidence: Evidence, claim: Claim) -> Finding:
    document, theirs = evidence.document(regular()), claim.theirs
    link, buffer = document["link"], document["gateway"]["down"]
    flows = [flow for flow in document["flow"] if flow.get("enabled", True)]
    wire = f"{theirs['wires in Mbit/s']}mbit"
    return given(
        link["kind"] == RADIOS.get(theirs["radio"])
        and (link["down"], link["up"], link["rtt"]) == (wire, wire, f"{2 * theirs['one way in ms']}ms")
        and (buffer["queue"], buffer["limit"]) == ("fifo", f"{theirs['buffer in packets']}p")
        and sum((flow["app"], flow.get("direction")) == ("bulk", "down") for flow in flows) == theirs["downloads"]
        and sum(flow["app"] == "cloud" for flow in flows) == theirs["games"]
        and len(flows) == theirs["downloads"] + theirs["games"],
        f"802.11g at {link['wifi']['rate']}, wires of {link['down']}, {buffer['limit']}, {link['rtt']} both ways,"
        f" {evidence.base.duration_s:.0f} s",
        "the paper gives no rate of the radio, length of a run or TCP; scenarios/palazzi-voap.toml states ours. The"
        f" paper averages 50 runs, and so do we with --repeat 5 (here {len(averaged(evidence).seeds)})",
    )


@check("alpha", "beta")
def threshold(evidence: Evidence, claim: Claim) -> Finding:
    key = claim.id.rsplit(".", 1)[1]
    ours = evidence.document(voap())["gateway"]["voap"][key]
    return given(ours == f"{claim.theirs}ms", f"{ours}, the default of a scenario")


def _video(game: str) -> Check:
    def judge_video(evidence: Evidence, claim: Claim) -> Finding:
        rate = averaged(evidence).values(voap(game), f"flows.{GAME}.down.throughput_bps.mean") / 1e3
        return findings.near(rate, claim.theirs, claim.limits["percent"], "kbit/s", TRACES)

    return judge_video


for row, game in ROWS.items():
    check(row)(_video(game))


def _commands(games: tuple[str, ...]) -> Check:
    def judge_commands(evidence: Evidence, claim: Claim) -> Finding:
        def one(game: str) -> Finding:
            rate = averaged(evidence).values(voap(game), f"flows.{GAME}.up.throughput_bps.mean") / 1e3
            return labelled(game, findings.near(rate, claim.theirs, claim.limits["percent"], "kbit/s"))

        return findings.all_of(*map(one, games), why="packets of 150 B at a fixed rate (our choice)")

    return judge_commands


for name, games in COMMANDS.items():
    check(name)(_commands(games))
