"""Ranges as masks, and rules as filters."""

from __future__ import annotations

import random

import pytest

from gamelane.apply import nft, u32
from gamelane.apply.match import Match, code_point


@pytest.mark.parametrize("span", [(0, 65535), (7, 7), (0, 300), (27960, 27970), (65535, 65535), (1, 65534)])
def test_masks_cover_a_range_exactly(span: tuple[int, int]) -> None:
    covered = [number for value, mask in u32.masks(span, 16) for number in range(value, value + (1 << 16) - mask)]
    assert sorted(covered) == list(range(span[0], span[1] + 1))


def test_masks_of_random_ranges_match_their_numbers_only() -> None:
    draw = random.Random(1)
    for _ in range(100):
        low, high = sorted(draw.choices(range(64), k=2))
        pairs = list(u32.masks((low, high), 6))
        assert [any(number & mask == value for value, mask in pairs) for number in range(64)] == [
            low <= number <= high for number in range(64)
        ]


def test_a_rule_with_ports_and_no_protocol_is_for_udp_and_tcp() -> None:
    match = Match(destination=(27960, 27961), size=(0, 127))
    said = list(u32.selectors(match, u32.VERSIONS[0]))
    assert said == [
        f"match ip protocol {number} 0xff match ip dport 27960 0xfffe match u16 0x0000 0xff80 at 2"
        for number in (6, 17)
    ]
    assert nft.expressions(match) == [
        "ip length 0-127 meta l4proto { tcp, udp } th dport 27960-27961",
        "ip6 length 0-87 meta l4proto { tcp, udp } th dport 27960-27961",
    ]


def test_code_points_by_name() -> None:
    assert [code_point(word) for word in ("CS0", "CS6", "AF41", "EF", "VA", "LE", "17")] == [0, 48, 34, 46, 44, 1, 17]
