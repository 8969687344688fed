"""`gamelane replay`: real captures of a role-playing game over TCP, 2 % of packets lost each way."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterator
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
    done = gamelane("replay", SERVER, "--other-end", CLIENT, *OWN_LINK, *OWN_TCP, "--repeat", "20", "--json")
    assert done.returncode == 0, done.stderr
    lag: Lag = json.loads(done.stdout)["lag_ms"]
    return lag


def test_every_message_of_the_capture_is_replayed(beside: Lag) -> None:
    for way in ("up", "down"):
        replayed, real = beside["replay"]["run"][way]["packets"], beside["capture"][way]["packets"]
        assert replayed == pytest.approx(20 * real, rel=0.01)


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
        ((str(CAPTURES / "openarena-4p-srv.pcapng.gz"),), "found:   0 TCP connections, 1 UDP flow"),
        ((SERVER, "--rtt", "100"), "link.rtt"),
        ((SERVER, "--other-end", str(CAPTURES / "thin-tcp-lan-cli.pcapng.gz")), "have no TCP data in common"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str) -> None:
    done = gamelane("replay", *arguments)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game over UDP beside an upload."""
    folder = tmp_path_factory.mktemp("match")
    done = gamelane("run", "match-replay", "--set", "duration=12s", "--pcap", "-o", folder, "-q")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("point", ["server", "lan", "wan"])
def test_an_upload_beside_a_game_over_udp_is_refused_with_what_the_capture_has(simulated: Path, point: str) -> None:
    capture = simulated / f"seed1-{point}.pcapng"
    done = gamelane("replay", capture, "--rtt", "100ms", "--loss", "2%")
    assert done.returncode == 2, done.stdout
    first, has, allowed, hint, *_ = done.stderr.splitlines()
    assert first == f"error: {capture}: no TCP connection in which a server sent data to its player"
    assert has.startswith("  found:   1 TCP connection with ")
    assert has.endswith(" kB to the server and 0 B to the client, 1 UDP flow")
    assert allowed.startswith("  allowed: games over TCP")
    assert f'trace = "{capture.name}"' in hint


def test_a_download_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "download.toml"
    queue = '{ queue = "fifo", limit = "100p" }'
    scenario.write_text(
        'name = "download"\nquestion = "?"\nduration = "5s"\n[link]\ndown = "12mbit"\nup = "1mbit"\nrtt = "40ms"\n'
        f'[gateway]\nup = {queue}\ndown = {queue}\n[[flow]]\nname = "get"\napp = "bulk"\ndirection = "down"\n'
    )
    assert gamelane("run", scenario, "--pcap", "-o", tmp_path / "out", "-q").returncode == 0
    done = gamelane("replay", tmp_path / "out" / "seed1-server.pcapng")
    assert done.returncode == 2, done.stdout
    assert "its TCP connections are transfers" in done.stderr
    assert "hint:    record a game over TCP" in done.stderr


def test_one_direction_is_replayed_if_it_is_the_one_to_the_players(tmp_path: Path) -> None:
    content = gzip.decompress(Path(SERVER).read_bytes())
    server = bytes([10, 79, 0, 1])
    for name, place, code in (("down", 12, 0), ("up", 16, 2)):
        capture = tmp_path / f"{name}.pcapng"
        # Raw IPv4, with the source at 12 and the destination at 16.
        capture.write_bytes(b"".join(block for block in blocks(content) if ends(block, place) in (None, server)))
        done = gamelane("replay", capture, *OWN_LINK, "--json", "-q")
        assert done.returncode == code, done.stderr
        if code == 0:
            thin = json.loads(done.stdout)["runs"][0]["flows"]["replay"]["thin"]
            assert thin["down"]["messages"] > 9000
            assert thin["up"]["messages"] == 0
        else:
            assert "0 B to the client" in done.stderr


def blocks(content: bytes) -> Iterator[bytes]:
    """The blocks of a pcapng."""
    at = 0
    while at < len(content):
        length = struct.unpack_from("<I", content, at + 4)[0]
        yield content[at : at + length]
        at += length


def ends(block: bytes, at: int) -> bytes | None:
    """The address at this place of a packet; None if the block has no packet."""
    return block[28 + at : 32 + at] if struct.unpack_from("<I", block)[0] == 6 else None


def test_a_capture_without_packets_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
    done = gamelane("replay", empty)
    assert done.returncode == 2
    assert f"{empty}: no TCP connection in which" in done.stderr
    assert "found:   0 TCP connections, 0 UDP flows" in done.stderr
    for no_file in ("-", str(tmp_path)):
        done = gamelane("replay", no_file)
        assert done.returncode == 2
        assert "replay needs one capture file" in done.stderr
