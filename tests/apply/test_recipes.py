"""Recipes as texts to review (`snapshots/`), and what they say where a target cannot do what the scenario says."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamelane import Experiment, _native, experiment, library
from gamelane.catalogue import QUEUES
from tests import snapshots

SNAPSHOTS = Path(__file__).parent / "snapshots"
QUEUE = "gateway.*.queue"
PRIORITY = {QUEUE: "priority", "gateway.priority": '["quake3"]', "gateway.*.limit": "50p"}
CASES = {
    "priority": ("household", {**PRIORITY, "gateway.*.acks": "prioritise"}),
    "drr": ("household", {**PRIORITY, QUEUE: "drr"}),
    "fq_codel": ("household", {QUEUE: "fq_codel", "gateway.*.target": "7ms", "gateway.*.limit": "250p"}),
    "cake": ("household", {QUEUE: "cake", "gateway.*.limit": "4MiB", "gateway.*.acks": "filter"}),
    "docsis": ("docsis", {}),
    "ptm": ("voip-and-upload", {QUEUE: "cake", "gateway.*.limit": "4MiB", "gateway.*.tins": "besteffort"}),
    "classes": ("classes", {"gateway.down.queue": "htb"}),
    "hosted": ("hosted-match", {QUEUE: "priority", "gateway.priority": '["first", "second", "third"]'}),
    "voap": ("household", {"gateway.voap": "true"}),
    "behaviour": ("detect", {}),
    "varying": ("lte", {}),
    "wifi": ("wifi", {}),
}


def of(name: str, keys: dict[str, str]) -> dict[str, _native.Recipe]:
    return _native.recipes(experiment.load(name).with_(keys).scenario)


@pytest.mark.parametrize("case", CASES)
def test_lines(case: str) -> None:
    """The policy file of the gateway is checked by itself: it is the scenario."""
    found = of(*CASES[case])
    assert list(found) == _native.recipe_targets()
    texts = []
    for target, recipe in found.items():
        lines = recipe.lines()
        if "cat > gamelane.toml <<'END'" in lines:
            start, end = lines.index("cat > gamelane.toml <<'END'"), lines.index("END")
            lines[start + 1 : end] = ["…"]
        texts.append(f"===== {target}: {'matches' if recipe.matches else 'does not match'}\n" + "\n".join(lines) + "\n")
    snapshots.check(SNAPSHOTS / f"{case}.txt", "\n".join(texts))


@pytest.mark.parametrize("queue", QUEUES)
def test_every_queue_has_lines(queue: str) -> None:
    keys = {**PRIORITY, QUEUE: queue, "gateway.*.limit": "4MiB" if queue == "cake" else "100p"}
    for target, recipe in of("household", keys).items():
        assert recipe.apply or recipe.unsaid, target
        assert not any("Any" in line or "None" in line for line in recipe.lines())
        assert recipe.matches or target == "openwrt", recipe.unsaid


def test_each_scenario_that_ships_has_lines_or_a_reason() -> None:
    for name in library.shipped():
        for target, recipe in _native.recipes(experiment.load(name).scenario).items():
            assert recipe.apply or recipe.unsaid, (name, target)


def test_the_gateways_file_is_the_scenario_with_a_shaper(short: Experiment) -> None:
    chosen = short.with_({**PRIORITY, "gateway.voap": "true"})
    recipe = _native.recipes(chosen.scenario)["gateway"]
    assert recipe.matches
    start, end = recipe.apply.index("cat > gamelane.toml <<'END'"), recipe.apply.index("END")
    written = _native.Scenario.parse("\n".join(recipe.apply[start + 1 : end]), "gamelane.toml", [])
    shaped = chosen.with_({"gateway.shape": '{ up = "950kbit", down = "11400kbit" }'})
    assert written.hash == shaped.scenario.hash


@pytest.mark.parametrize(
    ("target", "keys", "said"),
    [
        ("tc", {"gateway.voap": "true"}, "VoAP"),
        ("openwrt", {"gateway.voap": "true"}, "VoAP"),
        ("tc", {QUEUE: "pie", "gateway.*.max_burst": "90ms"}, "max_burst = 90ms"),
        ("tc", {QUEUE: "pie", "gateway.*.parameters": "rfc"}, "parameters = rfc"),
        ("tc", {QUEUE: "pie", "gateway.*.limit": "64KiB"}, "limit = 64KiB`: here Linux counts packets"),
        ("openwrt", {"gateway.up.queue": "pie"}, "one discipline for both"),
        ("tc", {QUEUE: "priority", "gateway.priority": '["upload"]'}, "nothing tells `upload`"),
        ("gateway", {QUEUE: "priority", "gateway.priority": '["upload"]'}, "nothing tells `upload`"),
        ("tc", {QUEUE: "priority", "gateway.priority": '["voip"]'}, "`voip` stands for behaviour"),
        ("tc", {**PRIORITY, "gateway.*.acks": "filter"}, "only CAKE filters ACKs"),
    ],
)
def test_only_what_does_all_matches(short: Experiment, target: str, keys: dict[str, str], said: str) -> None:
    recipe = _native.recipes(short.with_(keys).scenario)[target]
    assert not recipe.matches
    assert said in " ".join(recipe.unsaid)


def test_a_flow_of_a_shared_port_goes_by_its_code_point(short: Experiment) -> None:
    keys = {QUEUE: "priority", "gateway.priority": '["upload"]', "flow.upload.dscp": "EF"}
    lines = _native.recipes(short.with_(keys).scenario)["tc"].apply
    assert lines.count("    meta l4proto tcp ip dscp 46 meta priority set 6a1:1 accept") == len(("up", "down"))


def test_games_on_one_port_cannot_be_told_apart() -> None:
    keys = {QUEUE: "priority", "gateway.priority": '["first"]'}
    recipe = of("hosted-match", keys)["tc"]
    assert "`first` has the same server port as `second`, `third`" in " ".join(recipe.unsaid)


def test_a_direction_without_anything_to_set_is_left_alone(short: Experiment) -> None:
    recipe = _native.recipes(short.with_({"gateway.shape.up": "900kbit"}).scenario)["tc"]
    assert not any("ifb" in line for line in recipe.apply)
    plain = experiment.load("classes").with_({"gateway.up.queue": "fifo"}).scenario
    assert _native.recipes(plain)["tc"].unsaid == ["it is a plain FIFO without a shaper, so there is nothing to set."]


def test_a_queue_that_is_not_the_gateways_stays_as_it_is() -> None:
    """Regression: the lines left out the limit of a FIFO at the provider, and were said to do all of the setting."""
    today = experiment.load("lte")
    shaped = {"gateway.shape": '{ up = "4500kbit" }'}
    for recipe in _native.recipes(today.with_({**shaped, "gateway.*.limit": "20p"}).scenario, today.scenario).values():
        assert not recipe.matches
        assert len(recipe.unsaid) > 0
        assert "`gateway.down` changes a FIFO that nothing shapes" in recipe.unsaid[0]
    assert _native.recipes(today.with_(shaped).scenario, today.scenario)["tc"].matches


CLASSES = {QUEUE: "priority", "gateway.class": '[{ name = "a" }, { name = "b" }, { name = "c" }]'}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {
                **CLASSES,
                "gateway.rule": '[{ class = "a", direction = "up", protocol = "udp" }, '
                '{ class = "b", flows = ["quake3"] }]',
            },
            "this rule never matches",
        ),
        (
            {
                **CLASSES,
                "gateway.rule": '[{ class = "a", flows = ["quake3"], source_port = "49152" }, '
                '{ class = "b", protocol = "tcp" }]',
            },
            "the lines know a flow by port or `dscp`, so they leave no `source_port`",
        ),
        ({**PRIORITY, QUEUE: "htb", "gateway.up.acks": "prioritise", "gateway.shape": "1kbit"}, "a rate of zero"),
    ],
)
def test_rules_that_have_no_lines_are_a_reason_and_no_error(short: Experiment, keys: dict[str, str], said: str) -> None:
    recipe = _native.recipes(short.with_(keys).scenario)["tc"]
    assert recipe.apply == []
    assert said in " ".join(recipe.unsaid)


def test_acks_alone_can_have_a_class(short: Experiment) -> None:
    recipe = _native.recipes(short.with_({QUEUE: "priority", "gateway.*.acks": "prioritise"}).scenario)["tc"]
    assert recipe.matches
    assert any("tcp flags" in line for line in recipe.apply)


def test_flows_of_one_code_point_share_a_rule() -> None:
    named = {"gateway.priority": '["upload", "upload2"]', "flow.upload.dscp": "EF", "flow.upload2.dscp": "EF"}
    lines = of("burriss2006", {QUEUE: "priority", **named})["tc"].apply
    assert sum("ip dscp 46" in line for line in lines) == len(("up", "down"))


def test_only_what_is_set_decides_about_offloads(short: Experiment) -> None:
    keys = {"gateway.up.queue": "cake", "gateway.up.limit": "4MiB", "gateway.shape.up": "900kbit"}
    assert not any("ethtool" in line for line in _native.recipes(short.with_(keys).scenario)["tc"].lines())


def test_what_linux_lacks_of_a_class_is_left_out_of_that_class(short: Experiment) -> None:
    own = '[{ name = "a", queue = { queue = "pie", parameters = "rfc", limit = "64KiB" } }, { name = "c" }]'
    keys = {**CLASSES, "gateway.class": own, "gateway.rule": '[{ class = "a", protocol = "udp" }]'}
    recipe = _native.recipes(short.with_(keys).scenario)["tc"]
    assert not recipe.matches
    assert "`gateway.class.a.queue.parameters = rfc`" in recipe.unsaid[0]
    assert any(line.endswith("pie limit 43 target 15000us tupdate 15000us noecn") for line in recipe.apply), recipe
