"""What `analyze` prints: the blame first, then lag over time, then flows with trouble, whole at every width."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gamelane import _native
from gamelane.analysis import capture_paths
from gamelane.analysis.capture import analyze
from gamelane.report.capture_flows import flows
from gamelane.report.capture_terminal import show
from tests.report import documents
from tests.report.documents import Document
from tests.snapshots import check

SNAPSHOTS = Path(__file__).parent / "snapshots"
WIDTHS = (60, 80, 120, 200)
ROWS = 20
"""The most rows of a table."""


def printed(found: Document, width: int, **options: Any) -> str:
    out = io.StringIO()
    show(json.dumps(found), Console(file=out, width=width, highlight=False, **options))
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module")
def household(folder: Path) -> Document:
    return documents.household(folder)


@pytest.fixture(scope="module")
def both() -> Document:
    """Two captures, with groups of connections that may share a path."""
    trips = capture_paths.RoundTrips()
    found = analyze([documents.SERVER, documents.CLIENT], trips)
    found["shared_paths"], _ = capture_paths.shared(found, trips)
    for capture in found["captures"]:
        capture["file"] = Path(capture["file"]).name
    return documents.timed(documents.blamed(found))


@pytest.fixture(scope="module")
def many(folder: Path) -> Document:
    return documents.many(folder)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["household", "both", "many"])
@pytest.mark.parametrize("addresses", [lambda found: found, documents.over_ipv6], ids=["IPv4", "IPv6"])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    name: str, width: int, addresses: Callable[[Document], Document], request: pytest.FixtureRequest
) -> None:
    found = addresses(request.getfixturevalue(name))
    text = printed(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    numbers = dict(re.findall(r"(\d+) = (\S+)", text))

    def whole(endpoint: str) -> str:
        host, _, port = endpoint.rpartition(":")
        return f"{numbers.get(host, host.strip('[]'))}:{port}"

    rows = re.findall(r"^(?: *[\d/]+ )? *(\S+:\d+) +(\S+:\d+) +(?:UDP|TCP)", text, re.MULTILINE)
    assert len(rows) == min(sum(flow.has_trouble for flow in flows(found)), ROWS)
    endpoints = {
        tuple(end.replace("[", "").replace("]", "") for end in (flow.client, flow.server)) for flow in flows(found)
    }
    assert {tuple(map(whole, row)) for row in rows} <= endpoints


@pytest.mark.parametrize("name", ["household", "both", "many"])
def test_a_tiny_terminal_gets_lines_too(name: str, request: pytest.FixtureRequest) -> None:
    text = json.dumps(request.getfixturevalue(name))
    for width in range(40):
        assert len(_native.capture_lines(text, width, False)) > 10


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ["household", "both", "many"])
def test_as_reviewed(name: str, width: int, request: pytest.FixtureRequest) -> None:
    check(SNAPSHOTS / f"{name}-{width}.txt", printed(request.getfixturevalue(name), width))


def test_the_first_lines_say_who_is_to_blame_and_what_to_try(household: Document) -> None:
    lines = printed(household, 200).splitlines()
    blame = household["verdict"]["blame"]
    assert lines[0] == blame["text"]
    assert lines[1] == "This is likely."
    assert lines[2:5] == ["Why:", *(f"  - {sentence}" for sentence in blame["because"])]
    assert lines[5:8] == ["What to try:", *(f"  {at}. {sentence}" for at, sentence in enumerate(blame["advice"], 1))]
    nobody = documents.without(household)
    nobody["verdict"]["blame"] |= {"who": "unknown", "sure": "guess", "because": [], "advice": []}
    nobody["verdict"]["how_sure"] = None
    assert printed(nobody, 200).splitlines()[:2] == [blame["text"], ""]


def test_without_a_judgement_the_headline_comes_first(household: Document) -> None:
    text = printed(documents.without(household, "blame", "timeline"), 200)
    assert text.startswith(household["verdict"]["headline"])
    assert "What to try" not in text
    assert "Longest wait" not in text
    absent = documents.without(household, "blame")
    absent["captures"][0]["timeline"] = None
    assert printed(absent, 200) == text


def test_flows_without_trouble_are_counted_and_have_no_row(household: Document) -> None:
    text = printed(household, 120)
    assert [flow.client for flow in flows(household) if flow.has_trouble] == ["10.1.0.0:40000"]
    assert "\n   0  10.1.0.0:40000" in text
    assert "10.1.0.1:40000  10.0.0.2:27960" not in text
    assert "2 more flows show no lag or loss: 1 game over UDP, 1 other." in text
    assert "The largest has 2.5 MB: 10.1.0.2:40000 and 10.0.0.2:27960." in text


def test_every_one_of_four_thousand_flows_is_counted_once(many: Document) -> None:
    text = printed(many, 80)
    assert len(text.splitlines()) < 80
    rows = len(re.findall(r"^ *\d+  \d+:40000 ", text, re.MULTILINE))
    assert rows == ROWS
    assert "10 more flows show lag or loss: 10 games over UDP." in text
    quiet = int(re.findall(r"^([\d,]+) more flows show no lag or loss", text, re.MULTILINE)[0].replace(",", ""))
    hidden = int(re.findall(r"^([\d,]+) more flows with fewer packets", text, re.MULTILINE)[0].replace(",", ""))
    assert rows + 10 + quiet + hidden == many["captures"][0]["flows_total"] == 4000
    assert not re.search(r"^ *\d+ .* 0/120", text, re.MULTILINE)


def test_games_with_the_most_trouble_come_first(both: Document) -> None:
    lags = [sum(sum(way.lag_ms.values()) for way in flow.ways.values()) for flow in flows(both)]
    assert lags == sorted(lags, reverse=True)
    assert len(lags) == 4


@pytest.mark.parametrize("name", ["household", "both", "many"])
def test_the_facts_are_those_of_the_verdict(name: str, request: pytest.FixtureRequest) -> None:
    """Tables and sentences stand side by side, and two programs derive them from the same document."""
    found = request.getfixturevalue(name)
    games = sorted(
        (flow for flow in flows(found) if flow.is_game), key=lambda flow: (flow.capture, flow.flow)
    )  # the order of the captures
    told = {(game["capture"], game["flow"]): game["text"] for game in found["verdict"]["games"]}
    worst = sorted(games, key=lambda flow: -flow.behind_ms("up", "down"))[: len(told)]
    assert {(flow.capture, flow.flow) for flow in worst} == set(told)
    for flow in worst:
        text = told[flow.capture, flow.flow]
        down, up = re.split(r" To the server: ", text)
        for way, words in ((flow.ways["down"], down), (flow.ways["up"], up)):
            if way.lost:
                assert f"{way.lost[0] or 'none'} of {way.lost[1]:,} lost" in words
            else:
                assert "cannot be counted" in words
            if lag_ms := sum(way.lag_ms.values()):
                assert f"Lag until delivery: {lag_ms / 1000:.1f} s" in words


def test_the_line_says_its_scale_and_little_lag_looks_little(household: Document) -> None:
    found = documents.without(household)
    timeline = found["captures"][0]["timeline"]
    line = next(line for line in printed(found, 80).splitlines() if line.startswith("lag"))
    assert line.endswith("█▁   904 ms") or line.endswith(" 904 ms")
    assert "in each 0.5 s. At the end: the highest." in " ".join(printed(found, 80).split())
    timeline["lag_ms"] = [lag / 100 for lag in timeline["lag_ms"]]
    line = next(line for line in printed(found, 80).splitlines() if line.startswith("lag"))
    assert set(line.removeprefix("lag").removesuffix("9 ms")) == {" ", "▁"}
    timeline["lag_ms"] = [0.0] * len(timeline["lag_ms"])
    line = next(line for line in printed(found, 80).splitlines() if line.startswith("lag"))
    assert line.split() == ["lag", "none"]


def test_the_caption_says_from_when_a_wait_counts(household: Document) -> None:
    text = " ".join(printed(household, 80).split())
    assert "Longest wait of a game beyond its tick, and load of all flows, in each" in text
    found = documents.without(household)
    found["captures"][0]["timeline"]["wait"] = None
    assert "0 20.25 s Load of all flows, in each 0.5 s." in " ".join(printed(found, 80).split())
    assert not any(line.startswith("lag ") for line in printed(found, 80).splitlines())


@pytest.mark.parametrize("name", ["household", "both", "many"])
def test_columns_that_a_terminal_has_no_room_for_are_named(name: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(name)
    assert "Wider terminals" not in printed(found, 200)
    every = next(line for line in printed(found, 200).splitlines() if line.startswith("flow "))
    text = printed(found, 60)
    [missing] = re.findall(r"^Wider terminals also show (.*)\.$", text, re.MULTILINE)
    kept = next(line for line in text.splitlines() if line.startswith("flow "))
    shown = re.findall(r"\w+", kept.replace(" ms", ""))
    assert set(shown) | set(missing.split(", ")) == set(re.findall(r"\w+", every.replace(" ms", "")))


def test_a_terminal_without_blocks_gets_ascii(household: Document) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    found = documents.without(household)
    show(json.dumps(found), Console(file=out, width=80, highlight=False))
    out.flush()
    assert "#" in out.buffer.getvalue().decode()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_group_of_many_connections_names_as_many_as_fit(both: Document, width: int) -> None:
    found = documents.without(both, "timeline")
    rtt = {"min": 20.0, "p50": 30.0}
    shared = found["shared_paths"]
    shared["connections"] = [
        {"address": f"[2001:db8:85a3::8a2e:{at:x}]:{50_000 + at}", "rtt_ms": rtt} for at in range(175)
    ]
    shared["variants"] = {"plain": {"groups": [list(range(170)), [170, 171], [172]]}}
    text = printed(found, width)
    assert max(map(len, text.splitlines())) <= width
    row = next(line for line in text.splitlines() if line.startswith("plain") and " 170 " in line)
    *named, last = re.findall(r"\d+:50\d{3}", row)
    more = int(row.rpartition(" and ")[2].removesuffix(" more"))
    assert len(named) + 1 + more == 170
    assert last in row
    assert re.search(r"^plain +2 .*\d+:50170, \d+:50171$", text, re.MULTILINE)


def test_two_interfaces_of_one_file_have_a_table_each(both: Document) -> None:
    found = documents.without(both, "timeline")
    for capture in found["captures"]:
        capture["file"] = "both.pcapng"
    found["pair"]["flows"] = []
    text = printed(found, 120)
    assert text.count("10.79.0.2:34732  10.79.0.1:13327") == 2
