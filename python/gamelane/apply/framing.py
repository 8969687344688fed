"""Bytes that a link layer adds to each IP packet (`link.overhead`), as CAKE and as `stab` count them.

`stab` starts from the length of the frame, which on an Ethernet interface includes a header of 14 B. CAKE starts from
the IP packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HEADER = 14
"""Bytes of Ethernet header."""
EVERY_BYTE = "mtu 2047 tsize 2048"
"""A length for each byte. By default the table rounds lengths up to a multiple of four."""


@dataclass(frozen=True)
class Framing:
    """A link layer: bytes per packet, the shortest packet, and cells."""

    kind: str
    overhead: int
    mpu: int = 0

    def stab(self) -> str:
        """Return the size table of a queue discipline on an Ethernet interface (tc-stab(8))."""
        linklayer = "atm" if self.kind == "atm" else "ethernet"
        mpu = f" mpu {self.mpu}" if self.mpu else ""
        exact = f" {EVERY_BYTE}" if self.mpu or self.kind == "atm" else ""
        return f"stab linklayer {linklayer} overhead {self.overhead - HEADER}{mpu}{exact}"

    def stab_rate(self, bps: float) -> float:
        """Return the rate that equals `bps` where `stab` counts: it has no 64/65 encoding of PTM."""
        return bps * 64 / 65 if self.kind == "ptm" else bps


def framing(written: Any, way: str) -> Framing:
    """Read an `overhead` of a scenario for one direction."""
    if isinstance(written, Mapping) and "kind" not in written:
        written = written.get(way, "none")
    kind, extra = (written["kind"], written.get("bytes")) if isinstance(written, Mapping) else (written, None)
    match kind:
        case "docsis":
            return Framing(kind, 18, 64)
        case "ethernet":
            return Framing(kind, 38, 84)
        case "fixed":
            return Framing(kind, int(extra or 0))
        case "atm" | "ptm":
            return Framing(kind, (40 if kind == "atm" else 30) if extra is None else int(extra))
        case _:
            return Framing("none", 0)
