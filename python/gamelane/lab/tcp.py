"""Translates the TCP keys of a scenario into settings of the Linux kernel.

Every flow has its own server, so route attributes set values per flow. Other values are settings of the host. Keys that
Linux cannot set are refused. docs/lab.md lists where the kernel differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from gamelane import _native, quantity
from gamelane.catalogue import CONGESTION, RECOVERY, STACKS, TIMERS

AUTOMATIC = "auto"
STACK = "linux"
HEADERS = _native.IPV4_HEADER + _native.TCP_HEADER

Refuse = Callable[[str, Any, str, str, str], NoReturn]


@dataclass(frozen=True)
class Tcp:
    """TCP settings of both ends of a flow."""

    route: tuple[str, ...] = ()
    """Attributes of the routes between its two hosts, as `ip route` takes them."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Values of sysctl keys below `net.ipv4`."""
    window: int | None = None
    """Maximum window that the receiver advertises, in bytes; None: the kernel adapts its receive buffer."""
    nagle: bool = True


def tcp_of(keys: Mapping[str, Any], *, mtu: int, refuse: Refuse, loaded: Sequence[str] | None = None) -> Tcp:
    """Translate `[tcp]`. `refuse` gets key, value, reason, allowed values and a hint.

    `loaded` are the congestion controls of the kernel that will run it; None for this one.
    """
    if STACKS[stack := keys.get("stack", STACK)].linux is None:
        allowed = ", ".join(f'"{word}"' for word, row in STACKS.items() if row.linux is not None)
        refuse("stack", stack, "the hosts run Linux's TCP", allowed, f"--set tcp.stack={STACK}, or simulate it")
    for key, value in keys.items():
        if key in FIXED and value not in FIXED[key]:
            allowed = " or ".join(_written(one) for one in FIXED[key])
            refuse(key, value, "Linux has no setting for this", allowed, f"--set tcp.{key}={_bare(FIXED[key][0])}")
    asked = keys.get("congestion", "cubic")
    congestion = KERNEL_NAMES[asked]
    if asked not in congestion_controls(loaded):
        refuse(
            "congestion", asked, "this kernel does not have this congestion control",
            ", ".join(f'"{name}"' for name in congestion_controls(loaded)),
            f"try `modprobe tcp_{congestion}`, or run it with `--vm`",
        )  # fmt: skip
    size = keys.get("receive_window", AUTOMATIC)
    if size == "freebsd":
        hint = f"--set tcp.receive_window={AUTOMATIC}"
        refuse("receive_window", size, "the hosts run Linux's TCP", f'a size, or "{AUTOMATIC}"', hint)
    window = None if size == AUTOMATIC else int(quantity.parse(size, "B") or 0)
    route = ["congctl", congestion]
    if window is not None:
        route += ["window", str(window)]
    route += ["initcwnd", str(_initial(keys.get("initial_window", 10), mtu))]
    if keys.get("delayed_ack") == "off":
        route += ["quickack", "1"]
    if keys.get("ecn", False):
        route += ["features", "ecn"]
    settings = {
        **(RECOVERY[keys.get("recovery", "rack")].linux or {}),
        "tcp_timestamps": _switch(keys.get("timestamps", True)),
        "tcp_dsack": _switch(keys.get("dsack", True)),
        "tcp_frto": "2" if keys.get("frto", True) else "0",
        "tcp_slow_start_after_idle": _switch(keys.get("restart_after_idle", True)),
        "tcp_retrans_collapse": _switch(keys.get("piggyback", "sent") == "sent"),
        "tcp_thin_linear_timeouts": _switch(keys.get("linear_timeouts", False)),
    }
    return Tcp(tuple(route), settings, window, bool(keys.get("nagle", True)))


def settings_of(flows: list[Tcp]) -> dict[str, str]:
    """Return the settings of a host that is an end of these flows. `windows.py` sets receive buffers of given sizes."""
    found = {key: value for tcp in flows for key, value in tcp.settings.items()}
    return {
        **found,
        "tcp_moderate_rcvbuf": "1",
        "tcp_rmem": f"4096 131072 {6 << 20}",
        "tcp_wmem": f"4096 65536 {1 << 25}",
        "tcp_notsent_lowat": str(1 << 17),
        "tcp_no_metrics_save": "1",
    }


def congestion_controls(loaded: Sequence[str] | None = None) -> list[str]:
    """Return the congestion controls of scenarios that the kernel has loaded, or those among `loaded`."""
    if loaded is None:
        try:
            loaded = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
        except OSError:
            loaded = ["reno"]
    return [word for word, name in KERNEL_NAMES.items() if name in loaded]


def _initial(value: int | str, mtu: int) -> int:
    """Return the initial window in segments. RFC 5681 section 3.1 makes it depend on the segment size."""
    if isinstance(value, int):
        return value
    segment = mtu - HEADERS
    return 2 if segment > 2190 else 3 if segment > 1095 else 4


def _switch(on: bool) -> str:
    return "1" if on else "0"


def _written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _bare(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower()


KERNEL_NAMES = {word: row.linux["tcp_congestion_control"] for word, row in CONGESTION.items() if row.linux}
FIXED: dict[str, tuple[Any, ...]] = {
    "recovery": ("rack", *(word for word, row in RECOVERY.items() if row.linux is not None and word != "rack")),
    "timer": tuple(word for word, row in TIMERS.items() if row.linux is not None),
    "delayed_ack": ("linux", "off"),
    "window_counts": ("segments",),
    "slow_start": ("linux",),
    "hystart": (True,),
    "reduction": ("prr",),
    "window_validation": ("rfc2861",),
    "eifel": (True,),
    "linear_syns": (4,),
    "limited_transmit": (True,),
    "quick_acks": (16,),
    "thin_below": (4,),
    "thin_dupack": (False,),
    "early_retransmit": (False,),
    "merge_writes": (False,),
    "piggyback": ("sent", "off"),
    "rdb": (False,),
}
"""Keys that Linux cannot set, and the values that match its behaviour."""
