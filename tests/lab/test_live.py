"""`gamelane capture --live` between real hosts: the screen on a terminal of 80 columns, its order, and its keys."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.lab.namespaces import Host, Lab, missing
from tests.cli.command import GAMELANE
from tests.conftest import Repeat
from tests.lab.conftest import program
from tests.needs import lacking
from tests.real_time import in_time

WIDTH, HEIGHT = 80, 24
PATIENCE_S = 120
NEAR, FAR = "10.9.0.2", "10.9.0.3"

SERVE = """
import socket, threading
def answer(link):
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while said := link.recv(100):
        link.sendall(2 * said)
with socket.create_server(("", 13327)) as listener:
    print("listening", flush=True)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
"""
PLAY = """
import socket, sys, threading, time
def play(host):
    link = socket.create_connection((host, 13327))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=lambda: [None for _ in iter(lambda: link.recv(1000), b"")], daemon=True).start()
    while True:
        link.sendall(bytes(20))
        time.sleep(0.05)
for host in sys.argv[1:]:
    threading.Thread(target=play, args=(host,)).start()
"""


class Watched:
    """The command on a pseudo-terminal."""

    def __init__(self, host: Host, *words: str | Path) -> None:
        self.terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        self.before = termios.tcgetattr(end)
        self.process = subprocess.Popen(
            host.command([GAMELANE, "capture", *words, "--live", "eth0", "--json"]),
            stdin=end,
            stdout=subprocess.PIPE,
            stderr=end,
            text=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        self.end = end
        self.drawn = ""

    def screen(self, shows: Callable[[str], bool]) -> str:
        """Wait for a whole screen that shows something, and return it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            # The last piece is still being drawn.
            for piece in reversed(self.drawn.split("\x1b[H")[1:-1]):
                text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece).replace("\r", "")
                if shows(text):
                    self.drawn = ""
                    return text
            assert time.monotonic() < deadline, self.drawn[-3000:]
            if select.select([self.terminal], [], [], 1)[0]:
                self.drawn += os.read(self.terminal, 1 << 16).decode()

    def press(self, key: str) -> None:
        os.write(self.terminal, key.encode())

    def ended(self) -> dict[str, object]:
        """Return the document that the command printed."""
        text, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0
        assert termios.tcgetattr(self.end) == self.before
        document: dict[str, object] = json.loads(text)
        return document


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Host]:
    """A player who plays on two servers, one 120 ms away."""
    if why := missing():
        lacking(why)
    impair = program(programs.IMPAIR)
    with Lab() as lab:
        switch = lab.host("switch", bridge=True)
        switch.run("ip", "link", "add", "br0", "type", "bridge")
        switch.run("ip", "link", "set", "br0", "up")
        hosts = [lab.host(name) for name in ("player", "near", "far")]
        for number, host in enumerate(hosts, 1):
            lab.link(host, switch, names=("eth0", f"port{number}"))
            switch.run("ip", "link", "set", f"port{number}", "master", "br0")
            host.run("ip", "addr", "add", f"10.9.0.{number}/24", "dev", "eth0")
        logs = [tmp_path / name for name in ("near.log", "far.log", "impair.log")]
        lab.start(hosts[2], impair, "run", "eth0", "--delay", "60ms", log=logs[2])
        for host, log in zip(hosts[1:], logs, strict=False):
            lab.start(host, sys.executable, "-c", SERVE, log=log)
        deadline = time.monotonic() + PATIENCE_S
        while not all(
            word in log.read_text() for word, log in zip(("listen", "listen", "impairing"), logs, strict=True)
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        lab.start(hosts[0], sys.executable, "-c", PLAY, NEAR, FAR)
        yield hosts[0]


def test_the_slow_flow_comes_first_on_a_small_terminal(player: Host, tmp_path: Path, up_to_three_times: Repeat) -> None:
    """Delays are real, and a busy machine adds to them."""
    folders = iter(tmp_path / str(number) for number in range(9))
    up_to_three_times(lambda: _watch(player, next(folders)))


def _watch(player: Host, folder: Path) -> None:
    watched = Watched(player, "-o", folder)
    try:
        text = watched.screen(lambda text: "2 games or calls" in text and "late: flow" in text)
        lines = text.split("\n")
        assert len(lines) == HEIGHT
        assert all(len(line) <= WIDTH for line in lines)
        # Whole addresses, the far server first.
        order = re.findall(r"10\.9\.0\.1:\d+ > (10\.9\.0\.\d):13327\s", text)
        in_time(order == [FAR, NEAR], text)
        numbers = [line.split() for line in lines if "thin TCP" in line]
        far, near = (float(number[5]) for number in numbers)
        in_time(120 <= far < 170 and near < 60, numbers)
        waits = [float(number[6]) for number in numbers]
        in_time(120 <= waits[0] < 250, numbers)
        assert "Sorted by longest wait. q quit, s sort, p pause" in text
        watched.press("s")
        watched.screen(lambda text: "Sorted by round trip" in text)
        watched.press("p")
        paused = watched.screen(lambda text: "PAUSED. p goes on" in text)
        later = watched.screen(lambda text: "PAUSED" in text)
        assert paused.split("\n")[2:] == later.split("\n")[2:]
        watched.press("p")
        watched.screen(lambda text: "Sorted by round trip" in text)
        watched.press("q")
        document = watched.ended()
    finally:
        watched.process.kill()
        watched.process.communicate()
    assert len(document["captures"][0]["flows"]) == 2  # type: ignore[index]
    assert json.loads((folder / "analysis.json").read_text()) == document
    assert list(folder.glob("*.pcapng"))


def test_ctrl_c_leaves_the_screen_too(player: Host) -> None:
    watched = Watched(player)
    try:
        watched.screen(lambda text: "eth0 0:0" in text)
        watched.process.send_signal(signal.SIGINT)
        assert watched.ended()["recording"]
    finally:
        watched.process.kill()
        watched.process.communicate()


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = subprocess.run(
        [GAMELANE, "capture", "--live", "lo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--live: needs a terminal" in done.stderr
    assert "hint:    omit it" in done.stderr
