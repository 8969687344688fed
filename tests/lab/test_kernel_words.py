"""What `--engine kernel` makes of a scenario: policies, the lines for `tc`, and what it refuses. Nothing is run."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from gamelane import _native
from gamelane.errors import ScenarioError
from gamelane.lab.kernel import policy, words
from gamelane.lab.kernel.available import Available
from gamelane.lab.kernel.between import Kernel
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


def gateway_of(text: str) -> dict[str, Any]:
    gateway: dict[str, Any] = tomllib.loads(text)["gateway"]
    return gateway


def test_the_gateway_shapes_to_the_rate_of_the_link_which_is_no_shaper_for_cake() -> None:
    own = gateway_of(policy.gateway(planned(("gateway.up", '{ queue = "cake" }'))))
    assert own["shape"] == {"up": "1mbit", "down": "12mbit"}
    assert (own["up"]["queue"], own["up"]["bandwidth"]) == ("cake", False)
    shaped = (("gateway.shape", '{ up = "900kbit" }'), ("gateway.up", '{ queue = "cake" }'))
    assert "bandwidth" not in gateway_of(policy.gateway(planned(*shaped)))["up"]


def test_the_link_is_faster_if_timers_may_be_late() -> None:
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


def test_flows_are_known_by_their_servers_and_acks_only_where_asked() -> None:
    own = (
        ("gateway.up", '{ queue = "priority", acks = "prioritise", limit = "50p" }'),
        ("gateway.down", '{ queue = "drr" }'),
        ("gateway.priority", '["game"]'),
    )
    found = gateway_of(policy.gateway(planned(*own)))
    assert [each["name"] for each in found["class"]] == ["first", "acks", "rest"]
    assert found["rule"] == [
        {"class": "first", "address": "10.77.2.1"},
        {"name": "acks-up", "class": "acks", "direction": "up", "ack": True},
    ]
    assert "acks" not in found["up"]


def test_a_rule_for_flows_becomes_one_for_each_server() -> None:
    own = (
        ("gateway.up", '{ queue = "priority" }'),
        ("gateway.class", '[{ name = "first" }, { name = "rest" }]'),
        (
            "gateway.rule",
            '[{ class = "first", name = "both", flows = ["game", "upload"] }, { class = "rest", protocol = "tcp" }]',
        ),
    )
    assert gateway_of(policy.gateway(planned(*own)))["rule"] == [
        {"class": "first", "address": "10.77.2.1"},
        {"class": "first", "address": "10.77.2.2"},
        {"class": "rest", "protocol": "tcp"},
    ]


def test_behind_a_gateway_that_shapes_the_modem_has_the_queue_of_the_link() -> None:
    shaped = planned(("gateway.shape", '{ up = "900kbit" }'), ("gateway.modem", '{ queue = "pie" }'))
    assert gateway_of(policy.gateway(shaped))["shape"] == {"up": "900kbit", "down": "12mbit"}
    own = gateway_of(policy.modem(shaped))
    assert own["shape"] == {"up": "1mbit"}
    assert own["up"]["queue"] == "pie"


QUEUES = ("pfifo", "bfifo", "codel", "pie", "prio", "cake", "fq_codel")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ((("gateway.voap", "true"),), "`gateway.voap` in home.toml: Linux cannot lower"),
        (
            (("gateway.voap", "true"), ("gateway.up.queue", "priority"), ("gateway.priority", '["game"]')),
            "`gateway.voap` in home.toml: Linux cannot lower",
        ),
        (
            (
                ("gateway.up.queue", "priority"),
                ("gateway.class", '[{ name = "first" }, { name = "rest" }]'),
                ("gateway.rule", '[{ class = "first", behaviour = "real-time" }]'),
            ),
            "`gateway.rule` in home.toml: this kernel shows no single packets",
        ),
        (
            (("gateway.autorate", "true"), ("gateway.shape", "900kbit")),
            "`gateway.autorate` in home.toml: this kernel shows no single packets",
        ),
        (
            (("gateway.autorate", '{ up = { highest = "2mbit" } }'), ("gateway.shape", "900kbit")),
            "`gateway.autorate` in home.toml: this kernel shows no single packets",
        ),
        ((("gateway.up.queue", "dualpi2"),), "`gateway.up.queue` in home.toml: this kernel has no sch_dualpi2"),
        (
            (("gateway.priority", '["game"]'), ("gateway.up.queue", "drr")),
            "`gateway.up.queue` in home.toml: this kernel has no sch_drr",
        ),
        ((("gateway.up.parameters", "rfc"),), "`gateway.up.parameters` in home.toml: Linux has its own defaults"),
        (
            (("gateway.down", '{ queue = "codel", limit = "64KiB" }'),),
            "`gateway.down.limit` in home.toml: here Linux counts",
        ),
        (
            (("gateway.up", '{ queue = "pie", max_burst = "1ms" }'),),
            "`gateway.up.max_burst` in home.toml: Linux has",
        ),
        (
            (("gateway.up", '{ queue = "priority", acks = "filter" }'), ("gateway.priority", '["upload"]')),
            "`gateway.up.acks` in home.toml: in Linux only CAKE filters ACKs",
        ),
        (
            (("gateway.up.queue", "priority"), ("gateway.priority", '["voip"]')),
            "`gateway.priority` in home.toml: this kernel shows no single packets",
        ),
    ],
)
def test_what_the_kernel_lacks_is_refused_with_key_value_and_remedy(
    overrides: tuple[tuple[str, str], ...], said: str
) -> None:
    kernel = Kernel(exact=True, available=Available(QUEUES, shows_packets=False))
    with pytest.raises(ScenarioError) as refused:
        kernel.refuse(planned(*overrides), Refusal("home.toml"))
    text = str(refused.value)
    assert text.startswith(said)
    assert [line.split(":")[0].strip() for line in text.splitlines()[1:] if "allowed" not in line] == ["given", "hint"]


def test_a_guest_has_other_congestion_controls_than_this_kernel() -> None:
    vegas = _native.Scenario.parse(BASE, "home.toml", [("tcp.congestion", "vegas")])
    assert "congctl vegas" in " ".join(plan(vegas, "home.toml", ("reno", "vegas")).flows[1].tcp.route)
    with pytest.raises(ScenarioError, match="this kernel does not have this congestion control"):
        plan(vegas, "home.toml", ("reno",))


SEEING = Kernel(exact=True, available=Available(QUEUES, shows_packets=True))


def test_a_kernel_that_shows_packets_knows_games_by_their_behaviour() -> None:
    named = planned(("gateway.up.queue", "priority"), ("gateway.priority", '["voip", "game"]'))
    SEEING.refuse(named, Refusal("home.toml"))
    assert gateway_of(policy.gateway(named))["rule"] == [
        {"class": "first", "address": "10.77.2.1"},
        {"class": "first", "behaviour": "real-time"},
    ]


def test_a_kernel_that_shows_packets_follows_the_rate_of_the_link_at_the_gateway_only() -> None:
    follows = planned(("gateway.shape", "900kbit"), ("gateway.autorate", '{ up = { highest = "2mbit" } }'))
    SEEING.refuse(follows, Refusal("home.toml"))
    assert gateway_of(policy.gateway(follows))["autorate"]["up"]["highest"] == "2mbit"
    assert "autorate" not in gateway_of(policy.modem(follows))
