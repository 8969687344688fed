#!/usr/bin/env python3
"""What the proxy costs on loopback, beside HAProxy and socat in the same run.

usage: bench/proxy/loopback.py BINARIES [rtt|streams] [--rounds N] [--streams N] [--rate R] [--seconds S]

BINARIES holds `gamelane-proxy` and `examples/load`, such as target/release. HAProxy and socat are left out if missing.
`rtt`: one stream, then 50, direct and through each proxy; a pair is two hops, so HAProxy and socat are measured with
one hop and with two. Every way is started anew each round and alone: HAProxy's `busy-polling` takes whole cores.
`nice -n -20` keeps other work of the machine out, for all ways alike. `streams`: N streams at once through a pair:
memory of a stream, CPU, added delay.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
LOADS = ((1, 200.0), (50, 20.0))
"""Streams, and messages a second of each."""
BUSY_HAPROXY = "  busy-polling\n"
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    sys.exit(f"nobody listens on port {port}")


@contextlib.contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process as long as the block."""
    log = subprocess.DEVNULL if "-v" not in sys.argv else None
    with subprocess.Popen([*map(str, command)], stdout=log, stderr=log) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def load(binaries: Path, port: int, *, streams: int, rate: float, seconds: float) -> dict[str, Any]:
    """Run the load and return what it tells."""
    command = [binaries / "examples/load", "run", f"127.0.0.1:{port}", "--streams", streams, "--rate", rate]
    command += ["--seconds", seconds]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@contextlib.contextmanager
def pair(binaries: Path, server: int, keys: str, tls: bool) -> Iterator[tuple[int, list[subprocess.Popen[bytes]]]]:
    """Run a near and a far proxy; yield the near one's port and both processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        near, far = free_port(), free_port()
        if tls:
            subprocess.run([binaries / "gamelane-proxy", "certificates", folder], check=True, stdout=subprocess.DEVNULL)
        for end, addresses in (
            ("far", f'listen = "127.0.0.1:{far}"\nserver = "127.0.0.1:{server}"\n'),
            ("near", f'listen = "127.0.0.1:{near}"\nfar = "127.0.0.1:{far}"\n'),
        ):
            table = f'[tls]\ncertificate = "{end}.pem"\nkey = "{end}.key"\nauthority = "authority.pem"\n' if tls else ""
            (folder / f"{end}.toml").write_text(addresses + keys + table)
        program = binaries / "gamelane-proxy"
        with running(program, "far", folder / "far.toml") as far_process:
            time.sleep(0.3)
            with running(program, "near", folder / "near.toml") as near_process:
                wait_for(near)
                time.sleep(0.5)
                yield near, [near_process, far_process]


@contextlib.contextmanager
def haproxy(server: int, hops: int, tuning: str = "") -> Iterator[int]:
    """Run as many HAProxy processes in TCP mode one behind the other; `tuning` goes to their global section."""
    with contextlib.ExitStack() as stack:
        for _ in range(hops):
            port = free_port()
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            config = folder / "haproxy.cfg"
            config.write_text(
                f"global\n  maxconn 4000\n{tuning}defaults\n  mode tcp\n"
                "  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
                f"listen game\n  bind 127.0.0.1:{port}\n  server game 127.0.0.1:{server}\n"
            )
            stack.enter_context(running("haproxy", "-f", config))
            wait_for(port)
            server = port
        yield server


@contextlib.contextmanager
def socat(server: int, hops: int) -> Iterator[int]:
    """Run as many socat processes one behind the other."""
    with contextlib.ExitStack() as stack:
        for _ in range(hops):
            port = free_port()
            listen = f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,nodelay"
            stack.enter_context(running("socat", listen, f"TCP:127.0.0.1:{server},nodelay"))
            wait_for(port)
            server = port
        yield server


@contextlib.contextmanager
def only(port: int) -> Iterator[int]:
    """Yield the port."""
    yield port


@contextlib.contextmanager
def near_port(binaries: Path, server: int, keys: str, tls: bool) -> Iterator[int]:
    """Run a pair and yield its port alone."""
    with pair(binaries, server, keys, tls) as (port, _):
        yield port


def round_trips(binaries: Path, server: int, seconds: float, rounds: int) -> list[dict[str, object]]:
    """Measure round trips by way and number of streams, the ways in turn so that all see the same machine."""
    ways: dict[str, Callable[[], contextlib.AbstractContextManager[int]]] = {"direct": lambda: only(server)}
    if shutil.which("haproxy"):
        ways |= {
            "haproxy": lambda: haproxy(server, 1),
            "haproxy, two hops": lambda: haproxy(server, 2),
            "haproxy busy-polling": lambda: haproxy(server, 1, BUSY_HAPROXY),
            "haproxy busy-polling, two": lambda: haproxy(server, 2, BUSY_HAPROXY),
        }
    if shutil.which("socat"):
        ways |= {"socat": lambda: socat(server, 1), "socat, two hops": lambda: socat(server, 2)}
    ways |= {
        "pair, 1 TCP carrier": lambda: near_port(binaries, server, "", False),
        "pair, busy_poll 50 us": lambda: near_port(binaries, server, 'busy_poll = "50us"\n', False),
        "pair, 4 TCP carriers": lambda: near_port(binaries, server, "carriers = 4\n", False),
        "pair, 1 TCP carrier, TLS": lambda: near_port(binaries, server, "", True),
        "pair, 1 QUIC carrier": lambda: near_port(binaries, server, 'transport = "quic"\n', True),
    }
    found: dict[tuple[int, str], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for way, open_way in ways.items():
            with open_way() as port:
                for streams, rate in LOADS:
                    told = load(binaries, port, streams=streams, rate=rate, seconds=seconds)
                    found.setdefault((streams, way), []).append(told["round_trip_us"])
    rows = []
    for (streams, way), measured in sorted(found.items(), key=lambda item: item[0][0]):
        # The median round, and the best: the machine may have been busy with something else in the others.
        row = {name: statistics.median(one[name] for one in measured) for name in ("p50", "p99")}
        row["best_p50"] = min(one["p50"] for one in measured)
        rows.append({"way": way, "streams": streams, **row})
        shown = "  ".join(f"{name} {value:9.1f}" for name, value in row.items())
        print(f"{way:<26} {streams:>3} streams   {shown}   us", flush=True)
    return rows


def waited(process: subprocess.Popen[bytes]) -> float:
    """Return the seconds a process was ready to run and did not: somebody else had the core."""
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9


def usage(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Return resident KiB and CPU seconds of a process."""
    resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * PAGE_KIB
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return resident, (int(fields[11]) + int(fields[12])) / TICKS


def many_streams(binaries: Path, server: int, streams: int, seconds: float, rate: float) -> dict[str, object]:
    """Measure a pair under many streams: memory, CPU, delay beside the same load without it."""
    direct = load(binaries, server, streams=streams, rate=rate, seconds=seconds)
    limits = f"[limits]\nstreams = {streams + 10}\nstreams_per_source = {streams + 10}\n"
    keys = f'carriers = 2\n[coalescing]\ndeadline = "2ms"\n{limits}'
    with pair(binaries, server, keys, False) as (port, processes):
        before = [usage(process) for process in processes]
        before_waits = [waited(process) for process in processes]
        command = [binaries / "examples/load", "run", f"127.0.0.1:{port}", "--streams", streams, "--rate", rate]
        with subprocess.Popen([*map(str, command), "--seconds", str(seconds)], stdout=subprocess.PIPE) as client:
            peak = [0, 0]
            while client.poll() is None:
                peak = [max(was, usage(process)[0]) for was, process in zip(peak, processes, strict=True)]
                time.sleep(0.5)
            assert client.stdout is not None
            through = json.loads(client.stdout.read())
        after = [usage(process) for process in processes]
        waits = [waited(process) - was for process, was in zip(processes, before_waits, strict=True)]
    messages = int(through["messages"])
    result = {
        "streams": streams,
        "messages_per_second": messages / seconds,
        "failed": through["failed"],
        "checked_bytes": through["checked_bytes"],
        "direct_us": direct["round_trip_us"],
        "through_us": through["round_trip_us"],
    }
    for end, was, is_now, most in zip(("near", "far"), before, after, peak, strict=True):
        result[end] = {
            "kib_per_stream": (most - was[0]) / streams,
            "cpu_us_per_message": (is_now[1] - was[1]) / messages * 1e6,
        }
    result["near"]["ready_but_waiting_s"], result["far"]["ready_but_waiting_s"] = waits
    print(json.dumps(result, indent=2))
    return result


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("what", choices=("rtt", "streams"), nargs="?", default="rtt")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1.0, help="messages a second of each of many streams")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("-o", type=Path, help="write JSON here")
    parser.add_argument("-v", action="store_true", help="show what the proxies say")
    arguments = parser.parse_args()
    server = free_port()
    with running(arguments.binaries / "examples/load", "echo", f"127.0.0.1:{server}"):
        wait_for(server)
        if arguments.what == "rtt":
            result: object = round_trips(arguments.binaries, server, arguments.seconds, arguments.rounds)
        else:
            result = many_streams(arguments.binaries, server, arguments.streams, arguments.seconds, arguments.rate)
    if arguments.o:
        arguments.o.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
