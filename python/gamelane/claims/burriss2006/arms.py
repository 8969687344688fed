"""The arms of burriss2006, how its tables are read, the values of a column, and the register of checks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

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

ONE_SECOND = {"gateway.modem.limit": "29000B"}
"""A modem with a buffer of one second, counted in bytes."""


def prioritised(cell: str) -> Arm:
    """Return the arm with a table's numbers of streams, where all UDP streams have priority."""
    tcp, udp = CELLS[cell]
    return Arm.of({"flow.upload2.enabled": _word(tcp == 2), "flow.game2.enabled": _word(udp == 2)})


def one_prioritised(cell: str) -> Arm:
    """Return the arm where the first UDP stream alone has priority ("1 UDP PQ")."""
    return prioritised(cell).with_({"gateway.priority": '["game"]'})


def none(cell: str) -> Arm:
    """Return the arm without priority."""
    return prioritised(cell).with_(NO_PRIORITY)


def _word(condition: bool) -> str:
    return "true" if condition else "false"


@dataclass(frozen=True)
class Column:
    """A column of a table: a run, and the UDP streams over which its values are averaged."""

    arm: Arm
    udp: tuple[str, ...] = UDP

    def with_(self, changes: Mapping[str, str]) -> Column:
        """Return the same column of a run with further overrides."""
        return Column(self.arm.with_(changes), self.udp)


def table(cell: str) -> tuple[Column, Column]:
    """Return the columns of a table as we read it.

    "With no prioritization" and "With UDP prioritization" are two runs. The third table says "UDP stream with (no)
    prioritization" and names three runs in its TCP row. So its columns are the two streams of the run "1 UDP PQ".
    """
    return _of_one_run(cell) if cell == "1t2u" else (Column(none(cell)), Column(prioritised(cell)))


def _of_one_run(cell: str) -> tuple[Column, Column]:
    one = one_prioritised(cell)
    return Column(one, ("game2",)), Column(one, ("game",))


def other_readings(cell: str) -> dict[str, tuple[Column, Column]]:
    """Return the columns of a table by what else its words could mean."""
    before, first = Column(none(cell)), _of_one_run(cell)[1]
    shaped = Column(prioritised(cell).with_({"gateway.up.queue": "fifo"}))
    if cell == "1t2u":
        return {
            "the runs without and with priority": (before, Column(prioritised(cell))),
            "the run without priority, and the prioritised stream": (before, first),
            "the same, if the bridge also shapes without priority": (shaped, first),
        }
    if cell == "2t2u":
        return {
            "one stream of two has priority, mean of both": (before, Column(one_prioritised(cell))),
            "the two streams of that run": _of_one_run(cell),
        }
    return {}


def tcp_arms(cell: str) -> list[Arm]:
    """Return the runs of the TCP row: no UDP stream has priority, (one of two,) all."""
    return [none(cell), *([one_prioritised(cell)] if cell == "1t2u" else []), prioritised(cell)]


def throughput(evidence: Evidence, arm: Arm) -> Numbers:
    """Return the TCP goodput upstream, mean of its streams, in kbit/s."""
    return _mean(evidence, arm, TCP, "goodput_bps") / 1e3


def loss(evidence: Evidence, column: Column) -> Numbers:
    """Return the UDP loss, mean of the streams, in per cent."""
    return 100 * _mean(evidence, column.arm, column.udp, "up.loss")


def _mean(evidence: Evidence, arm: Arm, names: tuple[str, ...], path: str) -> Numbers:
    there = [name for name in names if name in evidence.summaries(arm)[0]["flows"]]
    return np.asarray(np.mean([evidence.values(arm, f"flows.{name}.{path}") for name in there], axis=0))


def streams(evidence: Evidence, column: Column) -> dict[str, Numbers]:
    """Return `received`, `jitter`, `maxia` and `ia` (times in ms) of a column, one per seed, mean of its streams."""
    runs = evidence.derived(column.arm, "streams", _measure)
    found = [[run[name] for name in column.udp if name in run] for run in runs]
    return {key: np.array([np.mean([each[key] for each in run]) for run in found]) for key in MEASURES}


MEASURES = ("received", "jitter", "maxia", "ia")


def _measure(run: _native.Run) -> dict[str, dict[str, float]]:
    """Measure the UDP streams of one run.

    Jitter is the mean of the RFC 1889 value over all packets. iperf prints the value at the end. At any moment of the
    run it has the same mean, but it varies more.
    """
    delay = columns(run, "delay")
    found = {}
    for flow in [name for name in json.loads(run.summary_json())["flows"] if name in UDP]:
        mine = (delay["flow"] == flow) & (delay["direction"] == "up")
        arrived, transit = 1e3 * delay["t_s"][mine], delay["one_way_ms"][mine]
        order = np.argsort(arrived, kind="stable")
        between = gaps(arrived)
        values = (
            float(len(arrived)),
            float(rfc3550_jitter_series_ms(transit[order]).mean()),
            round(between.maximum_ms, 6),
            between.mean_ms,
        )
        found[flow] = dict(zip(MEASURES, values, strict=True))
    return found
