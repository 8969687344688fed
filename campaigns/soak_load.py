"""The load of the soak: games, redis and PostgreSQL through a near proxy. Every byte and every answer is checked."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from .ledger import Tally

GAME, POSTGRES, REDIS = b"g", b"\0", b"*"
"""The first byte of each protocol."""
PATIENCE = 120.0
"""Seconds after which an answer counts as lost."""
DEAF = 5.0
"""Seconds without progress after which all buffers on the way are full."""
MEGABYTE = 1 << 20


class LostError(Exception):
    """Something that was sent did not arrive, or something else arrived."""


@dataclass
class Load:
    """What all clients share."""

    tally: Tally
    port: int
    random: random.Random
    until: float
    running: set[asyncio.Task[None]] = field(default_factory=set)

    def lose(self, what: str) -> None:
        """Note a loss. More than twenty say nothing new."""
        if len(self.tally.lost) < 20:
            self.tally.lost.append(what)

    def start(self, name: str, client: Coroutine[Any, Any, None]) -> None:
        """Run a client. Its failure is a loss."""

        async def checked() -> None:
            try:
                await client
            except (TimeoutError, OSError, EOFError, LostError) as error:
                at = datetime.now(UTC).strftime("%H:%M:%S")
                self.lose(f"{name} at {at}: {type(error).__name__} {error}".strip())

        task = asyncio.create_task(checked())
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def finished(self) -> None:
        """Wait for all clients."""
        while self.running:
            await asyncio.wait(self.running)

    def over(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.until

    async def pause(self, mean: float) -> None:
        """Sleep for a random time, but not beyond the end."""
        await asyncio.sleep(max(0.0, min(self.random.expovariate(1 / mean), self.until - time.monotonic())))


class Side(asyncio.Protocol):
    """A connection of the server. The first byte says where its bytes go: back (a game), to PostgreSQL, or to redis."""

    def __init__(self, ports: dict[bytes, int], other: Side | None = None) -> None:
        self.ports = ports
        self.other = other
        self.ended = False
        self.transport: asyncio.Transport
        self.connecting: asyncio.Task[None] | None = None
        self.early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        if self.other is not None:
            self.other.transport.write(data)
        elif data[:1] == GAME:
            self.other = self
            self.transport.write(data)
        else:
            self.early = data
            self.transport.pause_reading()
            self.connecting = asyncio.create_task(self.connect(self.ports.get(data[:1], self.ports[REDIS])))

    async def connect(self, port: int) -> None:
        """Connect to the service, and pass on what came first."""
        try:
            loop = asyncio.get_running_loop()
            _, other = await loop.create_connection(lambda: Side(self.ports, self), "127.0.0.1", port)
        except OSError:
            self.transport.abort()
            return
        self.other = other
        other.transport.write(self.early)
        self.transport.resume_reading()

    def pause_writing(self) -> None:
        """Stop reading what cannot be written."""
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def eof_received(self) -> bool:
        """Pass the end on. The connection closes when both directions have ended."""
        self.ended = True
        if self.other is None or self.other is self:
            return False
        if self.other.ended:
            self.other.transport.close()
            return False
        self.other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Reset the other side, unless this one ended in order."""
        if self.other is not None and self.other is not self:
            if exc is None and self.ended:
                self.other.transport.close()
            else:
                self.other.transport.abort()


async def game(load: Load, seed: int, ended: Callable[[bool], Awaitable[bool]] | None = None) -> None:
    """Play: random messages at random times, until a random end. Exactly these bytes must come back, and then the end.

    `ended` decides whether an early end is a loss; it learns whether the end was a reset.
    """
    own = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    load.tally.add(streams=1)
    expected = bytearray()
    leaves = min(time.monotonic() + own.expovariate(1 / 60), load.until)

    async def talk() -> None:
        first = GAME
        while time.monotonic() < leaves:
            message = first + own.randbytes(own.randint(8, 200) * (50 if own.random() < 0.02 else 1))
            first = b""
            expected.extend(message)
            writer.write(message)
            await writer.drain()
            load.tally.add(messages=1)
            await asyncio.sleep(max(0.0, min(own.expovariate(1.0), leaves - time.monotonic())))
        writer.write_eof()

    talking = asyncio.create_task(talk())
    try:
        while True:
            left = max(0.0, leaves - time.monotonic())
            try:
                data = await asyncio.wait_for(reader.read(1 << 16), left + PATIENCE)
            except TimeoutError:
                raise LostError(f"stream {seed}: {len(expected)} bytes did not come back") from None
            if not data:
                break
            if not expected.startswith(data):
                raise LostError(f"stream {seed}: other bytes came back")
            del expected[: len(data)]
            load.tally.add(bytes=2 * len(data))
        if (expected or not talking.done()) and (ended is None or not await ended(False)):
            raise LostError(f"stream {seed} ended with {len(expected)} bytes on their way")
    except OSError:
        if ended is None or not await ended(True):
            raise
    finally:
        talking.cancel()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await talking
        writer.transport.abort() if expected else writer.close()


async def games(load: Load, ended: Callable[[bool], Awaitable[bool]] | None = None) -> None:
    """Play one game after the other."""
    while not load.over():
        await game(load, load.random.getrandbits(48), ended)


async def deaf(load: Load) -> None:
    """Read nothing until nothing more can be written. Then exactly what was written comes back."""
    while not load.over():
        reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
        load.tally.add(streams=1)
        sent = bytearray(GAME)
        writer.write(GAME)
        with contextlib.suppress(TimeoutError):
            while True:
                piece = load.random.randbytes(1 << 14)
                sent += piece
                writer.write(piece)
                await asyncio.wait_for(writer.drain(), DEAF)
        writer.write_eof()
        if await asyncio.wait_for(reader.read(), PATIENCE) != sent:
            raise LostError(f"{len(sent)} bytes came back otherwise to a client that had not read")
        load.tally.add(bytes=2 * len(sent))
        writer.close()
        await load.pause(60.0)


class Redis:
    """One connection to redis, with the protocol RESP2."""

    def __init__(self, load: Load, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.load = load
        self.reader, self.writer = reader, writer

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, load: Load) -> AsyncIterator[Redis]:
        """Connect for the length of a block."""
        redis = cls(load, *await asyncio.open_connection("127.0.0.1", load.port))
        load.tally.add(streams=1)
        try:
            yield redis
        finally:
            redis.writer.close()

    async def send(self, *parts: bytes) -> None:
        """Send a command."""
        body = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self.load.tally.add(redis_commands=1, bytes=len(body))
        self.writer.write(b"*%d\r\n" % len(parts) + body)
        await self.writer.drain()

    async def answer(self, patience: float = PATIENCE) -> Any:
        """Return the next answer: an integer, bytes, or a list."""
        async with asyncio.timeout(patience):
            line = await self.reader.readuntil(b"\r\n")
            self.load.tally.add(bytes=len(line))
            kind, rest = line[:1], line[1:-2]
            if kind == b"+":
                return rest
            if kind == b":":
                return int(rest)
            if kind == b"$":
                body = await self.reader.readexactly(int(rest) + 2)
                self.load.tally.add(bytes=len(body))
                return body[:-2]
            if kind == b"*":
                return [await self.answer() for _ in range(int(rest))]
        raise LostError(f"redis answered {line!r}")

    async def expect(self, wanted: Any, patience: float = PATIENCE) -> None:
        """Check the next answer."""
        got = await self.answer(patience)
        if got != wanted:
            raise LostError(f"redis answered {str(got)[:80]} instead of {str(wanted)[:80]}")


async def counting(load: Load, key: bytes) -> None:
    """Count up in redis, some numbers at once: each answer is the next number."""
    number = 0
    while not load.over():
        async with Redis.connected(load) as redis:
            for _ in range(load.random.randint(1, 60)):
                count = load.random.randint(1, 20)
                for _ in range(count):
                    await redis.send(b"INCR", key)
                for _ in range(count):
                    number += 1
                    await redis.expect(number)
                await load.pause(2.0)
    async with Redis.connected(load) as redis:
        await redis.send(b"GET", key)
        await redis.expect(b"%d" % number)


async def echoing(load: Load, key: bytes) -> None:
    """Store random values of up to a megabyte, and read each back."""
    while not load.over():
        async with Redis.connected(load) as redis:
            for _ in range(20):
                value = load.random.randbytes(int(MEGABYTE ** load.random.random()))
                await redis.send(b"SET", key, value)
                await redis.send(b"GET", key)
                await redis.expect(b"OK")
                await redis.expect(value)
                await load.pause(2.0)


async def publishing(load: Load, channel: bytes) -> None:
    """Publish numbers on one connection: another one receives each once, in order."""
    async with Redis.connected(load) as listener, Redis.connected(load) as speaker:
        await listener.send(b"SUBSCRIBE", channel)
        await listener.expect([b"subscribe", channel, 1])
        number = 0
        while not load.over():
            count = load.random.randint(1, 20)
            for index in range(count):
                await speaker.send(b"PUBLISH", channel, b"%d" % (number + index))
            for index in range(count):
                await listener.expect([b"message", channel, b"%d" % (number + index)])
                await speaker.expect(1)
            number += count
            await load.pause(2.0)


async def benchmark(load: Load) -> None:
    """Run redis-benchmark now and then, with twenty connections of its own."""
    tests = ("set", "get", "incr", "lpush", "lpop", "mset")
    while not load.over():
        command = ["redis-benchmark", "-p", str(load.port), "-n", "500", "-c", "20", "-P", "4", "-d", "100", "-q"]
        await output(*command, "-t", ",".join(tests), patience=PATIENCE)
        load.tally.add(redis_commands=500 * len(tests), streams=20 * len(tests))
        await load.pause(60.0)


async def output(*command: str | Path, patience: float) -> str:
    """Run a program and return what it prints. Its failure is a loss."""
    program = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(patience):
            out, error = (text.decode(errors="replace") for text in await program.communicate())
    except TimeoutError:
        program.kill()
        raise LostError(f"{command[0]} did not end") from None
    if program.returncode or "error" in error.lower():
        raise LostError(f"{Path(command[0]).name} ended with {program.returncode}: {error.strip()[-300:]}")
    return out


async def transactions(load: Load, *options: str) -> None:
    """Run pgbench's standard transactions until the end."""
    seconds = max(1, int(load.until - time.monotonic()))
    command = ["pgbench", "-h", "127.0.0.1", "-p", str(load.port), "-U", "soak", "-n", "-T", str(seconds), *options]
    text = await output(*command, "postgres", patience=seconds + PATIENCE)
    done = re.search(r"transactions actually processed: (\d+)", text)
    failed = re.search(r"failed transactions: (\d+)", text)
    if done is None or failed is None or failed[1] != "0":
        raise LostError(f"pgbench said {text[-300:]}")
    load.tally.add(transactions=int(done[1]))


async def sums(load: Load) -> None:
    """Check pgbench's tables: every transaction is there once, and added the same number to four tables."""
    wanted = [
        "(select sum(abalance) from pgbench_accounts)",
        "(select sum(bbalance) from pgbench_branches)",
        "(select sum(tbalance) from pgbench_tellers)",
        "(select coalesce(sum(delta), 0) from pgbench_history)",
        "(select count(*) from pgbench_history)",
    ]
    command = [
        "psql",
        "-h",
        "127.0.0.1",
        "-p",
        str(load.port),
        "-U",
        "soak",
        "-XAt",
        "-c",
        "select " + ",".join(wanted),
    ]
    text = await output(*command, "postgres", patience=PATIENCE)
    *balances, count = map(int, text.strip().split("|"))
    if len(set(balances)) != 1 or count != load.tally.counts.get("transactions"):
        raise LostError(f"PostgreSQL has {text.strip()} after {load.tally.counts.get('transactions')} transactions")
