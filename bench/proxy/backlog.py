#!/usr/bin/env python3
"""How many of 220 clients Linux resets when they connect at once to a server that is busy, without a proxy.

usage: bench/proxy/backlog.py BACKLOG [--writes 2] [--busy 1.5]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import sys

CLIENTS = 220
MESSAGE = b"gamelane" * 10
PATIENCE = 60.0


async def serve(listening: socket.socket, backlog: int) -> None:
    """Send every byte back."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            writer.write(data)

    async with await asyncio.start_server(echo, sock=listening, backlog=backlog) as server:
        await server.serve_forever()


async def play(port: int, writes: int) -> None:
    """Connect, write at once, and wait until all has come back."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        for _ in range(writes):
            client.send(MESSAGE)
        left = writes * len(MESSAGE)
        while left:
            left -= len(await loop.sock_recv(client, left))


async def connect_all(port: int, writes: int, server: int, busy: float) -> None:
    """Stop the server for `busy` seconds while all connect. Print how they fared."""
    await asyncio.sleep(0.5)
    os.kill(server, signal.SIGSTOP)
    asyncio.get_running_loop().call_later(busy, os.kill, server, signal.SIGCONT)
    clients = [asyncio.create_task(play(port, writes)) for _ in range(CLIENTS)]
    done, waiting = await asyncio.wait(clients, timeout=PATIENCE)
    reset = sum(isinstance(client.exception(), ConnectionResetError) for client in done)
    print(f"{CLIENTS} clients: {len(done) - reset} served, {reset} reset, {len(waiting)} wait after {PATIENCE:.0f} s")


def main() -> None:
    """Run server and clients in two processes."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("usage: ")[1])
    parser.add_argument("backlog", type=int)
    parser.add_argument("--writes", type=int, default=2)
    parser.add_argument("--busy", type=float, default=1.5)
    options = parser.parse_args()
    listening = socket.create_server(("127.0.0.1", 0), backlog=options.backlog)
    port = listening.getsockname()[1]
    server = os.fork()
    if server == 0:
        asyncio.run(serve(listening, options.backlog))
        sys.exit()
    listening.close()
    try:
        asyncio.run(connect_all(port, options.writes, server, options.busy))
    finally:
        os.kill(server, signal.SIGKILL)


if __name__ == "__main__":
    main()
