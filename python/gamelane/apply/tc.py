"""The `tc` and `nft` commands for a gateway that runs Linux.

HTB or CAKE's shaper holds the rate, with the queue discipline below. Packets from the internet take a detour over an
IFB device, because the kernel queues only what leaves. They pass it before nftables sees them. So nftables assigns
classes upstream, and filters of `tc` do so downstream.
"""

from __future__ import annotations

from gamelane.apply import htb, nft, u32
from gamelane.apply.discipline import discipline, options, unsaid
from gamelane.apply.match import variable
from gamelane.apply.plan import Lane, Plan, has_classes
from gamelane.apply.recipe import Recipe
from gamelane.catalogue import APPS

TARGET = "tc"
WAN, LAN, IFB = "$WAN", "$LAN", "ifb-wan"
HOSTS = ("dual-srchost", "dual-dsthost", "triple-isolate")


def recipe(plan: Plan) -> Recipe:
    """Return the commands for root on the gateway."""
    if plan.refused:
        return Recipe(TARGET, unsaid=plan.refused)
    trees = {lane.way: htb.tree(plan, lane) for lane in plan.lanes if has_classes(lane.queue)}
    lacking = [*plan.unsaid, *plan.elsewhere]
    unfilled = [each for tree in trees.values() if not tree.rules for each in tree.unsaid]
    if unfilled:
        return Recipe(TARGET, unsaid=tuple(dict.fromkeys(unfilled)))
    apply: list[str] = []
    joins = any(lane.kind != "cake" for lane in plan.lanes)
    if joins:
        apply += ["# Let no packets be joined: a queue would count and send them as one.", _offload("off"), ""]
    for lane in plan.lanes:
        tree = trees.get(lane.way)
        lacking += tree.unsaid if tree else unsaid(lane.queue, lane.way)
        apply += [f"# {lane.way}: {lane.kbit} kbit/s, {lane.why}", *_direction(lane, tree), ""]
    used = [line for line in apply if "$PORT_" in line]
    ports = [flow["name"] for flow in plan.flows if any(f"${variable(flow['name'])} " in f"{line} " for line in used)]
    return Recipe(
        TARGET,
        (
            "WAN=eth0  # the interface towards the modem",
            *(('LAN="eth1"  # the interfaces towards the home',) if joins else ()),
            *(_port(plan, name) for name in ports),
        ),
        (*UNDO, _offload("on")) if joins else UNDO,
        tuple(apply[:-1]),
        tuple(dict.fromkeys(lacking)),
    )


def _direction(lane: Lane, tree: htb.Tree | None) -> list[str]:
    device = WAN if lane.way == "up" else IFB
    found = [] if lane.way == "up" else _redirect()
    if tree is not None:
        found += [*htb.named(tree.classes), *htb.lines(tree, lane, device)]
        return found + (nft.table(WAN, tree.rules) if lane.way == "up" else u32.filters(device, tree.rules))
    if lane.kind == "cake":
        return [*found, f"tc qdisc replace dev {device} root {_cake(lane)}"]
    found += htb.shaper(lane, device, 1)
    return [*found, f"tc qdisc replace dev {device} parent 1:1 handle 10: {discipline(lane.queue)}"]


def _redirect() -> list[str]:
    return [
        f"ip link add {IFB} type ifb && ip link set {IFB} up",
        f"tc qdisc replace dev {WAN} handle ffff: ingress",
        f"tc filter add dev {WAN} parent ffff: protocol all prio 1 u32 match u32 0 0 "
        f"action mirred egress redirect dev {IFB}",
    ]


def _cake(lane: Lane) -> str:
    # Hosts at home are visible to CAKE only before address translation.
    nat = ["nat"] if lane.queue.get("isolation", "triple-isolate") in HOSTS else []
    return " ".join(["cake", f"bandwidth {lane.kbit}kbit", lane.framing.cake(), *nat, *options(lane.queue)])


def _offload(state: str) -> str:
    return f"for dev in {WAN} {LAN}; do ethtool -K $dev gro {state} gso {state} tso {state}; done"


def _port(plan: Plan, name: str) -> str:
    flow = next(flow for flow in plan.flows if flow["name"] == name)
    app = APPS[flow["app"]]
    return f"{variable(name)}={app.server_port}  # {app.transport.upper()} port of the server of {name}"


UNDO = (
    f"tc qdisc del dev {WAN} root 2>/dev/null",
    f"tc qdisc del dev {WAN} ingress 2>/dev/null",
    f"ip link del {IFB} 2>/dev/null",
    f"nft delete table {nft.TABLE} 2>/dev/null",
)
"""Ends what any recipe of this target sets up, but for the offloads that HTB's switch off."""
