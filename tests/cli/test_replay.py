"""`gamelane replay`: real captures of a role-playing game over TCP, 2 % of packets lost each way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import gamelane

CAPTURES = Path(__file__).parent.parent / "captures"
SERVER, CLIENT = (str(CAPTURES / f"thin-tcp-wan-{end}.pcapng.gz") for end in ("srv", "cli"))
Lag = dict[str, Any]
OWN_TCP = ("--set", "flow.replay.tcp.recovery=rack", "--set", "flow.replay.tcp.congestion=cubic")
OWN_LINK = ("--rtt", "100ms", "--loss", "2%")


@pytest.fixture(scope="module")
def beside() -> Lag:
    done = gamelane("replay", SERVER, "--other-end", CLIENT, *OWN_LINK, *OWN_TCP, "--repeat", "3", "--json")
    assert done.returncode == 0, done.stderr
    lag: Lag = json.loads(done.stdout)["lag_ms"]
    return lag


def test_every_message_of_the_capture_is_replayed(beside: Lag) -> None:
    for way in ("up", "down"):
        assert beside["replay"]["run"][way]["packets"] == pytest.approx(3 * beside["capture"][way]["packets"], rel=0.01)


def test_the_lag_is_that_of_the_real_kernel(beside: Lag) -> None:
    """Means within a third; down, Nagle at the real server makes the tail longer (docs/models/mmo.md)."""
    real, ours = beside["capture"], beside["replay"]["run"]
    for way in ("up", "down"):
        assert ours[way]["mean"] == pytest.approx(real[way]["mean"], rel=0.33)
        assert ours[way]["p50"] == pytest.approx(real[way]["p50"], abs=0.5)
    assert ours["up"]["p99"] == pytest.approx(real["up"]["p99"], rel=0.1)
    assert ours["down"]["p99"] < real["down"]["p99"]


def test_a_remedy_is_a_variant() -> None:
    done = gamelane("replay", SERVER, *OWN_LINK, "--compare", "flow.replay.tcp.timer=linux-6,modified", "--json", "-q")
    assert done.returncode == 0, done.stderr
    variants = json.loads(done.stdout)["variants"]
    tail = {name: of["runs"][0]["flows"]["replay"]["thin"]["up"]["delivery_ms"]["p99"] for name, of in variants.items()}
    assert tail["modified"] < tail["linux-6"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.pcapng",), "No such file"),
        ((str(CAPTURES / "openarena-4p-srv.pcapng.gz"),), "there is no TCP connection in this capture"),
        ((SERVER, "--rtt", "100"), "link.rtt"),
        ((SERVER, "--other-end", str(CAPTURES / "thin-tcp-lan-cli.pcapng.gz")), "no TCP data appears in both captures"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str) -> None:
    done = gamelane("replay", *arguments)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
