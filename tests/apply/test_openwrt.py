"""The `uci` lines, read as OpenWrt's `uci` and sqm-scripts read them. Debian has neither."""

from __future__ import annotations

import re
import subprocess

import pytest

from gamelane import _native, experiment
from gamelane.catalogue import QUEUES
from tests.apply.test_recipes import QUEUE

OPTIONS = {
    *("enabled", "interface", "download", "upload", "script", "qdisc", "linklayer", "overhead", "tcMPU"),
    *("squash_dscp", "squash_ingress", "ingress_ecn", "egress_ecn", "ilimit", "elimit", "itarget", "etarget"),
    *("iqdisc_opts", "eqdisc_opts"),
}
"""What sqm-scripts reads (src/run-openwrt.sh)."""
LUCI = {"linklayer_advanced", "qdisc_advanced", "qdisc_really_really_advanced"}
SCRIPTS = {"piece_of_cake.qos", "layer_cake.qos", "simplest.qos"}
NAME = re.compile(r"[a-zA-Z0-9_]+")


SHELL = """
uci() { printf '%s\\n' "$*"; }
ifstatus() { echo '{ "l3_device": "WAN" }'; }
jsonfilter() { sed 's/.*: "//; s/".*//'; }
"""


def uci(lines: list[str], wan: str) -> dict[str, str]:
    """Do what `uci set` and `uci delete` do to the package sqm; refuse what they refuse. A shell runs the lines."""
    text = SHELL.replace("WAN", wan) + "\n".join(lines).replace("/etc/init.d/sqm", "uci")
    said = subprocess.run(["/bin/sh", "-eu", "-c", text], capture_output=True, text=True, check=True)
    assert said.stderr == ""
    section: dict[str, str] = {}
    committed: dict[str, str] | None = None
    for line in said.stdout.splitlines():
        match line.split(" "):
            case ["-q", "delete", "sqm.wan"]:
                section.clear()
            case ["set", *words]:
                path, _, value = " ".join(words).partition("=")
                package, name, *option = path.split(".")
                assert (package, name) == ("sqm", "wan")
                assert value
                assert all(NAME.fullmatch(each) for each in option)
                assert option or value == "queue"
                assert not option or "" in section, "the section comes first"
                section["".join(option)] = value
            case ["commit", "sqm"]:
                committed = dict(section)
            case ["restart"]:
                pass
            case _:
                pytest.fail(f"not a line of uci: {line}")
    assert committed is not None
    assert committed == section
    return committed


def found(name: str, keys: dict[str, str], wan: str = "eth0.2") -> dict[str, str]:
    recipe = _native.recipes(experiment.load(name).with_(keys).scenario)["openwrt"]
    assert uci([*recipe.edit, *recipe.undo], wan) == {}
    section = uci(recipe.lines(), wan)
    assert section.pop("") == "queue"
    assert section.keys() <= OPTIONS | LUCI
    assert section["script"] in SCRIPTS
    assert section["interface"] == wan
    assert section["enabled"] == "1"
    return section


@pytest.mark.parametrize("queue", [name for name, queue in QUEUES.items() if queue.isolates != "classes"])
def test_the_lines_are_those_of_uci(queue: str) -> None:
    section = found("household", {QUEUE: queue, "gateway.*.limit": "4MiB" if queue == "cake" else "90p"})
    assert (section["download"], section["upload"]) == ("11400", "950")
    assert section["qdisc"] == ("pfifo" if queue == "fifo" else queue)


@pytest.mark.parametrize(("queue", "limit"), [("codel", "1000"), ("fq_pie", "10240"), ("dualpi2", "10000")])
def test_a_limit_that_is_not_given_is_that_of_linux(queue: str, limit: str) -> None:
    section = found("collom2016", {"gateway.*": f'{{ queue = "{queue}" }}'})
    assert (section["ilimit"], section["elimit"]) == (limit, limit)


def test_options_that_sqm_has_of_its_own() -> None:
    section = found("household", {QUEUE: "fq_codel", "gateway.up.target": "7ms", "gateway.*.limit": "250p"})
    assert (section["elimit"], section["etarget"], section["eqdisc_opts"]) == ("250", "default", "target 7ms")
    assert "iqdisc_opts" not in section
    assert section["overhead"] == "-14"


def test_cake_filters_acks_and_counts_the_framing() -> None:
    keys = {QUEUE: "cake", "gateway.*.limit": "4MiB", "gateway.up.acks": "filter", "link.overhead": "atm"}
    section = found("household", keys)
    assert section["script"] == "layer_cake.qos"
    assert section["eqdisc_opts"] == "memlimit 4194304 ack-filter"
    assert section["iqdisc_opts"] == "memlimit 4194304"
    assert (section["linklayer"], section["overhead"]) == ("atm", "40")


def test_drops_of_cake_count_and_code_points_are_cleared_downstream() -> None:
    keys = {QUEUE: "cake", "gateway.*.limit": "4MiB", "gateway.down.ingress": "true", "gateway.down.wash": "true"}
    section = found("household", keys)
    assert section["iqdisc_opts"] == "memlimit 4194304 ingress wash"
    assert (section["squash_dscp"], section["eqdisc_opts"]) == ("1", "memlimit 4194304")


def test_fixed_bytes_are_counted_from_the_packet_or_from_the_frame() -> None:
    keys = {"gateway.*.limit": "4MiB", "link.overhead": '{ kind = "fixed", bytes = 44 }'}
    section = found("household", {**keys, QUEUE: "cake"})
    assert (section["linklayer"], section["overhead"]) == ("ethernet", "44")
    section = found("household", {QUEUE: "fq_codel", "link.overhead": keys["link.overhead"]})
    assert (section["linklayer"], section["overhead"]) == ("ethernet", "30")
    section = found("household", {QUEUE: "fq_codel", "link.overhead": keys["link.overhead"]}, wan="pppoe-wan")
    assert (section["linklayer"], section["overhead"]) == ("ethernet", "44")


def test_the_code_words_of_ptm_are_in_the_rate_where_the_size_table_has_none() -> None:
    """Regression: SQM's HTB sent a sixty-fifth more than the line carries."""
    keys = {"gateway.*.limit": "4MiB", "link.overhead": "ptm"}
    assert found("household", {**keys, QUEUE: "cake"})["download"] == "11400"
    assert found("household", {QUEUE: "fq_codel", "link.overhead": "ptm"})["download"] == "11225"


def test_one_direction_only() -> None:
    assert found("docsis", {})["download"] == "0"
