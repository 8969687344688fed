"""Coverage-guided fuzzing of each parser of outside bytes: a crash, a hang or unbounded memory is a loss."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .ledger import HERE, LackingError, Tally

FUZZ = HERE.parent / "fuzz"
# Apart from the programs of `cargo fuzz run`, which have the address sanitizer; fuzz/README.md says why.
BUILT = FUZZ / "target" / "none"
# Longest input of a target in bytes. A short input runs faster, and these formats need few bytes to say all they can.
LONGEST = {"capture_file": 1024, "capture_packed": 1024, "scenario_text": 2048, "proxy_config": 1024}
SHORT = 256
# An input alone stays below 50 MiB. The heap of a long search grows, because what the fuzzer keeps lies between the
# targets' buffers.
MOST_MIB = 4096


def targets() -> list[str]:
    """Return the names of all fuzz targets."""
    return sorted(file.stem for file in (FUZZ / "fuzz_targets").glob("*.rs"))


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Fuzz all targets in turn, each for an equal part of `seconds`."""
    build()
    names = targets()
    for name in names:
        yield fuzz(name, max(1, int(seconds / len(names))), seed)


def build() -> None:
    """Compile all targets."""
    if shutil.which("cargo-fuzz") is None:
        raise LackingError("cargo-fuzz: rustup toolchain install nightly && cargo install cargo-fuzz")
    command = ["cargo", "+nightly", "fuzz", "build", "--sanitizer=none", f"--target-dir={BUILT}"]
    subprocess.run(command, cwd=FUZZ.parent, check=True)


def fuzz(name: str, seconds: int, seed: int) -> Tally:
    """Fuzz one target. The search begins with the stored corpus; what it finds stays outside the repository."""
    tally = Tally("fuzz", f"`{name}`")
    found, failed = (FUZZ / part / name for part in ("target/found", "artifacts"))
    for folder in (found, failed):
        folder.mkdir(parents=True, exist_ok=True)
    program = str(next(BUILT.glob(f"*/release/{name}")))
    limits = [f"-max_len={LONGEST.get(name, SHORT)}", f"-rss_limit_mb={MOST_MIB}", f"-max_total_time={seconds}"]
    ways = [f"-seed={seed}", f"-artifact_prefix={failed}/", "-timeout=60", "-print_final_stats=1"]
    began = time.monotonic()
    command = [program, *limits, *ways, str(found), str(FUZZ / "corpus" / name)]
    # Some targets write a file for each input.
    memory = {"TMPDIR": "/dev/shm"} if Path("/dev/shm").is_dir() else {}
    done = subprocess.run(command, env=os.environ | memory, capture_output=True, text=True, check=False)
    tally.seconds = time.monotonic() - began
    executions = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    tally.add(executions=int(executions[1]) if executions else 0)
    if done.returncode:
        written = re.search(r"Test unit written to (\S+)", done.stderr)
        tally.lost.append(
            f"{name} fails on {Path(written[1]).name}" if written else done.stderr.strip().splitlines()[-1]
        )
    return tally
