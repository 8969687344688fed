"""Runs a script of this folder in a guest."""

from __future__ import annotations

import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path

from gamelane import programs
from gamelane.errors import LabError
from gamelane.guest import boot, cloud, qemu
from gamelane.guest.kinds import SCRIPT
from tests.conftest import ROOT
from tests.needs import lacking

PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def said_by(script: str, folder: Path, *tools: str, kernel: cloud.Kernel | None = None) -> list[str]:
    """Run a script with the gateway's program in QEMU, and return its lines. It also needs the `tools`.

    The `kernel` is the one in the cache unless another is given.
    """
    try:
        guest = qemu.Qemu.find()
        guest = replace(guest, kernel=kernel or guest.kernel)
    except LabError as error:
        lacking(str(error).splitlines()[0])
    found = [Path(tool) for tool in map(shutil.which, tools) if tool]
    if len(found) < len(tools):
        lacking(f"one of {', '.join(tools)} is not installed")
    program = programs.GATEWAY.find()
    (folder / script).write_bytes((ROOT / "tests" / "guest" / script).read_bytes())
    words = ["sh", "-c", f"{sys.executable} {script} {program} > lines 2>&1"]
    (folder / SCRIPT).write_text(guest.script(folder, PATH, words))
    guest.pack(folder, [Path(program), *found])
    boot.boot(guest, folder, boot.Watch(script, 1, threading.Event()))
    guest.unpack(folder)
    return (folder / "lines").read_text().splitlines()
