"""Namespaces are made and joined, and nothing remains, however the maker ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.errors import LabError
from gamelane.lab.namespaces import Lab, missing
from tests.lab.conftest import program
from tests.needs import needs

pytestmark = needs(missing() is None, str(missing()))

MAKER = """
import sys, time
from gamelane.lab.namespaces import Lab
with Lab() as lab:
    a, b = lab.host("a"), lab.host("b")
    lab.link(a, b, names=("eth0", "eth0"))
    inside = lab.start(a, "sleep", "600")
    print(a.pid, b.pid, inside.pid, flush=True)
    time.sleep(600)
"""


MATCH = """
name = "match"
[link]
up = "100mbit"
down = "100mbit"
[[flow]]
name = "game"
app = "game"
model = "quake3"
"""


def _interfaces() -> str:
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout


def test_hosts_see_their_own_ends_only() -> None:
    before = _interfaces()
    with Lab() as lab:
        a, b = lab.host("a"), lab.host("b")
        lab.link(a, b, names=("eth0", "up0"), mtu=9000)
        assert {link["ifname"]: link["mtu"] for link in a.ip("link")}["eth0"] == 9000
        assert {link["ifname"] for link in b.ip("link")} >= {"lo", "up0"}
        assert _interfaces() == before
        with pytest.raises(LabError, match="in a: ip link show dev nowhere"):
            a.run("ip", "link", "show", "dev", "nowhere")
        holders = [a.pid, b.pid]
    assert not any(Path(f"/proc/{pid}").exists() for pid in holders)
    assert _interfaces() == before


SERVES = """
import sys, time
from gamelane.lab.namespaces import Lab
from gamelane import programs
with Lab() as lab:
    a = lab.host("a")
    inside = lab.start(a, programs.TRAFFIC.find(), "serve", sys.argv[1])
    while "listening" not in inside.stderr.readline():
        pass
    print(a.pid, inside.pid, inside.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("maker", [MAKER, SERVES])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_survives_its_maker(how: signal.Signals, maker: str, tmp_path: Path) -> None:
    """Regression: a program that becomes `nobody` outlived a maker that was killed, and so did its namespace."""
    program(programs.TRAFFIC)
    scenario = tmp_path / "match.toml"
    scenario.write_text(MATCH)
    _survives(how, [sys.executable, "-c", maker, str(scenario)])


def _survives(how: signal.Signals, words: list[str]) -> None:
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as maker:
        assert maker.stdout is not None
        pids = [int(word) for word in maker.stdout.readline().split()]
        assert len(pids) == 3
        os.kill(maker.pid, how)
        maker.wait(timeout=120)
    deadline = time.monotonic() + 120
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline, f"{pids} outlived their maker"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Whether a process runs. A zombie, which its parent has not waited for, does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
