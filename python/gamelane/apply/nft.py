"""Writes a match as rules of nftables that set the packet's priority, which HTB reads as its class.

The kernel's `skb->priority` holds a class id if an application or a rule put it there (tc-htb(8), CLASSIFICATION).
"""

from __future__ import annotations

from collections.abc import Sequence

from gamelane.apply.match import IPV6_HEADER, LONGEST_ACK, Match, Ports, Span

TABLE = "inet gamelane"
ACK = "tcp flags & (fin | syn | rst | psh | ack | urg) == ack"


def table(device: str, rules: Sequence[tuple[Match, str]]) -> list[str]:
    """Return the lines that load the table. It is for packets that leave through `device`; the first match decides."""
    found = [
        "nft -f - <<END",
        f"table {TABLE} {{",
        "  chain up {",
        "    type filter hook postrouting priority mangle;",
        f'    oifname != "{device}" accept',
    ]
    for match, classid in rules:
        found += [f"    {conditions} meta priority set {classid} accept" for conditions in expressions(match)]
    return [*found, "  }", "}", "END"]


def expressions(match: Match) -> list[str]:
    """Return the conditions, in one rule if both versions of IP share it."""
    transport = _transport(match)
    if match.dscp is None and match.size is None and not match.ack:
        return [" ".join(transport)]
    return [
        " ".join([*_of_version(match, "ip", 0), *transport]),
        " ".join([*_of_version(match, "ip6", IPV6_HEADER), *transport]),
    ]


def _of_version(match: Match, ip: str, header: int) -> list[str]:
    found = []
    if match.dscp is not None:
        found.append(f"{ip} dscp {_range(match.dscp)}")
    if match.size is not None:
        low, high = (max(0, each - header) for each in match.size)
        found.append(f"{ip} length {_range((low, high))}")
    if match.ack:
        found.append(f"{ip} length <= {LONGEST_ACK[ip]}")
    return found


def _transport(match: Match) -> list[str]:
    found = []
    header = match.protocol or "th"
    has_ports = match.source is not None or match.destination is not None
    if match.protocol is None and has_ports:
        found.append("meta l4proto { tcp, udp }")
    elif match.protocol is not None and not has_ports and not match.ack:
        found.append(f"meta l4proto {match.protocol}")
    if match.source is not None:
        found.append(f"{header} sport {_range(match.source)}")
    if match.destination is not None:
        found.append(f"{header} dport {_range(match.destination)}")
    if match.ack:
        found.append(ACK)
    return found


def _range(span: Ports | Span) -> str:
    if isinstance(span, str):
        return span
    low, high = span
    return str(low) if low == high else f"{low}-{high}"
