"""How fast `gamelane analyze` reads captures, beside tcptrace and tshark: packets per second, peak memory.

usage: .venv/bin/python bench/capture.py [MILLIONS]    default: one million packets, written by the simulator

That capture is written as pcap of Ethernet frames, which all three read, and twice as long to see whether memory grows
with it. Two more captures have 5,000 and 20,000 flows (`many_flows.py`). tcptrace does the same work: round trips,
losses and UDP (`-lru`). Each program reads a capture seven times in turns, tshark once. Processor time (user and
system, Python's start included) is what to compare: wall time on a machine with other work says as much about that
work, so the load is told.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import many_flows

import gamelane

MILLION = 1_000_000
LINK = {"link.down": "50mbit", "link.up": "20mbit"}
GAMELANE = [str(Path(sys.executable).with_name("gamelane")), "analyze", "--json", "-q"]
TCPTRACE = ["tcptrace", "-n", "-lru"]
TSHARK = ["tshark", "-n", "-T", "fields", "-e", "tcp.analysis.ack_rtt", "-e", "tcp.analysis.retransmission", "-r"]
ROUNDS = 7
MANY = ((5_000, 48, 120.0, 65_535), (20_000, 64, 300.0, 96))
"""Flows, mean segments of a download, seconds, bytes kept of each packet."""
PEAK = ["/usr/bin/time", "-f", "%M"]
"""A child's peak counts what the process held that started it. GNU time holds 1 MB, Python 8 MB."""


class Run(NamedTuple):
    """What one reading took."""

    cpu_s: float
    wall_s: float
    peak_kib: int


def main() -> None:
    """Measure and print."""
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        capture, packets = _capture(Path(folder), round(wanted * MILLION))
        double = Path(folder) / "double.pcap"
        _append(capture, double)
        print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {_model()}")
        print(f"{packets} packets, {capture.stat().st_size / 1e6:.0f} MB; medians of {ROUNDS} (least to most)")
        _keep_bytecode(Path(folder))
        _run([*GAMELANE, str(capture)])
        names = {"gamelane": GAMELANE, "tcptrace": TCPTRACE}
        runs: dict[str, list[Run]] = {name: [] for name, command in names.items() if shutil.which(command[0])}
        for _ in range(ROUNDS):
            for name, of in runs.items():
                of.append(_run([*names[name], str(capture)]))
        if shutil.which("tshark"):
            runs["tshark"] = [_run([*TSHARK, str(capture)])]
        for name, of in runs.items():
            _tell(f"{name} {' '.join((names | {'tshark': TSHARK})[name][1:])}", of, packets)
        _tell("gamelane, a capture twice as long", [_run([*GAMELANE, str(double)]) for _ in range(ROUNDS)], 2 * packets)
        _compare(runs)
        for flows, segments, seconds, snap_len in MANY:
            many = Path(folder) / "many.pcap"
            packets = many_flows.write(many, flows, segments, seconds, snap_len)
            print(f"{flows} flows, {packets} packets, {many.stat().st_size / 1e6:.0f} MB")
            commands = {"gamelane": GAMELANE, "tcptrace": TCPTRACE}
            runs = {name: [] for name, command in commands.items() if shutil.which(command[0])}
            for _ in range(ROUNDS):
                for name, of in runs.items():
                    of.append(_run([*commands[name], str(many)]))
            for name, of in runs.items():
                _tell(f"{name} {' '.join(commands[name][1:])}", of, packets)
            _compare(runs)
        print(f"load after: {os.getloadavg()[0]:.1f}")


def _compare(runs: dict[str, list[Run]]) -> None:
    """How many times the processor and wall time of gamelane the others take."""
    for name in runs.keys() - {"gamelane"}:
        cpu, wall = (
            statistics.median(run[field] for run in runs[name])
            / statistics.median(run[field] for run in runs["gamelane"])
            for field in (0, 1)
        )
        print(f"{name} / gamelane: {cpu:.2f} by processor time, {wall:.2f} by wall time")


def _keep_bytecode(folder: Path) -> None:
    """As an installed command has it: modules are compiled once, not at every start."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")


def _tell(name: str, runs: list[Run], packets: int) -> None:
    cpu, wall = ([run[field] for run in runs] for field in (0, 1))
    peak = max(run.peak_kib for run in runs) / 1024
    middle = statistics.median(cpu)
    print(
        f"{name}:\n  processor {middle:.3f} s ({min(cpu):.3f} to {max(cpu):.3f}), "
        f"{packets / middle / MILLION:.2f} million packets/s; "
        f"wall {statistics.median(wall):.2f} s ({min(wall):.2f} to {max(wall):.2f}); peak {peak:.0f} MB"
    )


def _run(command: list[str]) -> Run:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    told = subprocess.run([*PEAK, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    wall_s, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(cpu_s, wall_s, int(told.stderr.split()[-1]))


def _model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "processor unknown")


def _capture(folder: Path, packets: int) -> tuple[Path, int]:
    seconds = max(packets // 3500, 30)
    scenario = gamelane.load("collom2016").with_({**LINK, "duration": f"{seconds}s"})
    source = folder / "run-wan.pcapng"

    def write(_job: object, finished: object) -> None:
        finished.write_pcapng(str(source), "wan")  # type: ignore[attr-defined]

    scenario.run(seeds=1, hooks=gamelane.Hooks(on_run=write, keep="packets"))
    target = folder / "run.pcap"
    return target, _ethernet(source, target)


def _ethernet(source: Path, target: Path) -> int:
    """A pcapng of raw IP as a pcap of Ethernet frames; the number of packets."""
    frame = bytes(range(12)) + b"\x08\x00"
    count = 0
    with source.open("rb") as blocks, target.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        while head := blocks.read(8):
            kind, length = struct.unpack("<II", head)
            body = blocks.read(length - 8)
            if kind != 6:
                continue
            _, high, low, captured, original = struct.unpack_from("<IIIII", body)
            seconds, nanoseconds = divmod(high << 32 | low, 10**9)
            out.write(struct.pack("<IIII", seconds, nanoseconds // 1000, captured + 14, original + 14))
            out.write(frame + body[20 : 20 + captured])
            count += 1
    return count


def _append(capture: Path, target: Path) -> None:
    """The capture twice, the second time an hour later."""
    shutil.copy(capture, target)
    with capture.open("rb") as records, target.open("ab") as out:
        records.seek(24)
        while head := records.read(16):
            seconds, fraction, captured, original = struct.unpack("<IIII", head)
            out.write(struct.pack("<IIII", seconds + 3600, fraction, captured, original) + records.read(captured))


if __name__ == "__main__":
    main()
