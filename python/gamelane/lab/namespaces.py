"""Network namespaces that the kernel removes when the process that made them ends.

A holder process keeps each namespace open; it has no name in /run/netns. The holder reads from a pipe. When the maker
ends, even by SIGKILL, the kernel closes the pipe, and the holder ends. Then the kernel removes the namespace, its
interfaces and their peers. Programs inside die with their parent. The host itself is not changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gamelane.errors import LabError
from gamelane.lab.inside import inside

TOOLS = ("ip", "unshare", "nsenter", "setpriv")


def missing() -> str | None:
    """Return the reason why this machine cannot make namespaces; None if it can."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"{', '.join(lacking)} not found; install with `apt-get install iproute2 util-linux`"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"cannot make a network namespace: {probe.stderr.strip()}; run as root"


@dataclass(frozen=True)
class Host:
    """One namespace."""

    name: str
    holder: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Process id of the holder."""
        return self.holder.pid

    def command(self, words: Sequence[str | os.PathLike[str]]) -> list[str]:
        """Return a command that runs `words` in this namespace and dies with this process."""
        enter = ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", "setpriv", "--pdeathsig", "KILL", "--"]
        # The kernel sends no signal if the parent died before setpriv asked for one, so compare the parent's id.
        still = ["sh", "-c", f'[ "$PPID" = {os.getpid()} ] && exec "$@"', "sh"]
        return [*enter, *still, *(os.fspath(word) for word in words)]

    def run(self, *words: str | os.PathLike[str], timeout_s: float = 60) -> str:
        """Run a command to its end and return its output. It inherits the namespace of this thread."""
        with inside(self):
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise LabError(
                f"in {self.name}: {' '.join(str(word) for word in words)}: {said or f'exit code {done.returncode}'}"
            )
        return done.stdout

    def ip(self, *words: str) -> list[dict[str, Any]]:
        """Run `ip` and return its JSON, if there is any."""
        said = self.run("ip", "-json", *words)
        return json.loads(said) if said.strip() else []


class Lab:
    """Namespaces and links that exist during a `with` block."""

    def __init__(self) -> None:
        """Make nothing yet."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Raise if this machine cannot make namespaces."""
        if why := missing():
            raise LabError(why)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End programs, newest first, then namespaces."""
        self._stack.close()

    def host(self, name: str, *, bridge: bool = False) -> Host:
        """Make a namespace with its loopback up. With `bridge`, IPv6 is off, so that it sends no packets of its own."""
        settle = "ip link set lo up"
        if bridge:
            settle += "; sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 2>/dev/null"
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", f"{settle}; echo ready; exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._stack.callback(_end, holder)
        if holder.stdout is None or holder.stdout.readline().strip() != b"ready":
            said = holder.stderr.read().decode() if holder.stderr else ""
            raise LabError(f"cannot make a namespace for {name}: {said.strip() or 'its holder process ended'}")
        return Host(name, holder)

    def link(self, a: Host, b: Host, *, names: tuple[str, str], mtu: int = 1500) -> None:
        """Join two hosts by a veth pair with these interface names, both up and with segmentation offload off.

        Linux's TCP builds bursts for offload even if the interface has none, unless it takes one segment at a time.
        """
        whole = "ethtool -K {} gro off gso off tso off" if shutil.which("ethtool") else "true"
        pair = f"type veth peer name {names[1]} mtu {mtu} netns {b.pid}"
        for host, name, first in ((a, names[0], f"ip link add {names[0]} mtu {mtu} {pair}"), (b, names[1], "true")):
            host.run("sh", "-ec", f"{first}; ip link set dev {name} up gso_max_segs 1; {whole.format(name)}")

    def start(
        self, host: Host, *words: str | os.PathLike[str], log: Path | None = None, cwd: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a program. It is ended with the lab if it still runs then."""
        with ExitStack() as files:
            to = files.enter_context(log.open("w", encoding="utf-8")) if log else subprocess.PIPE
            program = subprocess.Popen(
                host.command(words),
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=subprocess.STDOUT if log else subprocess.PIPE,
                text=True,
                cwd=cwd,
            )
        self._stack.callback(_end, program)
        return program


def _end(program: subprocess.Popen[Any]) -> None:
    """Terminate a program; kill it if it does not end in time."""
    if program.stdin is not None:
        program.stdin.close()
    elif program.poll() is None:
        program.terminate()
    try:
        program.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
    for pipe in (program.stdout, program.stderr):
        if pipe is not None:
            pipe.close()


PATIENCE_S = 3
