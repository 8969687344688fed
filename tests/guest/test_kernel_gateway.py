"""`gamelane-gateway run --engine kernel` on a kernel that has every queue, in a guest."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.errors import LabError
from gamelane.guest import boot, uml
from gamelane.guest.kinds import SCRIPT
from tests.conftest import ROOT
from tests.guest.guests import PATH, said_by
from tests.needs import lacking

FRAMINGS = ("none", "ethernet", "docsis", "atm", "ptm")
QUEUES = (
    'queue = "fifo"',
    'queue = "fifo", limit = "64KiB"',
    'queue = "codel", target = "7ms", ecn = true',
    'queue = "pie", target = "20ms"',
    'queue = "fq_codel", flows = 512, quantum = "300B"',
    'queue = "fq_pie", limit = "2000p"',
    'queue = "cake", rtt = "50ms", tins = "diffserv4", isolation = "dual-srchost", acks = "filter"',
    'queue = "cake", tins = "besteffort", isolation = "flows", limit = "4MiB", ingress = true, wash = true',
    'queue = "cake", tins = "diffserv8", isolation = "dual-dsthost", acks = "filter-aggressive"',
    'queue = "cake", tins = "precedence", isolation = "hosts"',
    'queue = "cake", isolation = "srchost"',
    'queue = "cake", isolation = "dsthost"',
    'queue = "cake", isolation = "flowblind"',
    'queue = "cake", bandwidth = false',
    'queue = "priority"',
    'queue = "drr"',
    'queue = "htb"',
)
CLASSES = """
[[gateway.class]]
name = "first"
rate = "40%"
quantum = "3000B"
queue = { queue = "fq_codel" }
[[gateway.class]]
name = "rest"
rate = "40%"
queue = { queue = "pie" }
[[gateway.rule]]
class = "first"
protocol = "udp"
"""


LIVES = (
    "a second gateway is refused",
    "a reload loses nothing",
    "SIGTERM leaves nothing",
    "SIGKILL leaves nothing",
    "--persist leaves everything",
    "undo leaves nothing",
)
ON_A_LINE = ("fq_codel wan", "cake wan", "cake lan", "htb lan", "priority lan")
FOREIGN = ("a foreign queue stays", "--replace names it", "--replace removes it")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what the programs for the guest print, in one boot."""
    try:
        guest = uml.UserModeLinux.find()
    except LabError as error:
        lacking(str(error).splitlines()[0])
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "cases").write_text("".join(f"{case}\n" for case in _cases()))
    (folder / "queues").write_text("".join(f"{queue}\n" for queue in QUEUES))
    (folder / "classes.toml").write_text(CLASSES)
    here, program = ROOT / "tests" / "guest", programs.GATEWAY.find()
    runs = ("sh", "kernel_gateway.sh"), (sys.executable, "life_guest.py"), (sys.executable, "router_guest.py")
    script = "; ".join(f"{by} {here}/{file} {program} >> said 2>&1" for by, file in runs)
    (folder / SCRIPT).write_text(guest.script(folder, PATH, ["sh", "-c", script]))
    boot.boot(guest, folder, boot.Watch("the gateway's queues", 1, threading.Event()))
    return (folder / "said").read_text().splitlines()


def _cases() -> list[str]:
    return [f"{framing} {queue}" for queue in QUEUES for framing in FRAMINGS]


def test_every_queue_is_set_as_tc_sets_it(said: list[str]) -> None:
    refused = [
        "ends with 5",
        "`gateway.priority`: it needs to see single packets",
        "single packets are not seen: this kernel was built without type information",
    ]
    expected = [*(f"same: {case}" for case in _cases()), *refused]
    assert said[: len(expected)] == expected


def test_every_queue_survives_a_reload_and_ends_as_it_should(said: list[str]) -> None:
    lives = [f"yes: {what}: {queue}" for queue in QUEUES for what in LIVES]
    foreign = [f"yes: {what}: {where}" for where in ("root", "ingress") for what in FOREIGN]
    expected = [*lives, *foreign, "yes: the module is named: dualpi2"]
    begin = said.index(expected[0])
    assert said[begin : begin + len(expected)] == expected


def _on(lines: tuple[str, ...], *whats: str) -> list[str]:
    return [
        f"yes: {line} {case}: {what}"
        for line in lines
        for case in ON_A_LINE
        for what in whats
        if what != "classes" or case.startswith(("htb", "priority"))
    ]


def test_a_router_shapes_a_vlan_and_pppoe_behind_address_translation(said: list[str]) -> None:
    expected = _on(("wan.7", "ppp0"), "up at its rate", "down at its rate", "classes", "nothing stays")
    assert [each.split(",")[0] for each in said[-len(expected) :]] == expected


def test_a_router_sees_every_packet_of_a_vlan_with_the_homes_address(tmp_path: Path) -> None:
    """Debian's kernel for clouds has type information and no PPPoE."""
    said = said_by("router_guest.py", tmp_path, "nft")
    rates = ("up at its rate", "down at its rate", "classes")
    expected = _on(("wan.7",), *rates, "every packet up is seen", "nothing stays")
    assert [each.split(",")[0] for each in said] == [*expected, "this kernel has no PPPoE"]


def test_autorate_sets_the_rate_of_htb_and_cakes_own(tmp_path: Path) -> None:
    said = said_by("autorate_guest.py", tmp_path, "nft")
    expected = [
        f"yes: {queue}: {what}"
        for queue in ("fq_codel", "cake")
        for what in ("its rate follows", "more than once", "nothing stays")
    ]
    assert [each.split(",")[0] for each in said if each.startswith(("yes", "no:"))] == expected, said
