"""The `tc` and `nft` lines on a real kernel: a gateway between a home and the internet, in network namespaces."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from gamelane import experiment, programs
from gamelane.apply import recipes
from gamelane.apply.recipe import Recipe
from gamelane.catalogue import QUEUES
from gamelane.lab.namespaces import Host, Lab, missing
from tests.apply.test_recipes import PRIORITY, QUEUE
from tests.lab.conftest import program
from tests.lab.routed import Routed, routed
from tests.needs import lacking, needs

pytestmark = needs(all(map(shutil.which, ("tc", "nft", "ethtool"))), "needs tc, nft and ethtool")

UNKNOWN_KIND = "Error: Specified qdisc kind is unknown."
"""What a kernel says that lacks a discipline. `tc` has understood the line then."""

SEND = """
import socket, sys
source, destination, count, host = *map(int, sys.argv[1:4]), sys.argv[4]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as at:
    at.bind(("", source))
    for _ in range(count):
        at.sendto(b"x" * 60, (host, destination))
"""
LISTEN = """
import socket
with socket.create_server(("", 7000)) as at:
    print("listening", flush=True)
    link, _ = at.accept()
    with link:
        while link.recv(1 << 16):
            pass
"""
UPLOAD = """
import socket
with socket.create_connection(("10.9.2.2", 7000)) as link:
    link.sendall(bytes(200_000))
"""


@pytest.fixture
def network() -> Iterator[Routed]:
    if why := missing():
        lacking(why)
    with Lab() as lab:
        yield routed(lab)


def tc(name: str, keys: dict[str, str]) -> Recipe:
    return recipes(experiment.load(name).with_(keys).scenario)["tc"]


def settings(queue: str) -> dict[str, str]:
    limit = "4MiB" if queue == "cake" else "90p"
    keys = {**PRIORITY, QUEUE: queue, "gateway.*.limit": limit}
    own = {
        "codel": {"target": "7ms", "interval": "90ms", "ecn": "true"},
        "pie": {"target": "20ms", "update": "20ms", "ecn": "false"},
        "fq_codel": {"target": "7ms", "interval": "90ms", "quantum": "300B", "flows": "512", "ecn": "false"},
        "fq_pie": {"target": "20ms", "update": "20ms", "quantum": "300B", "flows": "512", "ecn": "true"},
        "cake": {"rtt": "50ms", "tins": "diffserv4", "isolation": "dual-srchost", "acks": "filter-aggressive"},
    }
    return keys | {f"gateway.*.{key}": value for key, value in own.get(queue, {}).items()}


def understood(said: str) -> bool:
    """Whether a shell complained of nothing but a discipline that this kernel lacks."""
    left = [line for line in said.splitlines() if line != UNKNOWN_KIND]
    # iproute2 knows DualPI2 from 6.18 on.
    return not [line for line in left if not line.startswith('Unknown qdisc "dualpi2"')]


OVERHEADS = ("docsis", "ethernet", "atm", "ptm", '{ kind = "fixed", bytes = 44 }')


@pytest.mark.parametrize(
    ("queue", "overhead"),
    [*((queue, "none") for queue in QUEUES), *product(("fifo", "cake"), OVERHEADS)],
)
def test_a_kernel_takes_the_lines(network: Routed, queue: str, overhead: str) -> None:
    recipe = tc("household", {**settings(queue), "link.overhead": overhead})
    before = state(network)
    for _ in range(2):
        said = network.paste(recipe.lines())
        assert understood(said), said
    assert not network.paste([*recipe.edit, *recipe.undo])
    assert state(network) == before


def test_a_kernel_takes_classes_and_rules(network: Routed) -> None:
    rules = {"gateway.rule.games-and-calls.size": "28B..299B", "gateway.rule.games-and-calls.port": "5000..28000"}
    recipe = tc("classes", {"gateway.down.queue": "htb", **rules, "flow.voip.dscp": "AF41"})
    for _ in range(2):
        assert network.paste(recipe.lines()) == ""


def state(network: Routed) -> tuple[str, ...]:
    """Return what the lines may change."""
    links = sorted(each["ifname"] for each in network.gateway.ip("link"))
    qdiscs = network.gateway.run("tc", "qdisc", "show", "dev", "eth0")
    return (qdiscs, network.gateway.run("nft", "list", "ruleset"), *links)


@pytest.mark.parametrize("queue", ["priority", "drr", "htb"])
def test_games_go_to_the_first_class_both_ways(network: Routed, queue: str) -> None:
    """IPv4 and IPv6; the class of pure ACKs is the second, and all other packets go to the third."""
    recipe = tc("household", {**PRIORITY, QUEUE: queue, "gateway.*.acks": "prioritise"})
    assert recipe.matches
    assert network.paste(recipe.lines()) == ""

    def send(at: Host, source: int, destination: int, host: str, count: int) -> None:
        at.run("python3", "-c", SEND, str(source), str(destination), str(count), host)

    before_up, before_down = network.packets("eth0"), network.packets("ifb-wan")
    for to, back in (("10.9.2.2", "10.9.1.2"), ("fd09:2::2", "fd09:1::2")):
        send(network.home, 40000, 27960, to, 20)
        send(network.home, 27960, 40000, to, 7)  # the port at the wrong end
        send(network.internet, 27960, 40000, back, 20)
        send(network.internet, 40000, 27960, back, 7)
    up, down = network.packets("eth0"), network.packets("ifb-wan")
    for found, before in ((up, before_up), (down, before_down)):
        assert found["1:10"] - before["1:10"] == 40
        assert found["1:20"] - before["1:20"] == 0
        assert found["1:30"] - before["1:30"] >= 14  # also ARP, neighbour discovery and ICMP

    server = network.lab.start(network.internet, "python3", "-c", LISTEN)
    assert server.stdout is not None
    assert server.stdout.readline() == "listening\n"
    network.home.run("python3", "-c", UPLOAD)
    assert server.wait(60) == 0
    after_up, after_down = network.packets("eth0"), network.packets("ifb-wan")
    assert after_up["1:10"] == up["1:10"]
    assert after_down["1:10"] == down["1:10"]
    assert after_up["1:30"] - up["1:30"] >= 130  # the data
    assert after_down["1:20"] - down["1:20"] >= 30  # its ACKs
    assert after_down["1:30"] - down["1:30"] <= 20


@pytest.mark.parametrize("queue", ["fq_codel", "priority"])
def test_the_gateway_takes_its_file(network: Routed, tmp_path: Path, queue: str) -> None:
    recipe = recipes(experiment.load("household").with_(settings(queue)).scenario)["gateway"]
    *file, command = recipe.apply
    assert command.startswith('gamelane gateway run --lan "$LAN" --wan "$WAN" gamelane.toml')
    run = f"{program(programs.GATEWAY)} run --lan $LAN --wan $WAN gamelane.toml --dry-run"
    lines = [*recipe.edit, f"cd {tmp_path}", *file, f"{run} --engine user 2>&1", f"{run} 2>&1"]
    said = network.gateway.run("sh", "-c", "\n".join(lines))
    assert "policy household" in said
    assert "is not shaped" not in said
    assert "# By the kernel: it forwards between the interfaces." in said
