"""Numbers the connections of a flow, by the client's port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gamelane.catalogue import BULK

if TYPE_CHECKING:
    from gamelane.lab.recording import Fate, Seen
    from gamelane.lab.taps import Passage

Numbers = Mapping[int, Mapping[int, int]]
"""The number of each connection, by flow and the client's port."""


def numbers(seen: Seen) -> Numbers:
    """Number the connections of games over TCP by player, those of transfers in the order in which they opened.

    Other flows are left out: their connections follow each other, and count as one.
    """
    found: dict[int, dict[int, int]] = {flow.number: {} for flow in seen.plan.flows if flow.app == BULK}
    for fate in seen.fates:
        if fate.flow in found:
            known = found[fate.flow]
            known.setdefault(client_port(fate.passage), len(known))
    players = {
        flow: {int(port): number for port, number in written.players.items()}
        for flow, written in seen.observed.written.items()
    }
    return {**found, **players}


def of_packets(known: Numbers, own: Sequence[Fate]) -> npt.NDArray[np.uint32]:
    """Return the number of each packet's connection within its flow; 0 for flows without numbers."""
    each = (known[fate.flow][client_port(fate.passage)] if fate.flow in known else 0 for fate in own)
    return np.fromiter(each, dtype=np.uint32, count=len(own))


def client_port(passage: Passage) -> int:
    """Return the client's port of a TCP packet; 0 of any other packet."""
    source, destination, *_ = passage.tcp or (0, 0)
    return source if passage.up else destination
