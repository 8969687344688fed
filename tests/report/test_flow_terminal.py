"""What `analyze --flow` prints of a flow: whole at every width, names before numbers."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from gamelane.analysis.capture import analyze
from gamelane.report.flow_terminal import show
from tests.report import documents
from tests.report.documents import Document


def printed(flow: Document, width: int) -> str:
    out = io.StringIO()
    show(flow, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.fixture(scope="module")
def tcp() -> Document:
    flow: Document = analyze([documents.SERVER])["captures"][0]["flows"][2]
    return flow


@pytest.fixture(scope="module")
def udp(tmp_path_factory: pytest.TempPathFactory) -> Document:
    flow: Document = documents.household(tmp_path_factory.mktemp("captures"))["captures"][0]["flows"][0]
    return flow


@pytest.mark.parametrize("width", [44, 60, 80, 160])
@pytest.mark.parametrize("name", ["tcp", "udp"])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(
    name: str, width: int, request: pytest.FixtureRequest
) -> None:
    flow = request.getfixturevalue(name)
    text = printed(flow, width)
    assert max(map(len, text.splitlines())) <= width
    assert sorted(text.split()) == sorted(printed(flow, 1000).split())


def test_a_name_of_two_lines_goes_on_indented(tcp: Document) -> None:
    lines = [line[:23].rstrip() for line in printed(tcp, 60).splitlines()]
    at = lines.index("  packets in flight,")
    assert lines[at + 1] == "    p50, p95"
    at = lines.index("    by fast")
    assert lines[at + 1] == "      retransmission"


def test_numbers_stand_below_the_name_on_a_very_narrow_terminal(tcp: Document) -> None:
    assert re.search(r"\n    by fast retransmission\n {4}9, lag 0\.5 s +4, lag 2\.0 s\n", printed(tcp, 44))


def test_rates_have_the_unit_of_the_highest(udp: Document) -> None:
    assert "kbit/s, mean and highest of 1 s" in printed(udp, 100)
    fast = udp | {"up": udp["up"] | {"throughput_bps": {"mean": 1_500_000.0, "peak_1s": 2_000_000}}}
    assert re.search(r"Mbit/s, mean and highest of 1 s +1\.5, 2\.0 +0\.0, 0\.0", printed(fast, 100))
