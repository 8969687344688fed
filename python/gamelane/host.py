"""Describes the machine that made a run, for the manifest."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> dict[str, str | int]:
    """Return system, kernel, processor, cores and Python version, but no name or address of the machine."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "cpu": _cpu() or platform.processor() or platform.machine(),
        "cores": cores(),
        "python": platform.python_version(),
    }


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
