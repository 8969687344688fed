"""Tells whether KVM works here. A machine can have `/dev/kvm`, and still not run a kernel with it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

DEVICE = Path("/dev/kvm")
TRIED_S = 10
"""A kernel without a root stops itself within two seconds. After this long, KVM does not work."""
FAILED = "KVM internal error"
"""QEMU says this and waits."""


def works(boots: Sequence[str]) -> bool:
    """Whether the words `boots` boot a kernel with KVM: it finds no root, panics, and ends QEMU."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return False
    with subprocess.Popen(
        boots, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as machine:
        late = threading.Timer(TRIED_S, machine.kill)
        late.start()
        for line in machine.stdout or ():
            if FAILED in line:
                machine.kill()
        late.cancel()
    return machine.returncode == 0
