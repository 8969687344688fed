"""Runs a script of this folder in a guest."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

from gamelane import programs
from gamelane.errors import LabError
from gamelane.guest import boot, qemu
from gamelane.guest.kinds import SCRIPT
from tests.conftest import ROOT
from tests.needs import lacking

PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def said_by(script: str, folder: Path, *tools: str) -> list[str]:
    """Run a script with the gateway's program in QEMU, and return its lines. It also needs the `tools`."""
    try:
        guest = qemu.Qemu.find()
    except LabError as error:
        lacking(str(error).splitlines()[0])
    found = [Path(tool) for tool in map(shutil.which, tools) if tool]
    if len(found) < len(tools):
        lacking(f"one of {', '.join(tools)} is not installed")
    program = programs.GATEWAY.find()
    (folder / script).write_bytes((ROOT / "tests" / "lab" / script).read_bytes())
    words = ["sh", "-c", f"{sys.executable} {script} {program} > lines 2>&1"]
    (folder / SCRIPT).write_text(guest.script(folder, PATH, words))
    guest.pack(folder, [Path(program), *found])
    boot.boot(guest, folder, boot.Watch(script, 1, threading.Event()))
    guest.unpack(folder)
    return (folder / "lines").read_text().splitlines()
