"""What works on this machine. Every check only looks: no module is loaded, no interface touched."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gamelane import _native, host

QDISCS = ("fq_codel", "codel", "pie", "fq_pie", "cake", "netem", "htb")
CAP_NET_ADMIN = 12


@dataclass(frozen=True)
class Check:
    """One thing looked at. `needed` means that simulating needs it; the rest widens what can be done."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = False


def examine() -> list[Check]:
    """Every check, in the order a reader would ask."""
    return [
        Check("python", sys.version_info >= (3, 11), platform.python_version(), "install Python 3.11", needed=True),
        Check("native module", True, f"gamelane {_native.version()}", needed=True),
        Check("cores", True, str(host.cores()), needed=True),
        Check("engine sim", True, "simulates in virtual time; needs no privileges", needed=True),
        Check("engine lab", False, "not built yet"),
        Check("gateway", False, "not built yet"),
        _tool("tc", "iproute2", "kernel queue disciplines"),
        *(_qdisc(name) for name in QDISCS),
        _privileges(),
        _tool("tshark", "tshark", "reads the captures --pcap writes"),
        _chromium(),
        _extra("ray", "sweeps on several machines"),
        _extra("optuna", "gamelane tune"),
    ]


def _tool(command: str, package: str, purpose: str) -> Check:
    path = shutil.which(command)
    return Check(command, path is not None, path or purpose, f"apt-get install {package}")


def _chromium() -> Check:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return Check(
        "chromium", found is not None, found or "the tests open the report with it", "apt-get install chromium"
    )


def _extra(module: str, purpose: str) -> Check:
    """A Python package that one command wants."""
    found = importlib.util.find_spec(module) is not None
    extra = "tune" if module == "optuna" else module
    return Check(module, found, "installed" if found else purpose, f"pip install 'gamelane[{extra}]'")


def _qdisc(name: str) -> Check:
    """Loaded, built in, or there to be loaded, in the order of how sure that is."""
    module = f"sch_{name}"
    if Path("/sys/module", module).exists():
        return Check(f"qdisc {name}", True, "in the running kernel")
    modules = Path("/lib/modules", platform.release())
    if _mentions(modules / "modules.builtin", module):
        return Check(f"qdisc {name}", True, "built into the kernel")
    if shutil.which("modprobe") and _quiet(["modprobe", "--dry-run", "--quiet", module]):
        return Check(f"qdisc {name}", True, f"can be loaded: modprobe {module}")
    return Check(f"qdisc {name}", False, f"no {module} for kernel {platform.release()}", "boot a kernel that has it")


def _mentions(listing: Path, module: str) -> bool:
    try:
        return f"/{module}.ko" in listing.read_text(encoding="utf-8")
    except OSError:
        return False


def _quiet(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _privileges() -> Check:
    """Whether this process could change network interfaces."""
    return Check(
        "privileges",
        _may_administer_networks(),
        f"user {os.geteuid()}, CAP_NET_ADMIN {'held' if _may_administer_networks() else 'not held'}",
        "run as root for anything on real interfaces; simulating needs nothing",
    )


def _may_administer_networks() -> bool:
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> CAP_NET_ADMIN & 1)
