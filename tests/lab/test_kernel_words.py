"""What `--engine kernel` makes of a scenario: the lines for `tc`, and the scenarios that it refuses. Nothing is run."""

from __future__ import annotations

import struct

import pytest

from gamelane import _native
from gamelane.errors import ScenarioError
from gamelane.lab.kernel import words
from gamelane.lab.kernel.between import Kernel
from gamelane.lab.kernel.qdiscs import Qdisc
from gamelane.lab.plan import Plan, Refusal, plan

BASE = """
name = "home"
duration = "10s"
[link]
down = "12mbit"
up = "1mbit"
rtt = "40ms"
[[flow]]
name = "game"
app = "game"
model = "quake3"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
"""


def planned(*overrides: tuple[str, str]) -> Plan:
    return plan(_native.Scenario.parse(BASE, "home.toml", list(overrides)), "home.toml")


def test_a_fifo_is_below_a_shaper_that_lets_single_packets_go() -> None:
    assert words.gateway(planned(), exact=True) == [
        "tc qdisc replace dev wan root handle 1: stab linklayer ethernet overhead -14 htb default 1",
        "tc class replace dev wan parent 1: classid 1:1 htb rate 1000kbit burst 1 cburst 1 quantum 1514",
        "tc qdisc replace dev wan parent 1:1 handle 10: pfifo limit 1000",
        "tc qdisc replace dev lan root handle 1: stab linklayer ethernet overhead -14 htb default 1",
        "tc class replace dev lan parent 1: classid 1:1 htb rate 12000kbit burst 1 cburst 1 quantum 1514",
        "tc qdisc replace dev lan parent 1:1 handle 10: pfifo limit 1000",
    ]


def test_in_real_time_the_shaper_makes_up_for_late_timers_and_the_link_is_faster() -> None:
    assert "burst 1600 cburst 1600" in words.gateway(planned(), exact=False)[1]
    assert words.link(planned(), "up", "out", exact=False)[0].endswith("rate 1020000bit")


def test_the_link_sends_each_packet_and_the_path_delays_it() -> None:
    assert words.link(planned(("link.delay", "3ms"), ("link.loss", "1%")), "up", "out", exact=True) == [
        "tc qdisc replace dev out root stab linklayer ethernet overhead -14 "
        "netem limit 100000 delay 3000.000us loss random 1% rate 1000000bit"
    ]
    copied = "action pedit munge offset 56 u8 preserve pipe action mirred egress mirror"
    assert words.path(planned().paths[0]) == [
        "tc qdisc add dev far ingress",
        f"tc filter add dev far ingress matchall {copied} dev near",
        "tc qdisc add dev near ingress",
        f"tc filter add dev near ingress matchall {copied} dev far",
        "tc qdisc replace dev far root netem limit 100000 delay 20000.000us",
        "tc qdisc replace dev near root netem limit 100000 delay 20000.000us",
    ]


def test_jitter_keeps_the_order_and_losses_come_in_bursts() -> None:
    bursts = '{ up = { good_to_bad = "1%", bad_to_good = "20%" }, down = "0%" }'
    lossy = planned(("flow.game.loss", bursts), ("flow.game.path_jitter", '{ down = "4ms" }')).paths[0]
    assert words.path(lossy)[4:] == [
        "tc qdisc replace dev far root netem limit 100000 delay 20000.000us loss gemodel 1% 20% 100% 0%",
        "tc qdisc replace dev near root netem limit 100000 delay 22000.000us 2000.000us rate 1000gbit",
    ]


def test_priority_knows_flows_by_their_servers_and_pure_acks() -> None:
    own = (
        ("gateway.up", '{ queue = "priority", acks = "prioritise", limit = "50p" }'),
        ("gateway.priority", '["game"]'),
    )
    lines = [line for line in words.gateway(planned(*own), exact=True) if " wan " in line]
    assert lines[2:6] == [
        "tc qdisc replace dev wan parent 1:1 handle 10: prio bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2",
        "tc qdisc replace dev wan parent 10:1 handle 11: pfifo limit 50",
        "tc qdisc replace dev wan parent 10:2 handle 12: pfifo limit 50",
        "tc qdisc replace dev wan parent 10:3 handle 13: pfifo limit 50",
    ]
    assert lines[6] == ("tc filter add dev wan parent 10: protocol ip prio 1 u32 match ip dst 10.77.2.1/32 flowid 10:1")
    assert lines[7].endswith("flowid 10:2")


def test_cake_shapes_itself_and_counts_the_framing() -> None:
    own = (("link.overhead", "docsis"), ("gateway.up", '{ queue = "cake", bandwidth = "900kbit" }'))
    assert words.gateway(planned(*own), exact=True)[0] == (
        "tc qdisc replace dev wan root handle 1: cake bandwidth 900kbit docsis"
    )


def test_behind_a_gateway_that_shapes_the_modem_has_the_queue_of_the_link() -> None:
    shaped = planned(("gateway.shape", '{ up = "900kbit" }'), ("gateway.modem", '{ queue = "pie" }'))
    assert "rate 900kbit" in words.gateway(shaped, exact=True)[1]
    modem = words.modem(shaped, exact=True)
    assert [line.split()[4] for line in modem] == ["wan"] * 3
    assert "rate 1000kbit" in modem[1]
    assert modem[2].endswith("handle 10: pie")
    assert words.modem(planned(), exact=True) == []


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ((("gateway.voap", "true"),), "`gateway.voap` in home.toml: Linux cannot change the TCP windows of others"),
        ((("gateway.autorate", "true"), ("gateway.shape", "900kbit")), "`gateway.autorate` in home.toml: the kernel's"),
        (
            (("gateway.autorate", '{ up = { highest = "2mbit" } }'), ("gateway.shape", "900kbit")),
            "`gateway.autorate` in home.toml: the kernel's",
        ),
        ((("gateway.up.queue", "dualpi2"),), "`gateway.up.queue` in home.toml: this kernel has no sch_dualpi2"),
        (
            (("gateway.priority", '["game"]'), ("gateway.up.queue", "drr")),
            "`gateway.up.queue` in home.toml: the kernel engine does not set up this",
        ),
        ((("gateway.up.parameters", "rfc"),), "`gateway.up.parameters` in home.toml: Linux has its own defaults"),
        (
            (("gateway.down", '{ queue = "codel", limit = "64KiB" }'),),
            "`gateway.down.limit` in home.toml: codel counts",
        ),
        ((("gateway.up", '{ queue = "pie", max_burst = "1ms" }'),), "`gateway.up.max_burst` in home.toml: pie has no"),
        (
            (("gateway.up", '{ queue = "priority", acks = "filter" }'), ("gateway.priority", '["game"]')),
            "`gateway.up.acks` in home.toml: in Linux only CAKE filters ACKs",
        ),
        (
            (("gateway.up.queue", "priority"), ("gateway.priority", '["voip"]')),
            "`gateway.priority` in home.toml: the kernel does not know packets by their behaviour",
        ),
    ],
)
def test_what_the_kernel_lacks_is_refused_with_key_value_and_remedy(
    overrides: tuple[tuple[str, str], ...], said: str
) -> None:
    kernel = Kernel(exact=True, queues=("pfifo", "bfifo", "codel", "pie", "prio", "cake", "fq_codel"))
    with pytest.raises(ScenarioError) as refused:
        kernel.refuse(planned(*overrides), Refusal("home.toml"))
    text = str(refused.value)
    assert text.startswith(said)
    assert [line.split(":")[0].strip() for line in text.splitlines()[1:]] == ["given", "allowed", "hint"]


def test_a_guest_has_other_congestion_controls_than_this_kernel() -> None:
    vegas = _native.Scenario.parse(BASE, "home.toml", [("tcp.congestion", "vegas")])
    assert "congctl vegas" in " ".join(plan(vegas, "home.toml", ("reno", "vegas")).flows[1].tcp.route)
    with pytest.raises(ScenarioError, match="this kernel does not have this congestion control"):
        plan(vegas, "home.toml", ("reno",))


@pytest.mark.parametrize(
    ("kind", "own", "reasons", "marked"),
    [
        ("pfifo", b"", {"tail": 9}, 0),
        ("pie", struct.pack("=Q8I", 0, 0, 0, 0, 0, 7, 2, 0, 3), {"aqm-enqueue": 7, "tail": 2}, 3),
        ("fq_pie", struct.pack("=5I", 0, 7, 2, 0, 3), {"aqm-enqueue": 7, "overlimit": 2}, 3),
        ("codel", struct.pack("=9I", 0, 0, 0, 0, 0, 2, 3, 0, 0), {"aqm-dequeue": 7, "tail": 2}, 3),
        ("fq_codel", struct.pack("=4I", 0, 0, 2, 3), {"aqm-dequeue": 7, "overlimit": 2}, 3),
    ],
)
def test_drops_have_the_reasons_of_every_record(kind: str, own: bytes, reasons: dict[str, int], marked: int) -> None:
    qdisc = Qdisc(kind, sent=100, waiting=1, backlog=1514, dropped=9, own=own)
    assert qdisc.reasons() == reasons
    assert qdisc.marked() == marked
