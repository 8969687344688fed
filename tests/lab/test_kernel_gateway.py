"""`gamelane-gateway run --engine kernel` on a kernel that has every queue, in a guest."""

from __future__ import annotations

import threading
from pathlib import Path

from gamelane import programs
from gamelane.errors import LabError
from gamelane.guest import boot, uml
from gamelane.guest.kinds import SCRIPT
from tests.conftest import ROOT
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
    'queue = "cake", tins = "besteffort", isolation = "flows", limit = "4MiB"',
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


def test_every_queue_is_set_as_tc_sets_it(tmp_path: Path) -> None:
    try:
        guest = uml.UserModeLinux.find()
    except LabError as error:
        lacking(str(error).splitlines()[0])
    cases = [f"{framing} {queue}" for queue in QUEUES for framing in FRAMINGS]
    (tmp_path / "cases").write_text("".join(f"{case}\n" for case in cases))
    (tmp_path / "classes.toml").write_text(CLASSES)
    script = ROOT / "tests" / "lab" / "kernel_gateway.sh"
    words = ["sh", "-c", f"sh {script} {programs.GATEWAY.find()} > said 2>&1"]
    path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    (tmp_path / SCRIPT).write_text(guest.script(tmp_path, path, words))
    boot.boot(guest, tmp_path, boot.Watch("the gateway's queues", 1, threading.Event()))
    refused = [
        "ends with 5",
        "`gateway.priority`: it needs to see single packets",
        "single packets are not seen: this kernel was built without type information",
    ]
    assert (tmp_path / "said").read_text().splitlines() == [*(f"same: {case}" for case in cases), *refused]
