"""The programs of the archive are small, need nothing else, and start fast."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from tests.installed.places import MACHINE, Place, made

PROGRAMS = ("gamelane-gateway", "gamelane-impair", "gamelane-proxy", "gamelane-traffic")
GATEWAY_BYTES = 4_000_000
START_S = 0.010
"""CPU time, system calls included. Waiting for other programs does not count."""
STARTS = 50


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    archive = made(f"gamelane-*-{MACHINE}-linux.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], check=True)
    return folder


def test_the_gateway_fits_on_a_router(unpacked: Path) -> None:
    assert (unpacked / "bin/gamelane-gateway").stat().st_size < GATEWAY_BYTES


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_where_nothing_else_is(unpacked: Path, program: str) -> None:
    (unpacked / "proc").mkdir(exist_ok=True)
    assert Place(unpacked).run(f"/bin/{program}", "--version").startswith(f"{program} ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_starts_fast(unpacked: Path, program: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(STARTS):
        subprocess.run([unpacked / "bin" / program, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert took_s / STARTS < START_S
