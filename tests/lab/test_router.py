"""Captures on all interfaces of a real router that translates addresses agree with a capture on one of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamelane.analysis.capture import analyze
from gamelane.lab.namespaces import Host, Lab, missing
from tests.needs import lacking

PLAYER, SERVER = "192.168.7.2", "203.0.113.5"

GAME_SERVER = """
import socket, struct, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    link.bind(("", 27960))
    link.settimeout(60)
    print("listening", flush=True)
    peer = link.recvfrom(2000)[1]
    link.setblocking(False)
    for number in range(120):
        link.sendto(struct.pack("<I", number) + bytes(120 + number % 30), peer)
        time.sleep(0.05)
"""
GAME_CLIENT = """
import socket, struct, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    link.bind(("", 27960))
    for number in range(160):
        link.sendto(struct.pack("<I", number) + bytes(40 + number % 11), ("203.0.113.5", 27960))
        time.sleep(0.033)
"""
MARK = b"the last packet of the recordings"
MARKER = f"""
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    link.sendto({MARK!r}, ("203.0.113.5", 27960))
"""
ROUTER = """
ip addr add 192.168.7.1/24 dev lan
ip addr add 203.0.113.7/24 dev wan
sysctl -qw net.ipv4.ip_forward=1
nft add table ip nat
nft 'add chain ip nat post { type nat hook postrouting priority 100; }'
nft add rule ip nat post oifname wan masquerade
tc qdisc add dev wan root tbf rate 2mbit burst 5k limit 60k
"""
RECORDINGS = {
    "lan": ("-i", "lan"),
    "sll": ("-i", "any", "-y", "LINUX_SLL"),
    "sll2": ("-i", "any", "-y", "LINUX_SLL2"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Record a game and an upload at a router whose queue to the internet is full."""
    if why := missing():
        lacking(why)
    for tool in ("nft", "tc", "tcpdump", "iperf3"):
        if shutil.which(tool) is None:
            lacking(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("router")
    with Lab() as lab:
        player, router, server = lab.host("player"), lab.host("router", bridge=True), lab.host("server")
        lab.link(player, router, names=("eth0", "lan"))
        lab.link(server, router, names=("eth0", "wan"))
        player.run("sh", "-ec", f"ip addr add {PLAYER}/24 dev eth0; ip route add default via 192.168.7.1")
        server.run("sh", "-ec", f"ip addr add {SERVER}/24 dev eth0")
        router.run("sh", "-ec", ROUTER)
        recorders = [_recorder(lab, router, folder / name, how) for name, how in RECORDINGS.items()]
        upload = lab.start(server, "iperf3", "-s", "-1", "--forceflush", log=folder / "iperf3.log")
        answers = lab.start(server, sys.executable, "-c", GAME_SERVER, log=folder / "game.log")
        for name in (*RECORDINGS, "iperf3", "game"):
            _wait_for(b"listening", folder / f"{name}.log")
        # Its time runs from here, so it starts last. It says on stderr what it has seen once it records.
        live = lab.start(
            router, "sh", "-c", 'exec "$@" > "$0"', folder / "live.json",
            sys.executable, "-m", "gamelane", "capture", "any", "--duration", "9s", "--json", log=folder / "live.log",
        )  # fmt: skip
        _wait_for(b"any", folder / "live.log")
        game = lab.start(player, sys.executable, "-c", GAME_CLIENT)
        player.run("iperf3", "-c", SERVER, "-t", "5", "-C", "cubic")
        for program in (game, upload, answers, live):
            assert program.wait(PATIENCE_S) == 0
        player.run(sys.executable, "-c", MARKER)
        for name in RECORDINGS:
            # Translated addresses: on all interfaces it is seen twice.
            _wait_for(MARK, folder / f"{name}.pcap", times=1 if name == "lan" else 2)
        for recorder in recorders:
            recorder.terminate()
            recorder.wait(PATIENCE_S)
        yield folder


PATIENCE_S = 60.0
"""How long a program may take to start or to end on a busy machine."""


def _recorder(lab: Lab, router: Host, name: Path, how: tuple[str, ...]) -> subprocess.Popen[str]:
    return lab.start(
        router, "tcpdump", "-n", "-U", "-B", "16384", *how, "-w", name.with_suffix(".pcap"), "tcp or udp port 27960",
        log=name.with_suffix(".log"),
    )  # fmt: skip


def _wait_for(word: bytes, file: Path, times: int = 1) -> None:
    until = time.monotonic() + PATIENCE_S
    while file.read_bytes().lower().count(word) < times:
        assert time.monotonic() < until, f"{file.name} has {word!r} less than {times} times"
        time.sleep(0.02)


def flows(capture: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(flow["client"].split(":")[0], flow["server"]): flow for flow in capture["flows"] if big(flow)}


def big(flow: dict[str, Any]) -> bool:
    return bool(flow["up"]["packets"] > 100)


@pytest.mark.parametrize("name", ["sll", "sll2"])
def test_all_interfaces_of_a_router_are_one_capture_point(recorded: Path, name: str) -> None:
    [one] = analyze([str(recorded / "lan.pcap")])["captures"]
    [every] = analyze([str(recorded / f"{name}.pcap")])["captures"]
    expected, found = flows(one), flows(every)
    assert set(found) == set(expected) == {(PLAYER, f"{SERVER}:5201"), (PLAYER, f"{SERVER}:27960")}
    assert every["flows_total"] == one["flows_total"]
    upload = found[PLAYER, f"{SERVER}:5201"]
    for way in ("up", "down"):
        for of, as_ in ((flow[way], expected[key][way]) for key, flow in found.items()):
            assert (of["packets"], of["bytes"]) == (as_["packets"], as_["bytes"])
        in_lan = expected[PLAYER, f"{SERVER}:5201"]["tcp"][way]
        assert upload["tcp"][way]["resent"] == in_lan["resent"]
    # The queue to the internet holds 60 kB, 240 ms at 2 Mbit/s. The way back has none, but a busy machine adds delay.
    inside_ms = {way: upload[way]["copies"]["after_ms"]["p95"] for way in ("up", "down")}
    assert inside_ms["up"] > 100
    assert inside_ms["down"] < inside_ms["up"] / 10
    game = found[PLAYER, f"{SERVER}:27960"]["udp"]
    assert game["behaviour"] == "game"
    assert [game[way]["numbered"]["missing"] for way in ("up", "down")] == [0, 0]


def test_a_live_recording_of_all_interfaces_is_one_capture_point(recorded: Path) -> None:
    [capture] = json.loads((recorded / "live.json").read_text())["captures"]
    found = flows(capture)
    assert set(found) == {(PLAYER, f"{SERVER}:5201"), (PLAYER, f"{SERVER}:27960")}
    assert found[PLAYER, f"{SERVER}:27960"]["udp"]["behaviour"] == "game"
    assert capture["set_aside"] > 0.4 * capture["packets"]
