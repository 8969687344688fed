"""What `gamelane-impair` and `gamelane-traffic` may still do while packets pass. The crates test gateway and proxy."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.lab.namespaces import Host
from tests.lab import record_files
from tests.lab.conftest import Triple, program
from tests.lab.test_impair import SCENARIO
from tests.lab.test_impair_alone import SERVER, Own, least_ms, own, says, wait

__all__ = ["own"]

NOBODY = 65534
NONE = "0000000000000000"
NET_ADMIN = "0000000000001000"

AS_NOBODY = f"""
import os, socket
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
with socket.socket(socket.AF_UNIX) as at:
    at.connect("\\0gamelane-impair/eth0")
    try:
        at.sendall(b"POST /impairment HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: 2\\r\\n\\r\\n{{}}")
        print(at.recv(100))
    except OSError:
        print(b"")
"""


def status(process: int) -> dict[str, str]:
    """Return the lines of `/proc/PID/status`, with single blanks."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {key: " ".join(value.split()) for key, _, value in (line.partition(":") for line in lines)}


def is_confined(process: int) -> bool:
    return status(process)["Seccomp"] == "2"


def check(process: int, user: int = NOBODY, capabilities: str = NONE) -> None:
    has = status(process)
    assert has["Uid"] == " ".join([str(user)] * 4)
    if user:
        assert has["Gid"] == " ".join([str(user)] * 4)
        assert has["Groups"] == str(user)
    assert [has[key] for key in ("CapInh", "CapBnd", "CapAmb")] == [NONE] * 3
    assert [has[key] for key in ("CapPrm", "CapEff")] == [capabilities] * 2
    assert (has["NoNewPrivs"], has["Seccomp"]) == ("1", "2")


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(word) for word in listed.split()]


def test_one_impaired_interface_needs_nothing_after_the_start(own: Own) -> None:
    before = own.state()
    changes = own.folder / "changes.jsonl"
    process = own.start("--delay", "20ms", "--log", str(changes))
    assert least_ms(own.player, SERVER) >= 40
    check(process.pid)
    assert own.show("--delay", "30ms")["up"]["arrived"] > 0
    assert least_ms(own.player, SERVER) >= 60
    # Root started it, so others may not change it: not even who it has become, since other services are `nobody` too.
    assert own.player.run(sys.executable, "-c", AS_NOBODY) == "b''\n"
    process.terminate()
    assert process.wait(timeout=60) == 0
    assert [json.loads(line)["what"] for line in changes.read_text().splitlines()] == ["begin", "set", "end"]
    assert own.state() == before
    assert not says(own.log(), "refused")


def test_a_removed_interface_is_still_noticed(own: Own) -> None:
    process = own.start("--delay", "20ms", "--user", "root")
    check(process.pid, user=0)
    own.player.run("ip", "link", "del", "eth0")
    assert process.wait(timeout=60) == 5
    assert says(own.log(), "the interface eth0 was removed")
    assert not says(own.log(), "refused")


def test_an_unknown_user_is_refused(own: Own) -> None:
    words = (str(own.impair), "run", "eth0", "--user", "no-such-user-1f")
    done = subprocess.run(own.player.command(words), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --user: no such user: no-such-user-1f\n  hint:    `useradd")


def offloads(host: Host, name: str) -> str:
    return host.run("ethtool", "-k", name)


@pytest.mark.parametrize("how", ["-TERM", "-KILL"])
def test_a_bridge_keeps_one_capability_for_what_restores_offloads(triple: Triple, tmp_path: Path, how: str) -> None:
    impair, log = program(programs.IMPAIR), tmp_path / "impair.log"
    triple.bridge.run("ethtool", "-K", "home", "gro", "on", "gso", "on", "tso", "on")
    before = offloads(triple.bridge, "home")
    process = triple.lab.start(triple.bridge, impair, "run", "home", "--to", "wan", "--delay", "5ms", log=log)
    wait(lambda: says(log, "impairing home") or process.poll() is not None)
    assert least_ms(triple.player, "10.9.0.2") >= 10
    assert offloads(triple.bridge, "home") != before
    (guard,) = children(process.pid)
    wait(partial(is_confined, guard))
    check(process.pid)
    check(guard, capabilities=NET_ADMIN)
    subprocess.run(["kill", how, str(process.pid)], check=True)
    process.wait(timeout=60)
    wait(lambda: offloads(triple.bridge, "home") == before)
    wait(lambda: not Path(f"/proc/{guard}").exists() or status(guard)["State"].startswith("Z"))
    assert not says(log, "refused")


def test_both_ends_of_traffic(triple: Triple, tmp_path: Path) -> None:
    impair, traffic = program(programs.IMPAIR), program(programs.TRAFFIC)
    bridge = triple.lab.start(triple.bridge, impair, "run", "home", "--to", "wan", log=tmp_path / "impair.log")
    wait(lambda: says(tmp_path / "impair.log", "impairing home"))
    (tmp_path / "probe.toml").write_text(SCENARIO.format(duration="4s", rate="160kbit"))
    (tmp_path / "token").write_text("a secret of both ends")
    common = [str(tmp_path / "probe.toml"), "--token", str(tmp_path / "token")]
    logs = {end: tmp_path / f"{end}.log" for end in ("serve", "send")}
    serve = ["serve", *common, "--listen", "10.9.0.2:5000", "--once", "-o", str(tmp_path / "server")]
    server = triple.lab.start(triple.server, traffic, *serve, log=logs["serve"])
    wait(lambda: says(logs["serve"], "listening"))
    send = ["send", *common, "--to", "10.9.0.2:5000", "-o", str(tmp_path / "client")]
    client = triple.lab.start(triple.player, traffic, *send, log=logs["send"])
    for process in (server, client):
        wait(partial(is_confined, process.pid))
        check(process.pid)
    assert (client.wait(timeout=120), server.wait(timeout=120)) == (0, 0)
    assert (tmp_path / "client").stat().st_size == 400 * record_files.RECORD.itemsize
    assert (tmp_path / "server").stat().st_size > 0
    assert not any(says(log, "refused") for log in logs.values())
    bridge.terminate()
    assert bridge.wait(timeout=60) == 0
