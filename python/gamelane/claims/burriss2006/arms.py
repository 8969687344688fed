"""The arms of burriss2006, the values read from them, and the register of checks."""

from __future__ import annotations

import json

import numpy as np

from gamelane import _native
from gamelane.analysis.measures import gaps, rfc3550_jitter_series_ms
from gamelane.claims.evidence import Arm, Evidence, Numbers, columns
from gamelane.claims.register import Register

UDP, TCP = ("game", "game2"), ("upload", "upload2")

CELLS = {"1t1u": (1, 1), "2t1u": (2, 1), "1t2u": (1, 2), "2t2u": (2, 2)}
"""The four tables: TCP and UDP streams, all upstream."""

check = Register("burriss2006")


NO_PRIORITY = {"gateway.up.queue": "fifo", "gateway.shape": "{}"}
"""The bridge without rules: it sends at line rate, so the queue builds up in the modem."""

REFERENCE_MODEM = {
    "link.docsis.concatenation": "true",
    "link.docsis.map_interval": "2ms",
    "gateway.modem.limit": "29000B",
}
"""A reference modem: several packets per grant, and a buffer of one second counted in bytes."""


def prioritised(cell: str) -> Arm:
    """Return the arm of a table's column with priority, with its numbers of streams."""
    tcp, udp = CELLS[cell]
    return Arm.of({"flow.upload2.enabled": _word(tcp == 2), "flow.game2.enabled": _word(udp == 2)})


def none(cell: str) -> Arm:
    """Return the arm of a table's column without priority."""
    return prioritised(cell).with_(NO_PRIORITY)


def _word(condition: bool) -> str:
    return "true" if condition else "false"


def throughput(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the TCP goodput upstream, mean of its streams, in kbit/s."""
    return _mean(evidence, arm, TCP, "goodput_bps") / 1e3


def loss(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the UDP loss, mean of its streams, in per cent."""
    return 100 * _mean(evidence, arm, UDP, "up.loss")


def received(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the UDP packets received per stream, mean of the streams."""
    return _mean(evidence, arm, UDP, "up.received")


def _mean(evidence: Evidence, arm: Arm, names: tuple[str, ...], path: str) -> Numbers:
    there = [name for name in names if name in evidence.summaries(arm)[0]["flows"]]
    return np.asarray(np.mean([evidence.values(arm, f"flows.{name}.{path}") for name in there], axis=0))


def streams(evidence: Evidence, arm: Arm) -> dict[str, Numbers]:
    """Return `jitter`, `max` and `mean` interarrival in ms, one per seed: means of the UDP streams over all packets."""
    rows = evidence.derived(arm, "streams", _measure)
    return {key: np.array([row[key] for row in rows]) for key in ("jitter", "max", "mean")}


def _measure(run: _native.Run) -> dict[str, float]:
    """Measure one run. Jitter is the mean over all packets; iperf prints the last value, which may be any of them."""
    table = columns(run, "delay")
    found: list[tuple[float, float, float]] = []
    for flow in [name for name in json.loads(run.summary_json())["flows"] if name in UDP]:
        mine = (table["flow"] == flow) & (table["direction"] == "up")
        arrived, transit = 1e3 * table["t_s"][mine], table["one_way_ms"][mine]
        order = np.argsort(arrived, kind="stable")
        between = gaps(arrived)
        jitter = rfc3550_jitter_series_ms(transit[order])
        found.append((float(jitter.mean()), between.maximum_ms, between.mean_ms))
    return dict(zip(("jitter", "max", "mean"), np.mean(found, axis=0).tolist(), strict=True))
