"""The programs of the archive are small, need nothing else, start fast, complete their words and have a manual."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from gamelane import programs
from tests.cli.test_completion import PATIENCE_S, Terminal
from tests.conftest import Repeat
from tests.installed.places import Place
from tests.needs import lacking
from tests.real_time import in_time

PROGRAMS = [
    program.name for program in (programs.GATEWAY, programs.CAPTURE, programs.IMPAIR, programs.TRAFFIC, programs.PROXY)
]
COMPLETED = {
    "gamelane-gateway": ("tru", "truth"),
    "gamelane-capture": ("--prom", "--promiscuous"),
    "gamelane-impair": ("sh", "show"),
    "gamelane-traffic": ("lis", "listen"),
    "gamelane-proxy": ("cert", "certificates"),
}
"""What is typed after a program's name, and what Tab makes of it."""
GATEWAY_BYTES = 4_000_000
START_S = 0.010
"""CPU time, system calls included. Waiting for other programs does not count."""
STARTS = 50


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
