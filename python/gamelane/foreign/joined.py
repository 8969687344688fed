"""Joins files of one measurement: record files, phases and scenario, as `gamelane-traffic measure` writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gamelane.analysis import line
from gamelane.analysis.line import CALL, DOWN, GAME, RECEIVED, ROUND_TRIP, SENT, UNKNOWN, UP, Records
from gamelane.errors import RecordsError
from gamelane.foreign import flent, iperf3, irtt, netperf
from gamelane.foreign.measurement import Floats, Load, Measurement, Probes
from gamelane.foreign.reading import read
from gamelane.foreign.spans import spans

LONGEST_S = 3600
"""Longest time from the first to the last event of a measurement."""
PROBE = "probe"
"""Name of the flow of the packets with round trips."""
STEP_S = 0.01
"""An interval's bytes are spread over records of this distance."""
READERS: Mapping[bytes, Callable[[Path, bytes], Measurement]] = {
    b'"round_trips"': irtt.measurement,
    b'"raw_values"': flent.measurement,
    b'"intervals"': iperf3.measurement,
    b"TCP STREAM": netperf.measurement,
    b"TCP MAERTS": netperf.measurement,
}
"""What a program's file contains, and no other's does. The first that fits counts."""
ALLOWED = "the files of `irtt client -o FILE`, `iperf3 -J`, `netperf -D 0.5` and flent"


def recognised(file: Path) -> Measurement:
    """Read a file of any of the programs. Raises RecordsError."""
    raw = read(file)
    for mark, reader in READERS.items():
        if mark in raw and raw.lstrip().startswith(b"{") == mark.startswith(b'"'):
            return reader(file, raw)
    raise RecordsError(f"{file}: not a measurement that can be imported\n  allowed: {ALLOWED}")


def write(files: Sequence[Path], folder: Path) -> tuple[dict[str, Any], str, list[str]]:
    """Write `client.rec`, `server.rec` and `scenario.toml`; return the program's last line, the host, and notes."""
    found = [recognised(file) for file in files]
    probing = [each for each in found if each.probes is not None]
    if len(probing) > 1:
        names = ", ".join(str(each.file) for each in probing)
        raise RecordsError(f"{names}: each has round trips\n  allowed: one such file, and any number of loads")
    probes = probing[0].probes if probing else None
    loads = [load for each in found for load in each.loads]
    start, end = _ends(found)
    clocks = _aligned(probes) if probes is not None else None
    client, server = _probe_records(probes, clocks or 0.0, start) if probes is not None else (EMPTY, EMPTY)
    phases = spans(None if probes is None else probes.sent_s - start, loads, start, end - start)
    ours = [np.concatenate([_load_records(load, start, way) for load in loads] or [EMPTY]) for way in ("up", "down")]
    client, server = np.concatenate([client, ours[1]]), np.concatenate([server, ours[0]])
    for name, records in (("client.rec", client), ("server.rec", server)):
        np.sort(records, order="at", kind="stable").tofile(folder / name)
    (folder / "scenario.toml").write_text(_scenario(found, end - start), encoding="utf-8")
    first = int(client["at"].min()) / 1e9 if len(client) else 0.0
    ended = {
        "phases": [{"phase": name, "from_s": a - first, "to_s": b - first} for name, a, b in phases],
        "same_clock": probes is not None and probes.one_clock,
        "clocks": None if clocks is None else {"uncertainty_ms": _least(probes) / 2, "drift_ppm": None},
        "aligned": True,
        "stopped": False,
        "probes": probing[0].program if probing else None,
        "imported": [{"file": str(each.file), "program": each.program} for each in found],
    }
    return ended, found[0].host, _notes(found, probes, [name for name, *_ in phases])


EMPTY = np.zeros(0, line.RECORD)


def _ends(found: Sequence[Measurement]) -> tuple[float, float]:
    """Return the first and last time of all files, which must touch each other."""
    own = []
    for each in found:
        times = [float(load.ends_s[-1]) for load in each.loads] + [load.starts_s for load in each.loads]
        if each.probes is not None:
            times += [float(each.probes.sent_s.min()), float(each.probes.sent_s.max())]
        if not times:
            raise RecordsError(f"{each.file}: has neither round trips nor loads of TCP\n  hint:    measure again")
        own.append((min(times), max(times), each.file))
    start, end = min(each[0] for each in own), max(each[1] for each in own)
    if end - start > LONGEST_S:
        late = max(own, key=lambda each: each[0])[2]
        raise RecordsError(
            f"{late}: {end - start:.0f} s from the first to the last event of these files\n"
            f"  allowed: up to {LONGEST_S} s\n  hint:    give files of one measurement, with clocks that are right"
        )
    return start, end


def _least(probes: Probes | None) -> float:
    return 0.0 if probes is None else float(np.nanmin(probes.rtt_ms))


def _aligned(probes: Probes) -> float | None:
    """Return what to add to delays up, and to subtract from those down, in ms; None if nothing is to be done.

    The least delays of both directions count as equal, as in `crates/generator/src/measure/clocks.rs`.
    """
    if probes.one_clock or any(np.isnan(each).all() for each in (probes.up_ms, probes.down_ms, probes.rtt_ms)):
        return None
    return float(np.nanmin(probes.down_ms) - np.nanmin(probes.up_ms)) / 2


def _records(count: int, kind: tuple[int, int, int], at_s: Floats, value_ms: Floats | float) -> Records:
    made = np.zeros(count, line.RECORD)
    made["what"], made["direction"], made["flow"] = kind
    made["at"] = np.round(np.maximum(at_s, 0) * 1e9).astype(np.uint64)
    value = np.broadcast_to(np.asarray(value_ms, dtype=float), count)
    there = ~np.isnan(value)
    made["value"] = UNKNOWN
    made["value"][there] = np.round(np.maximum(value[there], 0) * 1e6).astype(np.uint64)
    return made


def _probe_records(probes: Probes, offset_ms: float, start: float) -> tuple[Records, Records]:
    """Return the records of both ends. An unknown delay leaves a packet half of its round trip."""
    count = len(probes.sent_s)
    numbers = np.arange(count, dtype=np.uint32)
    up, down = probes.up_ms + offset_ms, probes.down_ms - offset_ms
    sent = probes.sent_s - start
    there = sent + np.nan_to_num(np.where(np.isnan(up), probes.rtt_ms / 2, up)) / 1e3
    back = np.isfinite(probes.rtt_ms)
    here = sent + np.nan_to_num(probes.rtt_ms) / 1e3
    client = [
        (_records(count, (RECEIVED, DOWN, GAME), here, down), back),
        (_records(count, (ROUND_TRIP, UP, GAME), here, probes.rtt_ms), back),
    ]
    server = [(_records(count, (RECEIVED, UP, GAME), there, up), probes.arrived)]
    if probes.counts_losses:
        client.append((_records(count, (SENT, UP, GAME), sent, 0.0), np.full(count, fill_value=True)))
        server.append((_records(count, (SENT, DOWN, GAME), there, 0.0), probes.arrived))
    ends = []
    for end in (client, server):
        for records, _ in end:
            records["number"] = numbers
            records["payload"] = np.where(records["what"] == ROUND_TRIP, 0, probes.payload)
        ends.append(np.concatenate([records[chosen] for records, chosen in end]))
    return ends[0], ends[1]


def _load_records(load: Load, start: float, way: str) -> Records:
    """Return the records of a load's receiver."""
    if load.direction != way:
        return EMPTY
    edges = np.concatenate([[load.starts_s], load.ends_s]) - start
    carried = np.concatenate([[0.0], np.cumsum(load.octets)])
    count = max(math.ceil((edges[-1] - edges[0]) / STEP_S), 1)
    at = np.linspace(edges[0], edges[-1], count + 1)
    octets = np.diff(np.round(np.interp(at, edges, carried)))
    flow = CALL + 1 if way == "up" else CALL + 2
    made = _records(count, (RECEIVED, UP if way == "up" else DOWN, flow), at[1:], math.nan)
    made["payload"] = np.minimum(octets, 2**32 - 1).astype(np.uint32)
    made["number"] = np.arange(count, dtype=np.uint32)
    return made


def _scenario(found: Sequence[Measurement], seconds: float) -> str:
    """Return a scenario with the flows of the records. Its rates are placeholders."""
    programs = " and ".join(dict.fromkeys(each.program for each in found))
    head = (
        f'name = "line"\nquestion = "How does this line fare while TCP loads it, as {programs} measured?"\n'
        f'duration = "{max(math.ceil(seconds), 1)}s"\nseed = 1\n[link]\ndown = "1gbit"\nup = "1gbit"\nrtt = "0ms"\n'
        f'[[flow]]\nname = "{PROBE}"\napp = "game"\nmodel = "cssource"\n[[flow]]\nname = "unused"\napp = "voip"\n'
    )
    return head + "".join(
        f'[[flow]]\nname = "load-{way}"\napp = "bulk"\ndirection = "{way}"\n' for way in ("up", "down")
    )


def _notes(found: Sequence[Measurement], probes: Probes | None, names: Sequence[str]) -> list[str]:
    notes = [note for each in found for note in each.notes]
    if probes is None:
        notes.append("round trips, losses and delays are unknown: no file has them; run irtt beside the loads")
    missing = [name for name in line.PHASES if name not in names]
    if missing:
        notes.append(f"no phase {', '.join(missing)}: the files have no such time of a second or more")
    return notes
