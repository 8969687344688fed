"""Claims about the inputs: the set-up, the thresholds, Table I."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np

from gamelane.claims import Claim, findings
from gamelane.claims.evidence import Arm, Evidence
from gamelane.claims.findings import Finding, given
from gamelane.claims.palazzi_voap.arms import (
    ALPHA,
    BETA,
    COMMANDS,
    GAME,
    GAMES,
    averaged,
    check,
    figures,
    regular,
    voap,
)
from gamelane.claims.register import Check

TRACES = "the OnLive traces are not public: video frames at this rate, our construction (models/cloud)"


def _document(evidence: Evidence, arm: Arm) -> dict[str, Any]:
    return tomllib.loads(evidence.scenario(arm).to_toml())


@check("scenario")
def scenario(evidence: Evidence, _: Claim) -> Finding:
    document = _document(evidence, regular())
    link, gateway = document["link"], document["gateway"]
    flows = {flow["name"]: flow for flow in document["flow"] if flow.get("enabled", True)}
    seeds = len(averaged(evidence).seeds)
    return given(
        link["kind"] == "wifi-g"
        and (link["down"], link["up"], link["rtt"]) == ("100mbit", "100mbit", "80ms")
        and gateway["down"]["queue"] == "fifo"
        and gateway["down"]["limit"] == "250p"
        and {flow["app"] for flow in flows.values()} == {"bulk", "cloud"},
        f"802.11g at {link['wifi']['rate']}, wires of {link['down']}, {gateway['down']['limit']}, {link['rtt']} both"
        f" ways, {evidence.base.duration_s:.0f} s; {len(GAMES)} games, {seeds} runs of each",
        "the paper gives no rate of the radio, length of a run or TCP; scenarios/palazzi-voap.toml states ours",
    )


@check("where")
def only_the_gateway(evidence: Evidence, _: Claim) -> Finding:
    before, after = (_document(evidence, arm) for arm in (regular(), voap()))
    own = after["gateway"].pop("voap", None)
    before["gateway"].pop("voap", None)
    lowered = averaged(evidence).values(voap(), "voap.lowered")
    return given(
        own is not None and before == after and bool(np.all(lowered > 0)),
        f"the two scenarios differ only in gateway.voap; {findings.number(lowered)} windows lowered in a run",
        "scaled windows, checksums and a right edge that never moves left are tested in crates/stage",
    )


def _threshold(key: str, ms: int) -> Check:
    def judge_threshold(evidence: Evidence, _: Claim) -> Finding:
        ours = _document(evidence, voap())["gateway"]["voap"][key]
        bare = evidence.base.with_overrides([("gateway.voap.data", "down")])
        default = tomllib.loads(bare.to_toml())["gateway"]["voap"][key]
        return given(ours == default == f"{ms}ms", f"{default}, also as the default of a scenario")

    return judge_threshold


check("alpha")(_threshold("alpha", ALPHA))


check("beta")(_threshold("beta", BETA))


def _video(game: str) -> Check:
    def judge_video(evidence: Evidence, _: Claim) -> Finding:
        rate = averaged(evidence).values(voap(game), f"flows.{GAME}.down.throughput_bps.mean") / 1e3
        return findings.near(rate, GAMES[game], 10, "kbit/s", TRACES)

    return judge_video


for claim, game in (
    ("t1.ut23", "ut-2-3"),
    ("t1.ut13", "ut-1-3"),
    ("t1.rome", "rome"),
    ("t1.rome23", "rome-2-3"),
    ("t1.rome13", "rome-1-3"),
):
    check(claim)(_video(game))


def _commands(prefix: str) -> Check:
    def judge_commands(evidence: Evidence, _: Claim) -> Finding:
        found = [
            findings.near(
                averaged(evidence).values(voap(game), f"flows.{GAME}.up.throughput_bps.mean") / 1e3,
                COMMANDS[game],
                1,
                "kbit/s",
            )
            for game in GAMES
            if game.startswith(prefix)
        ]
        return findings.all_of(*found, why="packets of 150 B at a fixed rate (our choice)")

    return judge_commands


check("up.ut")(_commands("ut"))


check("up.rome")(_commands("rome"))


@check("deadline")
def deadline(evidence: Evidence, _: Claim) -> Finding:
    runs = averaged(evidence)
    worst = {
        name: max(float(runs.values(arm, f"flows.{GAME}.rtt_ms.max").max()) for arm in figures() if (arm in own))
        for name, own in (
            ("with VoAP", [voap(game) for game in GAMES]),
            ("without", [regular(game) for game in GAMES]),
        )
    }
    return given(
        worst["with VoAP"] <= DEADLINE_MS,
        ", ".join(
            f"longest round trip of {runs.repeats * len(GAMES)} runs {name}: {ms:.0f} ms" for name, ms in worst.items()
        ),
        "this is a round trip, so one way is less; it excludes rendering and the player's screen",
    )


DEADLINE_MS = 150
