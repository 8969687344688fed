"""Checks what works on this machine. `examine` changes nothing: it loads no module and touches no interface.

`measure` creates its own namespaces, measures the accuracy of the emulation in them, and removes them.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gamelane import _native, host, programs
from gamelane.catalogue import QUEUES
from gamelane.errors import LabError, UsageError
from gamelane.lab import namespaces

if TYPE_CHECKING:
    from gamelane.guest.kinds import Guest

QDISCS = (*dict.fromkeys(queue.tc for queue in QUEUES.values() if queue.tc != "pfifo"), "netem")
"""Disciplines of the kernel for the queues of scenarios, and the one that adds delay. Every kernel has `pfifo`."""
CAP_NET_ADMIN = 12
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38
CAP_BPF = 39

AF_XDP = 44
SLEEPS = 100
LATE_US = 1000
TRIED_S = 10
CANNOT_ONE = "one interface cannot be impaired here: "
PROGRAMS = (
    (programs.CAPTURE, "records an interface and analyzes its games"),
    (programs.GATEWAY, "runs a scenario's gateway on real packets"),
    (programs.IMPAIR, "adds delay and loss to real packets"),
    (programs.TRAFFIC, "sends games and calls over real sockets"),
    (programs.PROXY, "carries many thin TCP streams over few connections"),
)


@dataclass(frozen=True)
class Check:
    """One check. `needed` means that simulations need it; everything else is optional."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = False


def examine() -> list[Check]:
    """Return every check, the most basic first."""
    return [
        Check("python", sys.version_info >= (3, 11), platform.python_version(), "install Python 3.11", needed=True),
        Check("native module", True, f"gamelane {_native.version()}", needed=True),
        Check("cores", True, str(host.cores()), needed=True),
        Check("engine sim", True, "simulates in virtual time; needs no privileges", needed=True),
        *(_program(name, purpose) for name, purpose in PROGRAMS),
        _namespaces(),
        _lab(),
        _kernel(),
        _uml(),
        *_qemu(),
        _impair_one(),
        _sockets(
            "AF_PACKET",
            socket.AF_PACKET,
            socket.SOCK_RAW,
            "gateway and impair forward frames, capture records",
        ),
        _xdp(),
        _watching(),
        _timer(),
        _real_time(),
        _preemption(),
        _tool(
            "iperf3",
            "iperf3",
            "measures rates in `doctor --measure` and bench/gateway.py; `measure` runs it or reads its files",
        ),
        _tool(
            "irtt",
            "irtt",
            "measures one-way delay in the gateway's tests; `measure` runs it or reads its files",
        ),
        _tool("tc", "iproute2", "sets up kernel queue disciplines"),
        *(_qdisc(name) for name in QDISCS),
        _privileges(),
        _tool("tshark", "tshark", "reads the captures that --pcap writes"),
        _chromium(),
        _extra("ray", "sweeps on several machines"),
        _extra("optuna", "gamelane tune"),
    ]


def measure() -> list[Check]:
    """Set a delay and a rate between namespaces, and measure both. Takes about 15 s and needs root."""
    from gamelane.lab import emulation  # noqa: PLC0415 - NumPy and Polars take a second to load

    try:
        delay, rate = emulation.measure()
    except (LabError, UsageError) as error:
        return [Check("emulation", False, *_first_two(str(error)))]
    busy = f", with {delay.load:.1f} processes waiting per core" if delay.load > 1 else ""
    checks = [
        Check(
            "emulated delay",
            delay.ok,
            f"set {emulation.DELAY_MS:g} ms: median {delay.median_ms:.3f} ms, p99 {delay.p99_ms:.3f} ms "
            f"of {delay.packets} packets{busy}",
            f"on an idle machine the delay should exceed the setting by at most {emulation.MEDIAN_GOAL_MS} ms at the "
            f"median and {emulation.P99_GOAL_MS:g} ms at p99",
        )
    ]
    if rate is None:
        return [*checks, Check("emulated rate", False, "not measured: needs iperf3", "apt-get install iperf3")]
    got, expected = rate.goodput_bps / 1e6, rate.expected_bps / 1e6
    said = f"set {emulation.RATE_BPS / 1e6:g} Mbit/s: goodput {got:.2f} Mbit/s, expected {expected:.2f} Mbit/s"
    return [*checks, Check("emulated rate", rate.ok, said, "on an idle machine the difference should be at most 2 %")]


def _first_two(text: str) -> tuple[str, str]:
    first, _, rest = text.partition("\n")
    return first, rest.strip().removeprefix("hint:").strip()


def _program(program: programs.Program, purpose: str) -> Check:
    try:
        return Check(program.name, True, str(program.find()))
    except UsageError:
        return Check(program.name, False, f"not built here; {purpose}", f"`make {program.target}`")


def _real(engine: str, detail: Callable[[], str]) -> Check:
    """Check whether `run --engine lab` or `kernel` has all it needs."""
    from gamelane.lab import betweens, run  # noqa: PLC0415 - NumPy and Polars take a second to load

    try:
        run.check(betweens.between(engine))
    except (LabError, UsageError) as error:
        why, hint = _first_two(str(error).removeprefix(f"--engine {engine}: "))
        return Check(f"engine {engine}", False, why, hint or "see docs/lab.md")
    return Check(f"engine {engine}", True, detail())


def _lab() -> Check:
    from gamelane.lab import tcp  # noqa: PLC0415 - as above

    return _real("lab", lambda: f"real hosts in real time; TCP: {', '.join(tcp.congestion_controls())}")


def _kernel() -> Check:
    from gamelane.lab.kernel import available  # noqa: PLC0415 - as above

    return _real(
        "kernel", lambda: f"real hosts in real time behind the kernel's queues: {', '.join(available.here().queues)}"
    )


def _uml() -> Check:
    """Check whether `run --vm` has a kernel of User-Mode-Linux."""
    from gamelane.guest import build, uml  # noqa: PLC0415 - as above

    try:
        guest = uml.UserModeLinux.find()
    except LabError as error:
        why, hint = _first_two(str(error).removeprefix("--vm: "))
        return Check("guest uml", False, why, f"{hint}: {build.COSTS}")
    return Check("guest uml", True, f"{guest.label} at {guest.path}; {_gives(guest)}")


def _qemu() -> list[Check]:
    """Check whether `run --vm` has QEMU and a kernel for it, and whether KVM runs that kernel."""
    from gamelane.guest import kvm, qemu  # noqa: PLC0415 - as above

    try:
        guest = qemu.Qemu.find()
    except LabError as error:
        return [Check("guest qemu", False, *_first_two(str(error).removeprefix("--vm: ")))]
    found = Check("guest qemu", True, f"{guest.label} at {guest.kernel.image}; {qemu.COSTS}; {_gives(guest)}")
    try:
        real = qemu.Qemu.with_kvm()
    except LabError as error:
        return [found, Check("guest kvm", False, *_first_two(str(error).removeprefix("--vm: ")))]
    return [found, Check("guest kvm", True, f"{kvm.DEVICE}; {_gives(real)}")]


def _gives(guest: Guest) -> str:
    known = [name for name in guest.available.queues if name in QDISCS or name == "pfifo"]
    time = "virtual" if guest.virtual_time else "real"
    return f"in {time} time" + (f"; queues: {', '.join(known)}" if known else "")


def _impair_one() -> Check:
    """Check whether `impair IF` works without `--to`. The program tries it in its own namespace."""
    name = "impair one interface"
    try:
        done = subprocess.run(
            [programs.IMPAIR.find(), "check"], capture_output=True, text=True, check=False, timeout=TRIED_S
        )
    except (UsageError, OSError, subprocess.TimeoutExpired) as error:
        return Check(name, False, _first_two(str(error))[0], f"`make {programs.IMPAIR.target}`")
    if done.returncode == 0:
        return Check(name, True, "yes: the kernel can redirect the frames of one interface")
    why, hint = _first_two(done.stderr.removeprefix("error: "))
    return Check(name, False, f"no: {why.removeprefix(CANNOT_ONE)}", hint or "run as root")


def _namespaces() -> Check:
    why = namespaces.missing()
    if why is None:
        made = _quiet(["unshare", "--net", "ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1"])
        why = None if made else "the kernel cannot create veth pairs"
    return Check("namespaces", why is None, why or "network namespaces and veth pairs", "run as root")


def _sockets(name: str, family: int, kind: int, purpose: str) -> Check:
    try:
        socket.socket(family, kind, 0).close()
    except PermissionError:
        return Check(name, False, f"not permitted; {purpose}", "run as root")
    except OSError as error:
        return Check(name, False, f"not in this kernel ({error.strerror}); {purpose}", "boot a kernel with it")
    return Check(name, True, purpose)


def _xdp() -> Check:
    """Check whether `gateway run --io xdp` is possible, as far as this does not depend on the interfaces."""
    purpose = "`gateway run --io xdp` uses it, if the driver supports XDP"
    found = _sockets("AF_XDP", AF_XDP, socket.SOCK_RAW, purpose)
    if found.ok and not (_holds(CAP_BPF) or _holds(CAP_SYS_ADMIN)):
        return Check(
            "AF_XDP", False, f"not permitted to load its BPF program; {purpose}", "run as root, or grant CAP_BPF"
        )
    return found


def _watching() -> Check:
    """Check whether single packets of Linux's queues can be seen."""
    from gamelane.lab.kernel.available import TYPES  # noqa: PLC0415 - as above

    name, purpose = "packets of queues", "`gateway truth` and `gateway run --engine kernel` see them"
    if not TYPES.exists():
        why = f"this kernel has no type information ({TYPES}); without it {purpose.replace('see', 'do not see')}"
        return Check(name, False, why, "boot a kernel with CONFIG_DEBUG_INFO_BTF")
    if not _holds(CAP_SYS_ADMIN) and not (_holds(CAP_BPF) and _holds(CAP_PERFMON)):
        return Check(name, False, f"not permitted; {purpose}", "run as root, or grant CAP_BPF and CAP_PERFMON")
    return Check(name, True, purpose)


def _timer() -> Check:
    """Measure how late a sleep of 1 ms ends: the lower limit of every timer here. Python adds about 10 us."""
    late_us = []
    for _ in range(SLEEPS):
        due = time.monotonic_ns() + 1_000_000
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        late_us.append((time.monotonic_ns() - due) / 1e3)
    late_us.sort()
    median, worst = late_us[SLEEPS // 2], late_us[SLEEPS * 99 // 100]
    return Check(
        "timers",
        worst < LATE_US,
        f"a sleep of 1 ms ends {median:.0f} us late at the median, {worst:.0f} us at p99",
        "other programs cause the delay; gateway and impair take real-time priority if permitted",
    )


def _real_time() -> Check:
    """Check whether a process may take real-time priority. A child process tries it and ends."""
    granted = _quiet(["chrt", "-f", "1", "true"])
    return Check(
        "real-time priority",
        granted,
        "gateway and impair run before other programs" if granted else "other programs can delay gateway and impair",
        "run as root, or grant CAP_SYS_NICE",
    )


def _preemption() -> Check:
    """Check how long a woken gateway may wait for system calls of other programs, whatever its priority."""
    mode = _preemption_mode()
    waits = mode in {"none", "voluntary"}
    cost = ": system calls of other programs can delay a gateway by 1 to 2 ms" if waits else ""
    return Check("preemption", not waits, (mode or "unknown") + cost, "boot with preempt=full")


def _preemption_mode() -> str:
    """Return `none`, `voluntary`, `lazy`, `full` or `rt`: as booted, else as built; empty if unknown."""
    if "PREEMPT_RT" in platform.version():
        return "rt"
    try:
        words = Path("/proc/cmdline").read_text(encoding="utf-8").split()
        booted = [word.removeprefix("preempt=") for word in words if word.startswith("preempt=")]
        if booted:
            return booted[-1]
        built = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode().splitlines()
    except OSError:
        return ""
    options = {"NONE": "none", "VOLUNTARY": "voluntary", "LAZY": "lazy", "": "full"}
    return next((mode for name, mode in options.items() if f"CONFIG_PREEMPT{name and '_' + name}=y" in built), "")


def _tool(command: str, package: str, purpose: str) -> Check:
    path = shutil.which(command)
    return Check(command, path is not None, path or purpose, f"apt-get install {package}")


def _chromium() -> Check:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return Check("chromium", found is not None, found or "opens the report in tests", "apt-get install chromium")


def _extra(module: str, purpose: str) -> Check:
    """Check an optional Python package."""
    found = importlib.util.find_spec(module) is not None
    extra = "tune" if module == "optuna" else module
    return Check(module, found, "installed" if found else purpose, f"pip install 'gamelane[{extra}]'")


def _qdisc(name: str) -> Check:
    """Check whether a kernel module is loaded, built in, or available."""
    module = f"sch_{name}"
    if Path("/sys/module", module).exists():
        return Check(f"qdisc {name}", True, "in the running kernel")
    modules = Path("/lib/modules", platform.release())
    if _mentions(modules / "modules.builtin", module):
        return Check(f"qdisc {name}", True, "built into the kernel")
    if shutil.which("modprobe") and _quiet(["modprobe", "--dry-run", "--quiet", module]):
        return Check(f"qdisc {name}", True, f"can be loaded: modprobe {module}")
    return Check(f"qdisc {name}", False, f"no {module} for kernel {platform.release()}", "boot a kernel with it")


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
    """Check whether this process may change network interfaces."""
    return Check(
        "privileges",
        _holds(CAP_NET_ADMIN),
        f"user {os.geteuid()}, CAP_NET_ADMIN {'held' if _holds(CAP_NET_ADMIN) else 'not held'}",
        "run as root to use real interfaces; simulations need no privileges",
    )


def _holds(capability: int) -> bool:
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> capability & 1)
