"""Tests which connections of captures may share a path, pair by pair (docs/models/shared-paths.md).

An RTT sample is the time from data to its acknowledgement (Karn's algorithm). The side further from the capture point
is used: at a game server, the path to each player.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from gamelane import whole
from gamelane.analysis.shared_paths import FEWEST, SharedPaths, Variant, both_variants
from gamelane.errors import UsageError

Connection = tuple[int, int]
"""Position of the capture and number of the flow."""

Found = Mapping[Variant, SharedPaths[Connection]]

FILE = "shared_paths.parquet"
MOST = 400
"""Maximum number of connections compared; those with the most samples are kept. Testing all pairs takes about 10 s."""

SIDES = ("server", "client")
ACKNOWLEDGEMENT = 0


class RoundTrips:
    """Collects RTT samples from the batches of an analysis, and passes every batch on to another writer, if any."""

    def __init__(self, further: Any = None) -> None:
        self.further = further
        self.kept: dict[tuple[int, int, int], list[npt.NDArray[np.float64]]] = defaultdict(list)

    def __call__(self, capture: int, table: str, columns: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Take one batch of rows of one capture's table."""
        if table == "rtt":
            wanted = columns["method"] == ACKNOWLEDGEMENT
            flows, sides = columns["flow"][wanted], columns["towards"][wanted]
            rtts = columns["rtt_ns"][wanted].astype(np.float64) / 1e6
            keys = flows.astype(np.uint64) * 2 + sides.astype(np.uint64)
            order = np.argsort(keys, kind="stable")
            starts = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(2**40)))
            for part in np.split(order, starts[1:]) if len(order) else []:
                self.kept[capture, int(flows[part[0]]), int(sides[part[0]])].append(rtts[part])
        if self.further is not None:
            self.further(capture, table, columns)

    def by_connection(self) -> tuple[str, dict[Connection, npt.NDArray[np.float64]]]:
        """Return the further side, and the RTT samples of each connection in milliseconds, in order."""
        samples = {key: np.concatenate(parts) for key, parts in self.kept.items()}
        medians: tuple[list[float], list[float]] = ([], [])
        for (_, _, side), values in samples.items():
            if len(values) >= FEWEST:
                medians[side].append(float(np.median(values)))
        further = max((0, 1), key=lambda side: float(np.median(medians[side])) if medians[side] else -1.0)
        return SIDES[further], {
            (capture, flow): values for (capture, flow, side), values in sorted(samples.items()) if side == further
        }


def shared(found: Mapping[str, Any], trips: RoundTrips) -> tuple[dict[str, Any], Found]:
    """Test all pairs of connections. Return the document's part and both variants of the test."""
    side, rtts = trips.by_connection()
    enough = {key: values for key, values in rtts.items() if len(values) >= FEWEST}
    if len(enough) < 2:
        files = ", ".join(capture["file"] for capture in found["captures"])
        raise UsageError(
            f"--shared-paths: {files}: {len(enough)} TCP {'connection' if len(enough) == 1 else 'connections'} with at "
            f"least {FEWEST} RTT samples, and the test needs two\n"
            "  hint:    record longer, at the server that all players use"
        )
    most = sorted(enough, key=lambda key: -len(enough[key]))[:MOST]
    chosen = {key: values for key, values in rtts.items() if key in set(most) or key not in enough}
    tested = both_variants(chosen)
    return _document(found, side, chosen, len(enough) - len(most), tested), tested


def write_table(files: whole.Together, tested: Found) -> None:
    """Write every pair as Parquet, with the p-value of a common path."""
    parts = []
    for variant, paths in tested.items():
        i, j = np.triu_indices(len(paths.connections), 1)
        keys = np.array(paths.connections, dtype=np.uint32).reshape(-1, 2)
        columns = {
            "capture_a": keys[i, 0], "flow_a": keys[i, 1], "capture_b": keys[j, 0], "flow_b": keys[j, 1],
            "p": paths.p[i, j], "p_adjusted": paths.adjusted[i, j], "told_apart": ~paths.shared[i, j],
        }  # fmt: skip
        parts.append(pl.DataFrame(columns).select(pl.lit(variant).alias("variant"), pl.all()))
    with files.file(FILE) as partial:
        pl.concat(parts).write_parquet(partial, compression="zstd")


def sentence(of: Mapping[str, Any]) -> str:
    """Return the result as a sentence."""
    parts = []
    for variant, verdict in of["variants"].items():
        groups = [len(group) for group in verdict["groups"] if len(group) > 1]
        alone = len(verdict["groups"]) - len(groups)
        sizes = ", ".join(map(str, groups))
        said = f"{len(groups)} {'group' if len(groups) == 1 else 'groups'} of {sizes}" if groups else "no group"
        parts.append(f"{variant}: {said}{f', {alone} alone' if alone else ''}")
    return (
        f"RTTs of {len(of['connections'])} connections to the {of['towards']} were compared. These may share paths: "
        f"{'; '.join(parts)}."
    )


def _document(
    found: Mapping[str, Any],
    side: str,
    rtts: Mapping[Connection, npt.NDArray[np.float64]],
    left_out: int,
    tested: Found,
) -> dict[str, Any]:
    plain = next(iter(tested.values()))
    captures = enumerate(found["captures"])
    names = {(number, flow["id"]): flow[side] for number, capture in captures for flow in capture["flows"]}
    return {
        "towards": side,
        "connections": [
            {
                "capture": key[0],
                "flow": key[1],
                "address": names.get(key),
                "samples": len(rtts[key]),
                "rtt_ms": {"min": float(rtts[key].min()), "p50": float(np.median(rtts[key]))},
            }
            for key in plain.connections
        ],
        "too_few_samples": len(plain.skipped),
        "left_out": left_out,
        "level": plain.level,
        "correction": plain.correction,
        "variants": {
            variant: {
                "pairs": paths.pairs,
                "not_told_apart": (int(paths.shared.sum()) - len(paths.connections)) // 2,
                "groups": [[paths.connections.index(key) for key in group] for group in paths.groups],
            }
            for variant, paths in tested.items()
        },
    }
