#!/usr/bin/env python3
"""Many streams through a pair for long, every byte checked, carriers killed at random, one client deaf.

usage: bench/proxy/soak.py BINARIES [--streams 1000] [--seconds 600]

Near and far are joined by a relay that breaks connections at random. Afterwards
neither proxy may hold a stream or a byte.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from loopback import free_port, running, usage, wait_for


class Relay:
    """Joins connections to a port, and breaks them when told."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.open: set[asyncio.Task[None]] = set()
        self.broken = 0

    async def join(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        """Relay one connection until either end closes or it is broken."""
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            far_in, far_out = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(self.copy(near_in, far_out), self.copy(far_in, near_out))
        except (OSError, asyncio.CancelledError):
            for writer in (near_out, far_out):
                with contextlib.suppress(Exception):
                    writer.transport.abort()
        finally:
            self.open.discard(task)

    @staticmethod
    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Pass bytes on."""
        while part := await source.read(1 << 16):
            sink.write(part)
            await sink.drain()
        raise ConnectionResetError

    def break_one(self) -> None:
        """Break one connection, both ends at once."""
        if self.open:
            random.choice(list(self.open)).cancel()
            self.broken += 1


def status(port: int) -> dict[str, object]:
    """Ask a proxy how it is."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10) as answer:
        return json.load(answer)


async def soak(arguments: argparse.Namespace) -> int:
    """Run it and say how it went; the exit code."""
    server, near, far, relay_port = free_port(), free_port(), free_port(), free_port()
    admin = {"near": free_port(), "far": free_port()}
    relay = Relay(far)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for end, addresses in (
            ("far", f'listen = "127.0.0.1:{far}"\nserver = "127.0.0.1:{server}"\n'),
            ("near", f'listen = "127.0.0.1:{near}"\nfar = "127.0.0.1:{relay_port}"\n'),
        ):
            common = f'carriers = 3\n[admin]\nlisten = "127.0.0.1:{admin[end]}"\n[coalescing]\ndeadline = "2ms"\n'
            (folder / f"{end}.toml").write_text(addresses + common)
        stack.enter_context(running(arguments.binaries / "examples/load", "echo", f"127.0.0.1:{server}"))
        program = arguments.binaries / "gamelane-proxy"
        processes = [stack.enter_context(running(program, end, folder / f"{end}.toml")) for end in ("far", "near")]
        listening = await asyncio.start_server(relay.join, "127.0.0.1", relay_port)
        wait_for(near)
        await asyncio.sleep(1)
        before = [usage(process)[0] for process in processes]
        command = [arguments.binaries / "examples/load", "run", f"127.0.0.1:{near}", "--streams", arguments.streams]
        command += ["--rate", 4, "--seconds", arguments.seconds, "--deaf"]
        client = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
        communicating = asyncio.create_task(client.communicate())
        started = time.monotonic()
        while not communicating.done():
            await asyncio.sleep(random.uniform(0.5, 3.0))
            if time.monotonic() - started < arguments.seconds:
                relay.break_one()
        result = json.loads((await communicating)[0])
        await asyncio.sleep(5)
        left = {end: await asyncio.to_thread(status, port) for end, port in admin.items()}
        after = [usage(process)[0] for process in processes]
        listening.close()
        for task in list(relay.open):
            task.cancel()
    sessions = {end: report["sessions"] for end, report in left.items()}
    clean = all(
        report["streams"] == 0 and all(session["buffered_bytes"] == 0 for session in report["sessions"])
        for report in left.values()
    )
    result |= {
        "carriers_broken": relay.broken,
        "resent_bytes": sum(session["sent"]["resent_bytes"] for report in sessions.values() for session in report),
        "nothing_left": clean,
        "resident_kib": {"before": before, "after": after},
    }
    print(json.dumps(result, indent=2))
    return 0 if clean and client.returncode == 0 else 1


def main() -> None:
    """Soak a pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600.0)
    arguments = parser.parse_args()
    random.seed(1)
    try:
        sys.exit(asyncio.run(soak(arguments)))
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
