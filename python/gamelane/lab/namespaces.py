"""Network namespaces that vanish with whoever made them.

Each is held by a process that waits for the end of its input, and has no name in /run/netns: when the maker ends, by
SIGKILL too, the kernel closes the pipe, the holder ends, and with it the namespace, its interfaces and their peers.
Programs started inside are told to die with their parent. Nothing of the host is changed: there is nothing to put back.
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

TOOLS = ("ip", "unshare", "nsenter", "setpriv")


def missing() -> str | None:
    """Say why there can be no namespaces here; None if there can."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"{', '.join(lacking)} not found: apt-get install iproute2 util-linux"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no network namespaces: {probe.stderr.strip()}; run as root"


@dataclass(frozen=True)
class Host:
    """One namespace."""

    name: str
    holder: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process whose namespace it is."""
        return self.holder.pid

    def command(self, words: Sequence[str | os.PathLike[str]]) -> list[str]:
        """Return what runs `words` in here, to end with the process that starts it."""
        enter = ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", "setpriv", "--pdeathsig", "KILL", "--"]
        # A parent that died before it could be told of would not be mourned.
        still = ["sh", "-c", f'[ "$PPID" = {os.getpid()} ] && exec "$@"', "sh"]
        return [*enter, *still, *(os.fspath(word) for word in words)]

    def run(self, *words: str | os.PathLike[str], timeout_s: float = 60) -> str:
        """Run to the end and return what it printed."""
        done = subprocess.run(
            self.command(words),
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
    """Namespaces and links for the time of a `with`."""

    def __init__(self) -> None:
        """Make nothing yet."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Refuse at once what cannot be."""
        if why := missing():
            raise LabError(why)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End programs, newest first, then namespaces."""
        self._stack.close()

    def host(self, name: str, *, bridge: bool = False) -> Host:
        """Make a namespace with its loopback up. A bridge's own stack stays silent on its interfaces."""
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
            raise LabError(f"no namespace for {name}: {said.strip() or 'its holder ended'}")
        return Host(name, holder)

    def link(self, a: Host, b: Host, *, names: tuple[str, str], mtu: int = 1500) -> None:
        """Join two hosts by a veth pair with these interface names, both up. Segmentation is left to no one."""
        whole = "ethtool -K {} gro off gso off tso off" if shutil.which("ethtool") else "true"
        pair = f"type veth peer name {names[1]} mtu {mtu} netns {b.pid}"
        for host, name, first in ((a, names[0], f"ip link add {names[0]} mtu {mtu} {pair}"), (b, names[1], "true")):
            host.run("sh", "-ec", f"{first}; ip link set dev {name} up; {whole.format(name)}")

    def start(
        self, host: Host, *words: str | os.PathLike[str], log: Path | None = None, cwd: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a program that runs until the end of the lab or its own."""
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
    """Ask it to end, then make it."""
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
