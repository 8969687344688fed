"""Claims about the inputs: sections II to III.C."""

from __future__ import annotations

import tomllib

import numpy as np

from gamelane import _native
from gamelane.claims import Claim, findings
from gamelane.claims.but2006.arms import (
    DOWNLOAD_ALONE,
    FIFO,
    GAME,
    PRIORITY,
    TWO_TRANSFERS,
    check,
)
from gamelane.claims.evidence import Evidence
from gamelane.claims.findings import Finding, given

GAME_ALONE = FIFO.with_({"flow.upload.enabled": "false", "flow.download.enabled": "false", "duration": "60s"})
RATES = ("64kbit", "128kbit", "192kbit", "256kbit", "1mbit", "2mbit")


@check("rates")
def rates(evidence: Evidence, _: Claim) -> Finding:
    arms = [PRIORITY.with_({"link.up": rate, "gateway.shape.up": rate, "duration": "60s"}) for rate in RATES]
    evidence.prepare(arms)
    delays = [float(evidence.values(arm, f"flows.{GAME}.up.queue_delay_ms.mean").mean()) for arm in arms]
    return given(
        bool(np.all(np.diff(delays) < 0)),
        ", ".join(f"{rate} {delay:.1f} ms" for rate, delay in zip(RATES, delays, strict=True)),
        "mean queueing delay of the game with priority: at most half a full packet, and lower as the rate goes up",
    )


@check("two-queues")
def two_queues(evidence: Evidence, _: Claim) -> Finding:
    gateway = tomllib.loads(evidence.scenario(PRIORITY).to_toml())["gateway"]
    return given(
        gateway["up"]["queue"] == "priority" and gateway["priority"] == [GAME],
        f"a queue for the flow `{GAME}`, one for everything else",
        "the game is the only UDP flow, so this equals the paper's rule",
    )


@check("fair-baseline")
def fair_baseline(evidence: Evidence, _: Claim) -> Finding:
    shapes = [tomllib.loads(evidence.scenario(arm).to_toml())["gateway"]["shape"]["up"] for arm in (FIFO, PRIORITY)]
    return given(shapes == ["192kbit", "192kbit"], f"{shapes[0]} without and {shapes[1]} with priority")


@check("game-cbr")
def constant_rate(evidence: Evidence, _: Claim) -> Finding:
    sent = _native.generate(evidence.scenario(GAME_ALONE), evidence.base.seed)
    up = np.asarray(sent["up"])
    found = []
    for direction, mine in (("up", up), ("down", ~up)):
        sizes = np.unique(np.asarray(sent["payload"])[mine])
        gaps = np.unique(np.diff(np.asarray(sent["t_ns"], dtype=np.int64)[mine])) / 1e6
        found.append((len(sizes) == len(gaps) == 1, f"{direction} {sizes[0]} B every {gaps[0]:g} ms"))
    return given(
        all(constant for constant, _ in found),
        ", ".join(words for _, words in found),
        "the numbers are from memory: they are in the paper's reference [9], which could not be opened",
    )


@check("game-pps")
def packets_a_second(evidence: Evidence, _: Claim) -> Finding:
    sent = sum(evidence.values(GAME_ALONE, f"flows.{GAME}.{way}.sent") for way in ("up", "down"))
    seconds = 60 - evidence.base.warmup_s
    return findings.near(
        np.asarray(sent / seconds),
        50,
        30,
        "packets/s, both ways together",
        "50 a second upstream alone would be 47 kbit/s on Ethernet, more than the 192 - 150 kbit/s that TCP leaves",
    )


@check("three-runs")
def three_runs(evidence: Evidence, _: Claim) -> Finding:
    arms = [TWO_TRANSFERS, FIFO, PRIORITY, DOWNLOAD_ALONE]
    return given(
        len({evidence.scenario(arm).hash for arm in arms}) == len(arms),
        "two transfers; with the game, FIFO; with the game, priority; and a download alone",
    )


@check("f.autodetect")
def automatic(evidence: Evidence, _: Claim) -> Finding:
    named = 'priority = ["game"]\n'
    text = evidence.scenario(FIFO).to_toml().replace(named, "")
    own = evidence.beside("detected", lambda: _native.Scenario.parse(text, "but2006-detected.toml", []))
    delay = f"flows.{GAME}.up.queue_delay_ms.mean"
    delays = [own.values(DETECTED, delay), evidence.values(PRIORITY, delay)]
    lost = 100 * own.values(DETECTED, f"flows.{GAME}.up.loss")
    return given(
        float((delays[0] / delays[1]).mean()) < 1.1 and float(lost.mean()) < 0.1,
        f"the game waits {findings.number(delays[0])} ms if found by behaviour, {findings.number(delays[1])} ms if"
        f" named; {findings.number(lost)} % lost",
        "the rule is our construction. It finds 32 of 39 games and calls within 2.1 s, and takes none of 10 other flows"
        " for a game (docs/models/classify.md)",
    )


DETECTED = PRIORITY.with_(
    {
        "gateway.up.queue": "priority",
        "gateway.class": '[{ name = "first" }, { name = "rest" }]',
        "gateway.rule": '[{ class = "first", behaviour = "real-time" }]',
    }
)
