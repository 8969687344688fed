"""The `tc` and `nft` lines on a real kernel: a gateway between a home and the internet, in network namespaces."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from gamelane import _native, experiment, programs
from gamelane.catalogue import QUEUES
from gamelane.errors import LabError
from gamelane.guest import boot, uml
from gamelane.guest.kinds import SCRIPT
from gamelane.lab.namespaces import Host, Lab, missing
from tests.apply.test_recipes import PRIORITY, QUEUE
from tests.guest.guests import PATH
from tests.lab.conftest import program
from tests.lab.routed import Routed, routed
from tests.needs import lacking, needs

pytestmark = needs(all(map(shutil.which, ("tc", "nft", "ethtool"))), "needs tc, nft and ethtool")

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


def tc(name: str, keys: dict[str, str]) -> _native.Recipe:
    return _native.recipes(experiment.load(name).with_(keys).scenario)["tc"]


def settings(queue: str) -> dict[str, str]:
    limit = "4MiB" if queue == "cake" else "90p"
    keys = {**PRIORITY, QUEUE: queue, "gateway.*.limit": limit}
    own = {
        "codel": {"target": "7ms", "interval": "90ms", "ecn": "true"},
        "pie": {"target": "20ms", "update": "20ms", "ecn": "false"},
        "fq_codel": {"target": "7ms", "interval": "90ms", "quantum": "300B", "flows": "512", "ecn": "false"},
        "fq_pie": {"target": "20ms", "update": "20ms", "quantum": "300B", "flows": "512", "ecn": "true"},
        "cake": {
            **{"rtt": "50ms", "tins": "diffserv4", "isolation": "dual-srchost", "acks": "filter-aggressive"},
            **{"ingress": "true", "wash": "true"},
        },
    }
    return keys | {f"gateway.*.{key}": value for key, value in own.get(queue, {}).items()}


OVERHEADS = ("docsis", "ethernet", "atm", "ptm", '{ kind = "fixed", bytes = 44 }')


CASES = [
    *((queue, "none") for queue in QUEUES if queue != "dualpi2"),  # it came with Linux 6.17
    *product(("fifo", "cake"), OVERHEADS),
]
PASTE = """
ip link add eth0 type veth peer name eth1
ip addr add 192.0.2.1/24 dev eth0
ip neigh add 192.0.2.2 lladdr 2:0:0:0:0:2 dev eth0
ip link set eth0 up; ip link set eth1 up
state() { tc qdisc show; nft list ruleset; ip -br link | sed 's/@.*//'; }
state > before
for case in $(cat cases); do
    for time in first second; do sh $case.lines 2>&1 | sed "s/^/$case, the $time time: /"; done
    state > there
    if grep -q '6b0:' there; then
        ./python send.py 40000 27960 7 192.0.2.2
        sleep 1
        tc -s qdisc show dev eth0 | grep -A1 '6b0:' | grep -q ' 7 pkt' || echo "$case: the game has no class"
    fi
    sh $case.undo 2>&1 | sed "s/^/$case, undone: /"
    state > after
    cmp -s before after || echo "$case, undone: something stays"
    cmp -s before there && echo "$case: nothing is set"
done
echo end
"""


def test_a_kernel_with_every_queue_takes_the_lines(tmp_path: Path) -> None:
    """Twice, and undoes them."""
    try:
        guest = uml.UserModeLinux.find()
    except LabError as error:
        lacking(str(error).splitlines()[0])
    for number, (queue, overhead) in enumerate(CASES):
        recipe = tc("household", {**settings(queue), "link.overhead": overhead})
        assert recipe.matches
        (tmp_path / f"{number}-{queue}.lines").write_text("\n".join(recipe.lines()))
        (tmp_path / f"{number}-{queue}.undo").write_text("\n".join([*recipe.edit, *recipe.undo]))
    (tmp_path / "cases").write_text("\n".join(path.stem for path in sorted(tmp_path.glob("*.lines"))))
    (tmp_path / "send.py").write_text(SEND)
    (tmp_path / "paste.sh").write_text(PASTE.replace("./python", sys.executable))
    words = ["sh", "-c", "sh paste.sh > said 2>&1"]
    (tmp_path / SCRIPT).write_text(guest.script(tmp_path, PATH, words))
    boot.boot(guest, tmp_path, boot.Watch("the lines", 1, threading.Event()))
    assert (tmp_path / "said").read_text().splitlines() == ["end"]


def test_a_kernel_takes_classes_and_rules(network: Routed) -> None:
    rules = {"gateway.rule.games-and-calls.size": "28B..299B", "gateway.rule.games-and-calls.port": "5000..28000"}
    recipe = tc("classes", {"gateway.down.queue": "htb", **rules, "flow.voip.dscp": "AF41"})
    for _ in range(2):
        assert network.paste(recipe.lines()) == ""


def test_games_go_to_the_first_class_both_ways(network: Routed) -> None:
    """IPv4 and IPv6; the class of pure ACKs is the second, and all other packets go to the third."""
    recipe = tc("household", {**PRIORITY, QUEUE: "htb", "gateway.*.acks": "prioritise"})
    assert recipe.matches
    assert network.paste(recipe.lines()) == ""

    def send(at: Host, source: int, destination: int, host: str, count: int) -> None:
        at.run("python3", "-c", SEND, str(source), str(destination), str(count), host)

    before_up, before_down = network.packets("eth0"), network.packets("eth1")
    for to, back in (("10.9.2.2", "10.9.1.2"), ("fd09:2::2", "fd09:1::2")):
        send(network.home, 40000, 27960, to, 20)
        send(network.home, 27960, 40000, to, 7)  # the port at the wrong end
        send(network.internet, 27960, 40000, back, 20)
        send(network.internet, 40000, 27960, back, 7)
    up, down = network.packets("eth0"), network.packets("eth1")
    for found, before in ((up, before_up), (down, before_down)):
        assert found["6a0:2"] - before["6a0:2"] == 40
        assert found["6a0:3"] - before["6a0:3"] == 0
        assert found["6a0:4"] - before["6a0:4"] >= 14  # also ARP, neighbour discovery and ICMP

    server = network.lab.start(network.internet, "python3", "-c", LISTEN)
    assert server.stdout is not None
    assert server.stdout.readline() == "listening\n"
    network.home.run("python3", "-c", UPLOAD)
    assert server.wait(60) == 0
    after_up, after_down = network.packets("eth0"), network.packets("eth1")
    assert after_up["6a0:2"] == up["6a0:2"]
    assert after_down["6a0:2"] == down["6a0:2"]
    assert after_up["6a0:4"] - up["6a0:4"] >= 130  # the data
    assert after_down["6a0:3"] - down["6a0:3"] >= 30  # its ACKs
    assert after_down["6a0:4"] - down["6a0:4"] <= 20


@pytest.mark.parametrize("queue", ["fq_codel", "priority"])
def test_the_gateway_takes_its_file(network: Routed, tmp_path: Path, queue: str) -> None:
    recipe = _native.recipes(experiment.load("household").with_(settings(queue)).scenario)["gateway"]
    *file, command = recipe.apply
    assert command.startswith('gamelane-gateway run --lan "$LAN" --wan "$WAN" gamelane.toml')
    run = f"{program(programs.GATEWAY)} run --lan $LAN --wan $WAN gamelane.toml --dry-run"
    lines = [*recipe.edit, f"cd {tmp_path}", *file, f"{run} --engine user 2>&1", f"{run} 2>&1"]
    said = network.gateway.run("sh", "-c", "\n".join(lines))
    assert "policy household" in said
    assert "is not shaped" not in said
    assert "# By the kernel: it forwards between the interfaces." in said
