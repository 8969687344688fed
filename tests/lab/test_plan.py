"""Plans that the lab makes from scenarios, and scenarios that it refuses. No namespace is made."""

from __future__ import annotations

import time

import pytest

import gamelane
from gamelane import _native
from gamelane.errors import ScenarioError
from gamelane.lab import waiting
from gamelane.lab.bulk import shares
from gamelane.lab.plan import Plan, plan

BASE = """
name = "plan"
duration = "10s"
hosts = ["pc", "tv"]
[link]
down = "12mbit"
up = "1mbit"
rtt = "40ms"
[[flow]]
name = "game"
app = "game"
model = "quake3"
host = "pc"
[[flow]]
name = "upload"
app = "bulk"
direction = "up"
host = "pc"
start = "2s"
[[flow]]
name = "download"
app = "bulk"
direction = "down"
host = "pc"
stop = "8s"
"""


PLAYERS = """
name = "players"
duration = "10s"
[link]
down = "10mbit"
up = "10mbit"
[[flow]]
name = "players"
app = "mmo"
model = "anarchy-online"
"""


def _plan(*overrides: tuple[str, str]) -> Plan:
    return plan(_native.Scenario.parse(BASE, "home.toml", list(overrides)), "home.toml")


def test_flows_of_one_path_share_it_and_those_that_lose_do_not() -> None:
    planned = _plan(("flow.upload.loss", "1%"), ("flow.download.rtt", "80ms"))
    assert [(way.rtt_s, way.owner) for way in planned.paths] == [(0.04, ""), (0.04, "upload"), (0.08, "")]
    assert [(flow.start_s, flow.stop_s) for flow in planned.flows] == [(0, 10), (2, 10), (0, 8)]
    assert planned.hosts == ("pc",)


def test_losses_in_bursts_and_one_way_are_of_a_path_too() -> None:
    experiment = gamelane.load("lossy-path")
    planned = plan(experiment.scenario, experiment.file)
    assert [way.owner for way in planned.paths] == ["random", "bursty", "quake3"]
    assert planned.paths[1].loss["down"]["bad_to_good"] == "20%"


def test_tcp_of_a_flow_is_in_its_routes() -> None:
    upload = _plan(("tcp.congestion", "cubic"), ("flow.upload.tcp.receive_window", "64KiB")).flows[1].tcp
    assert " ".join(upload.route) == "congctl cubic window 65536 initcwnd 10"
    assert upload.settings["tcp_recovery"] == "1"
    assert upload.settings["tcp_dsack"] == "1"
    automatic = _plan(("tcp.congestion", "newreno")).flows[1].tcp
    assert automatic.window is None
    assert " ".join(automatic.route) == "congctl reno initcwnd 10"
    plain = _plan(("tcp.recovery", "newreno"), ("tcp.initial_window", "rfc5681"), ("tcp.delayed_ack", "off"))
    tcp = plain.flows[1].tcp
    assert tcp.settings["tcp_sack"] == "0"
    assert " ".join(tcp.route).endswith("initcwnd 3 quickack 1")


def test_a_pinned_linux_runs_on_the_kernel_and_leaves_the_keys_of_the_top() -> None:
    upload = _plan(("tcp.timestamps", "false"), ("flow.upload.tcp", "linux-6.12"), ("flow.upload.host", "tv")).flows[1]
    assert upload.tcp.settings["tcp_timestamps"] == "1"


def test_the_connections_of_a_transfer_carry_its_size_together() -> None:
    keys = (("flow.upload.connections", "3"), ("flow.upload.size", "11B"))
    assert shares(_plan(*keys).flows[1]) == [4, 4, 3]
    assert shares(_plan(keys[0]).flows[1]) == [None] * 3
    assert shares(_plan().flows[1]) == [None]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("link.kind", "docsis", '`link.kind` in home.toml: the lab cannot run this kind of link\n  given:   "docsis"'),
        ("tcp.recovery", "fack", '`tcp.recovery` in home.toml: Linux has no setting for this\n  given:   "fack"'),
        ("flow.upload.tcp.timer", "rfc6298", "`flow.upload.tcp.timer` in home.toml"),
        (
            "tcp.limited_transmit",
            "false",
            "given:   false\n  allowed: true\n  hint:    --set tcp.limited_transmit=true",
        ),
        ("tcp.delayed_ack", "100ms", 'allowed: "linux" or "off"'),
        (
            "tcp.stack",
            "rfc",
            'given:   "rfc"\n  allowed: "linux", "linux-6.12"\n  hint:    --set tcp.stack=linux, or simulate it',
        ),
        ("flow.upload.tcp", "windows-11", "hint:    --set flow.upload.tcp.stack=linux, or simulate it"),
        ("tcp.receive_window", "freebsd", 'allowed: a size, or "auto"'),
        ("flow.upload.tcp.timestamps", "false", "with another tcp_timestamps, and Linux has one value per host"),
    ],
)
def test_what_linux_or_the_lab_lacks_is_refused(key: str, value: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        _plan((key, value))
    assert said in str(refused.value)
    assert "hint:" in str(refused.value)


def test_shapers_follow_what_a_real_gateway_hears() -> None:
    shaped = ("gateway.shape.up", "900kbit")
    assert _plan(shaped, ("gateway.autorate.up.signals", '["tcp"]')).gateway["autorate"]["up"]["signals"] == ["tcp"]
    assert "up" in _plan(shaped, ("gateway.autorate.up", "true")).gateway["autorate"]
    with pytest.raises(ScenarioError, match="the modem of the lab does not report its backlog") as refused:
        _plan(shaped, ("gateway.autorate.up.signals", '["tcp", "backlog"]'))
    assert "`gateway.autorate.up.signals` in home.toml" in str(refused.value)


def test_one_host_has_one_receive_buffer() -> None:
    scenario = BASE.replace('stop = "8s"', 'stop = "8s"\n[[flow]]\nname = "video"\napp = "dash"\nhost = "pc"\n')
    with pytest.raises(ScenarioError, match="`download` receives there too"):
        plan(_native.Scenario.parse(scenario, "home.toml", [("flow.video.tcp.receive_window", "32KiB")]), "home.toml")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("carriage", "mux", "the lab opens a connection for each player"),
        ("paths", "model", "the lab has one path for all players of a flow"),
        ("connections", "1001", "the lab has at most 1000 players in a flow"),
    ],
)
def test_players_over_tcp_have_a_connection_each_and_one_path(key: str, value: str, said: str) -> None:
    plan(_native.Scenario.parse(PLAYERS, "players.toml", []), "players.toml")
    refused = _native.Scenario.parse(PLAYERS, "players.toml", [(f"flow.players.{key}", value)])
    with pytest.raises(ScenarioError, match=f"`flow.players.{key}`.*: {said}"):
        plan(refused, "players.toml")


def test_flows_have_the_numbers_of_their_code_points() -> None:
    planned = _plan(("flow.game.dscp", "EF"), ("flow.upload.dscp", "17"))
    assert [flow.dscp for flow in planned.flows] == [46, 17, 0]


def test_a_wait_ends_at_ctrl_c() -> None:
    began = time.monotonic()
    assert waiting.until(began + 0.05, lambda: False)
    assert time.monotonic() >= began + 0.05
    assert not waiting.until(began + 60, lambda: True)
    assert time.monotonic() < began + 30
