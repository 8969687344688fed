"""Writes a match as `u32` filters of `tc`, for packets that have not reached nftables yet: those from the IFB device.

`u32` compares masked bits at fixed places. So a range becomes several filters, and IPv4 options are not expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from gamelane.apply.match import IPV6_HEADER, LONGEST_ACK, Match, Ports, Span

PROTOCOLS = {"tcp": 6, "udp": 17}


@dataclass(frozen=True)
class Version:
    """Where a version of IP has its fields."""

    protocol: str
    word: str
    dscp: str
    length_at: int
    header: int
    """Bytes that the field at `length_at` leaves out."""
    flags_at: int
    before_ack: str


VERSIONS = (
    Version("ip", "ip", "dsfield", 2, 0, 33, "match u8 0x05 0x0f at 0 "),
    Version("ipv6", "ip6", "priority", 4, IPV6_HEADER, 53, ""),
)


def filters(device: str, rules: Sequence[tuple[Match, str]]) -> list[str]:
    """Return the lines that put packets of `device` into classes; the first filter that matches decides."""
    found: list[str] = []
    for match, classid in rules:
        for version in VERSIONS:
            for conditions in selectors(match, version):
                found.append(
                    f"tc filter add dev {device} parent 1: protocol {version.protocol} prio {len(found) + 1} "
                    f"u32 {conditions} flowid {classid}"
                )
    return found


def selectors(match: Match, version: Version) -> Iterator[str]:
    """Return the conditions of one version of IP, once for each combination of masks."""
    has_ports = match.source is not None or match.destination is not None
    protocols = [match.protocol] if match.protocol else list(PROTOCOLS) if has_ports else []
    alternatives = [
        [f"match {version.word} protocol {PROTOCOLS[protocol]} 0xff" for protocol in protocols],
        _ports(version, "sport", match.source),
        _ports(version, "dport", match.destination),
        _dscp(version, match.dscp),
        _size(version, match.size),
        [_ack(version)] if match.ack else [],
    ]
    for chosen in product(*(each for each in alternatives if each)):
        yield " ".join(chosen)


def masks(span: Span, bits: int) -> Iterator[tuple[int, int]]:
    """Return the values and masks that cover a range, as prefixes of an address do."""
    low, high = span
    while low <= high:
        size = 1
        while low % (2 * size) == 0 and low + 2 * size - 1 <= high and 2 * size <= 1 << bits:
            size *= 2
        yield low, (1 << bits) - size
        low += size


def _ports(version: Version, field: str, ports: Ports | None) -> list[str]:
    if ports is None:
        return []
    if isinstance(ports, str):
        return [f"match {version.word} {field} {ports} 0xffff"]
    return [f"match {version.word} {field} {value} {mask:#06x}" for value, mask in masks(ports, 16)]


def _dscp(version: Version, span: Span | None) -> list[str]:
    if span is None:
        return []
    return [f"match {version.word} {version.dscp} {value << 2:#04x} {mask << 2:#04x}" for value, mask in masks(span, 6)]


def _size(version: Version, span: Span | None) -> list[str]:
    if span is None:
        return []
    low, high = (max(0, each - version.header) for each in span)
    return [f"match u16 {value:#06x} {mask:#06x} at {version.length_at}" for value, mask in masks((low, high), 16)]


def _ack(version: Version) -> str:
    """Match short TCP with no flag but ACK and those of ECN."""
    short = f"match u16 0x0000 {0xFFFF ^ LONGEST_ACK[version.word]:#06x} at {version.length_at}"
    return f"{version.before_ack}{short} match u8 0x10 0x3f at {version.flags_at}"
