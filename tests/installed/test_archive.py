"""The programs of the archive are small, need nothing else, start fast, and work once they have given up root."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from gamelane import programs
from tests.conftest import Repeat
from tests.installed.places import MACHINE, Place, made
from tests.needs import lacking
from tests.real_time import in_time

PROGRAMS = [program.name for program in (programs.GATEWAY, programs.IMPAIR, programs.TRAFFIC, programs.PROXY)]
GATEWAY_BYTES = 4_000_000
START_S = 0.010
"""CPU time, system calls included. Waiting for other programs does not count."""
STARTS = 50
POLICY = """
name = "installed"
[link]
up = "10mbit"
down = "50mbit"
[gateway]
shape = "9.5mbit"
up = { queue = "fq_codel" }
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
"""
RELOADED = """
ip link set lo up
ip link add lan type veth peer name home
ip link add wan type veth peer name outside
for each in lan home wan outside; do ip link set $each up; done
"$1" run --lan lan --wan wan --engine user "$2" &
gateway=$!
until "$1" status --json >/dev/null 2>&1; do kill -0 $gateway; sleep 0.1; done
sed -i s/9.5mbit/9mbit/ "$2"
kill -HUP $gateway
until "$1" status --json | tee "$3" | grep -q '"reloads": *1,'; do kill -0 $gateway; sleep 0.1; done
kill $gateway
wait $gateway
"""
"""A gateway that reads its policy again after it has left root."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    archive = made(f"gamelane-*-{MACHINE}-linux.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], check=True)
    return folder


def test_the_gateway_fits_on_a_router(unpacked: Path) -> None:
    assert (unpacked / "bin" / programs.GATEWAY.name).stat().st_size < GATEWAY_BYTES


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_where_nothing_else_is(unpacked: Path, program: str) -> None:
    (unpacked / "proc").mkdir(exist_ok=True)
    assert Place(unpacked).run(f"/bin/{program}", "--version").startswith(f"{program} ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_starts_fast(unpacked: Path, program: str, up_to_three_times: Repeat) -> None:
    def measure() -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(STARTS):
            subprocess.run([unpacked / "bin" / program, "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        in_time(took_s / STARTS < START_S, f"{1000 * took_s / STARTS:.1f} ms of CPU time")

    up_to_three_times(measure)


def test_the_gateway_reloads_after_it_has_left_root(unpacked: Path) -> None:
    """The C library of the archive makes other system calls than glibc."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        lacking("needs root and ip")
    program = unpacked / "bin" / programs.GATEWAY.name
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # for the user that the gateway becomes
        policy, status = folder / "home.toml", folder / "status.json"
        policy.write_text(POLICY)
        words = ["unshare", "--net", "bash", "-ec", RELOADED, "-", str(program), str(policy), str(status)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert json.loads(status.read_text())["reloads"] == 1
        assert "refused" not in done.stderr, done.stderr
