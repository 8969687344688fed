"""Completion in the shells themselves: commands, options, names, keys of a scenario, and words of a key."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.needs import needs

from .command import GAMELANE, gamelane

PATIENCE_S = 60.0

TYPED = {
    "gamelane repro": "gamelane reproduce",
    "gamelane run house": "gamelane run household",
    "gamelane run household --compa": "gamelane run household --compare",
    "gamelane run household --engine la": "gamelane run household --engine lab",
    "gamelane report --export fl": "gamelane report --export flent",
    "gamelane sweep que": "gamelane sweep queues",
    "gamelane models openar": "gamelane models openarena",
    "gamelane run household --set link.rt": "gamelane run household --set link.rtt=",
    "gamelane run household --set link.kind=doc": "gamelane run household --set link.kind=docsis",
    "gamelane measure there --by irtt,": "gamelane measure there --by irtt,iperf3",
    "gamelane capture an": "gamelane capture any",
    "gamelane serve --per": "gamelane serve --per-address",
    "gamelane gateway run --lan l": "gamelane gateway run --lan lo",
    "gamelane gateway run --lan lo --set gateway.shape.do": "gamelane gateway run --lan lo --set gateway.shape.down=",
    "gamelane proxy certificates in": "gamelane proxy certificates init",
    "gamelane impair sh": "gamelane impair show",
    "gamelane impair lo --profile star": "gamelane impair lo --profile starlink",
    "gamelane impair ana": "gamelane impair analyze",
    "gamelane impair trial lo --ho": "gamelane impair trial lo --hold",
    "gamelane traffic send openar": "gamelane traffic send openarena",
    "gamelane run household --set flow.quake3.tcp.cong": "gamelane run household --set flow.quake3.tcp.congestion=",
}

ENVIRONMENT = os.environ | {
    "PATH": f"{Path(GAMELANE).parent}:{os.environ['PATH']}",
    "TERM": "dumb",
    "PS1": "ready> ",
    "LC_ALL": "C.UTF-8",
}


class Terminal:
    """A shell at a terminal."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self._main, other = pty.openpty()
        self._shell = subprocess.Popen(
            words,
            stdin=other,
            stdout=other,
            stderr=other,
            env=ENVIRONMENT | {"HOME": str(folder), "ZDOTDIR": str(folder)},
            cwd=folder,
            start_new_session=True,
        )
        os.close(other)

    def type(self, text: str, until: str) -> None:
        """Type a text and wait until the terminal shows another."""
        os.write(self._main, text.encode())
        shown, deadline = "", time.monotonic() + PATIENCE_S
        while until not in shown:
            assert time.monotonic() < deadline, f"typed {text!r}, and waited for {until!r}: {shown!r}"
            if select.select([self._main], [], [], 0.1)[0]:
                shown += os.read(self._main, 65536).decode(errors="replace")

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._main)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            ["bash", "--norc", "--noprofile", "-i"], id="bash", marks=needs(shutil.which("bash"), "needs bash")
        ),
        pytest.param(["zsh", "-f", "-i"], id="zsh", marks=needs(shutil.which("zsh"), "needs zsh")),
    ],
)
def test_tab_completes(words: list[str], tmp_path: Path) -> None:
    terminal = Terminal(words, tmp_path)
    try:
        begin = "autoload -U compinit; compinit -u; " if words[0] == "zsh" else ""
        terminal.type(f'{begin}eval "$(gamelane completion {words[0]})"; echo all "set"\n', "all set")
        for typed, completed in TYPED.items():
            terminal.type(f"{typed}\t", completed)
            terminal.type("\x15\recho and", "and")
            terminal.type(" 'on'\n", "and on")
    finally:
        terminal.close()


@pytest.mark.parametrize("typed", TYPED)
@needs(shutil.which("fish"), "needs fish")
def test_fish_offers(typed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"gamelane completion fish | source; complete -C '{typed}'"],
        env=ENVIRONMENT | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    offered = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert TYPED[typed].split()[-1] in offered, done.stderr


def test_bash_adds_no_space_where_more_follows() -> None:
    script = gamelane("completion", "bash").stdout
    assert "compopt -o nospace" in script


def test_an_unknown_shell_is_refused() -> None:
    done = gamelane("completion", "tcsh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr
