"""How fast `gamelane analyze` reads a capture, beside tcptrace and tshark: packets per second of processor time, peak memory.

usage: .venv/bin/python bench/capture.py [MILLIONS]    default: one million packets, written by the simulator

Processor time, because wall time on a busy machine says little; each program runs three times and the fastest counts. The
capture is written once as pcap of Ethernet frames, which all three read, and doubled to see whether memory grows with it.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import gamelane

MILLION = 1_000_000
LINK = {"link.down": "50mbit", "link.up": "20mbit"}


def main() -> None:
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        capture, packets = _capture(Path(folder), round(wanted * MILLION))
        double = Path(folder) / "double.pcap"
        _append(capture, double)
        print(f"{packets} packets, {capture.stat().st_size / 1e6:.0f} MB")
        rates = {}
        for name, command in {
            "gamelane analyze --json": [str(Path(sys.executable).with_name("gamelane")), "analyze", "--json", "-q"],
            "tcptrace -r -n": ["tcptrace", "-r", "-n", "-q"],
            "tshark, two fields": ["tshark", "-n", "-T", "fields", "-e", "tcp.analysis.ack_rtt", "-e", "tcp.analysis.retransmission", "-r"],
        }.items():  # fmt: skip
            if shutil.which(command[0]) is None:
                print(f"{name}: skipped, {command[0]} is not installed")
                continue
            repeats = 1 if "tshark" in name else 3
            seconds, memory = min(_run([*command, str(capture)]) for _ in range(repeats))
            rates[name] = packets / seconds
            print(f"{name}: {seconds:.2f} s, {packets / seconds / MILLION:.2f} million packets/s, {memory / 1024:.0f} MB")
        command = [str(Path(sys.executable).with_name("gamelane")), "analyze", "--json", "-q", str(double)]
        seconds, memory = min(_run(command) for _ in range(3))
        print(f"gamelane on twice as many: {seconds:.2f} s, {memory / 1024:.0f} MB")
        ours = rates["gamelane analyze --json"]
        for name, rate in rates.items():
            print(f"gamelane / {name}: {ours / rate:.2f}")


def _run(command: list[str]) -> tuple[float, float]:
    """Processor seconds and peak memory in KiB."""
    with Path(os.devnull).open("wb") as nothing:
        process = subprocess.Popen(command, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def _capture(folder: Path, packets: int) -> tuple[Path, int]:
    seconds = max(packets // 3500, 30)
    scenario = gamelane.load("collom2016").with_({**LINK, "duration": f"{seconds}s"})
    source = folder / "run-wan.pcapng"

    def write(_job: object, finished: object) -> None:
        finished.write_pcapng(str(source), "wan")  # type: ignore[attr-defined]

    scenario.run(seeds=1, hooks=gamelane.Hooks(on_run=write, packets=True))
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
