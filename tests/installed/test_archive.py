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
from tests.cli.test_completion import PATIENCE_S, Terminal
from tests.conftest import Repeat
from tests.installed.places import MACHINE, Place, made
from tests.needs import lacking
from tests.real_time import in_time

PROGRAMS = [program.name for program in (programs.GATEWAY, programs.IMPAIR, programs.TRAFFIC, programs.PROXY)]
COMPLETED = {
    "gamelane-gateway": ("tru", "truth"),
    "gamelane-impair": ("sh", "show"),
    "gamelane-traffic": ("lis", "listen"),
    "gamelane-proxy": ("cert", "certificates"),
}
"""What is typed after a program's name, and what Tab makes of it."""
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


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_tab_completes_a_program(unpacked: Path, program: str, shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        lacking(f"needs {shell}")
    share = unpacked / "share"
    begin, words = {
        "bash": (f". {share}/bash-completion/completions/{program}", ["bash", "--norc", "--noprofile", "-i"]),
        "zsh": (
            f"fpath=({share}/zsh/vendor-completions $fpath); autoload -U compinit; compinit -u",
            ["zsh", "-f", "-i"],
        ),
    }[shell]
    terminal = Terminal(words, tmp_path)
    try:
        terminal.type(f'PATH={unpacked}/bin:$PATH; {begin}; echo all "set"\n', "all set")
        typed, completed = COMPLETED[program]
        terminal.type(f"{program} {typed}\t", f"{program} {completed}")
    finally:
        terminal.close()


@pytest.mark.parametrize("program", PROGRAMS)
def test_fish_offers_words_of_a_program(unpacked: Path, program: str, tmp_path: Path) -> None:
    if not shutil.which("fish"):
        lacking("needs fish")
    typed, completed = COMPLETED[program]
    asked = f"source {unpacked}/share/fish/vendor_completions.d/{program}.fish; complete -C '{program} {typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked],
        env=os.environ | {"PATH": f"{unpacked}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert completed in [line.partition("\t")[0] for line in done.stdout.splitlines()], done.stderr


def test_the_manual_of_a_program_says_its_options(unpacked: Path) -> None:
    page = unpacked / "share/man/man1/gamelane-gateway-run.1"
    assert "\\-\\-queue\\-down" in page.read_text()


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
