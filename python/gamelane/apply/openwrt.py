"""The `uci` commands that set up OpenWrt's SQM (sqm-scripts: `src/*.qos`, `src/functions.sh`, `src/run-openwrt.sh`).

CAKE runs under `piece_of_cake.qos` (one tin) or `layer_cake.qos`. Others without classes run under `simplest.qos`.
SQM has no classes of its own: its three bands are for code points only.
"""

from __future__ import annotations

from collections.abc import Callable

from gamelane.apply import discipline
from gamelane.apply.framing import HEADER
from gamelane.apply.plan import Lane, Plan, has_classes
from gamelane.apply.recipe import Recipe

TARGET = "openwrt"
SECTION = "sqm.wan"
UNDO = (f"uci -q delete {SECTION}", "uci commit sqm", "/etc/init.d/sqm restart")
LIMITS = {"fq_codel": 10240, "fq_pie": 10240, "dualpi2": 10000}
"""Limits in packets that Linux has by default; SQM's default is 1001. Others: 1000."""
MARKS = ("fq_codel",)
"""Disciplines that mark by default in Linux. SQM lets all of them mark."""


def recipe(plan: Plan) -> Recipe:
    """Return the commands for OpenWrt with the package sqm-scripts."""
    lacking = [*plan.refused]
    kinds = {discipline.name_of(lane.queue) for lane in plan.lanes}
    lacking += [
        f"SQM has no classes, and `queue = {kind}` needs them."
        for kind in dict.fromkeys(lane.kind for lane in plan.lanes if has_classes(lane.queue))
    ]
    if len(kinds) > 1 and not lacking:
        lacking.append("`gateway.up` and `gateway.down` differ, and SQM has one discipline for both.")
    framings = {lane.framing for lane in plan.lanes}
    if len(framings) > 1 and not lacking:
        lacking.append("`overhead` differs by direction, and SQM has one for both.")
    if lacking:
        return Recipe(TARGET, unsaid=tuple(lacking))
    lane = plan.lanes[0]
    chosen = _cake(plan) if lane.kind == "cake" else _simplest(plan)
    rates = {way: next((lane.kbit for lane in plan.lanes if lane.way == way), 0) for way in ("down", "up")}
    chosen |= {"download": str(rates["down"]), "upload": str(rates["up"])}
    lines = [f"uci set {SECTION}.{option}='{value}'" for option, value in chosen.items()]
    said = [each for lane in plan.lanes for each in discipline.unsaid(lane.queue, lane.way)]
    if lane.kind != "cake":
        said.append("SQM leaves GRO on, and HTB takes joined packets as one. CAKE separates them.")
    return Recipe(
        TARGET,
        ("WAN=eth0  # the device of the interface wan: `ifstatus wan` shows it as l3_device",),
        UNDO,
        (
            "# SQM comes with the package sqm-scripts (LuCI: luci-app-sqm).",
            f"uci set {SECTION}=queue",
            f"uci set {SECTION}.enabled='1'",
            f'uci set {SECTION}.interface="$WAN"',
            *lines,
            "uci commit sqm",
            "/etc/init.d/sqm restart",
        ),
        tuple(dict.fromkeys([*plan.unsaid, *plan.elsewhere, *said])),
    )


def _cake(plan: Plan) -> dict[str, str]:
    lane = plan.lanes[0]
    single = all(lane.queue.get("tins") == "besteffort" for lane in plan.lanes)
    found = {
        "qdisc": "cake",
        "script": "piece_of_cake.qos" if single else "layer_cake.qos",
        # Otherwise SQM clears code points downstream, or does not read them.
        "squash_dscp": "1" if any(lane.way == "down" and lane.queue.get("wash") for lane in plan.lanes) else "0",
        "squash_ingress": "0",
        "linklayer": "atm" if lane.framing.kind == "atm" else "ethernet",
        "overhead": str(lane.framing.overhead),
        "tcMPU": str(lane.framing.mpu),
        **ADVANCED,
    }
    more = ["ptm"] if lane.framing.kind == "ptm" else []
    return found | _options(plan, lambda lane: [*more, *discipline.options(lane.queue)])


def _simplest(plan: Plan) -> dict[str, str]:
    lane = plan.lanes[0]
    found = {
        "qdisc": discipline.name_of(lane.queue),
        "script": "simplest.qos",
        "linklayer": "atm" if lane.framing.kind == "atm" else "ethernet",
        # The size table of HTB starts from the frame, whose Ethernet header the kernel has counted.
        "overhead": str(lane.framing.overhead - HEADER),
        "tcMPU": str(lane.framing.mpu),
        **ADVANCED,
    }
    for each in plan.lanes:
        side = SIDES[each.way]
        marks = each.queue.get("ecn", each.kind in MARKS)
        found[f"{side}gress_ecn"] = "ECN" if marks else "NOECN"
        found[f"{side[0]}target"] = "default"
        found[f"{side[0]}limit"] = _limit(each)
    return found | _options(plan, _without_limit)


def _options(plan: Plan, of: Callable[[Lane], list[str]]) -> dict[str, str]:
    found = {f"{SIDES[lane.way][0]}qdisc_opts": " ".join(of(lane)) for lane in plan.lanes}
    return {option: text for option, text in found.items() if text}


def _without_limit(lane: Lane) -> list[str]:
    return [option for option in discipline.options(lane.queue) if not option.startswith("limit ")]


def _limit(lane: Lane) -> str:
    given = [option for option in discipline.options(lane.queue) if option.startswith("limit ")]
    return given[0].removeprefix("limit ") if given else str(LIMITS.get(lane.kind, 1000))


ADVANCED = {"linklayer_advanced": "1", "qdisc_advanced": "1", "qdisc_really_really_advanced": "1"}
"""What LuCI needs to show the other options, and to keep them."""
SIDES = {"up": "e", "down": "in"}
