"""`gamelane advise` through the real command, on measurements that were simulated."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gamelane.advise import advice, household, promised, settings
from gamelane.advise.measured import Measured, Plan, read
from gamelane.catalogue import INTERACTIVE
from gamelane.report.advise import measuring
from gamelane.tune.parameters import QUEUE
from tests.advise.lines import PLAN, SLOW_DSL, SPANS, Known, measured, write
from tests.cli.command import gamelane


@pytest.fixture(scope="module")
def dsl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Advise on a line once."""
    folder = write(tmp_path_factory.mktemp("line") / "measured", SLOW_DSL)
    done = gamelane("advise", folder, "--json", "-j", "2")
    assert done.returncode == 0, done.stderr
    (folder / "printed.json").write_text(done.stdout, encoding="utf-8")
    return folder


def _advice(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "printed.json").read_text())
    return document


def test_a_bloated_line_gets_a_shaper_below_its_rates(dsl: Path) -> None:
    advice = _advice(dsl)
    assert advice["settings"]["gateway.*.queue"] in ("cake", "fq_codel")
    shape = advice["settings"]["gateway.shape"]
    assert "4" in shape, shape
    worst = {
        name: max(phase["rtt_ms"]["p95"] for phase in advice[name] if phase["name"] != "idle")
        for name in ("today", "expected")
    }
    assert worst["today"] > 200
    assert worst["expected"] < worst["today"] / 2
    assert advice["recommendation"].startswith("Set ")
    assert set(advice["search"]["apply"]) == {"tc", "openwrt", "gateway"}


def test_the_simulation_of_today_is_what_was_measured(dsl: Path) -> None:
    """The line was simulated, so only its estimate can differ."""
    measured, today = read(dsl).phases, _advice(dsl)["today"]
    for before, again in zip(measured, today, strict=True):
        assert before.rtt_ms is not None
        assert again["rtt_ms"]["p50"] == pytest.approx(before.rtt_ms["p50"], rel=0.15), before.name


def test_the_folder_has_the_line_the_policy_and_a_page(dsl: Path) -> None:
    folder = dsl / "advice"
    assert {each.name for each in folder.iterdir()} >= {"advice.json", "line.toml", "gateway.toml", "report.html"}
    again = gamelane("run", folder / "line.toml", "--json")
    assert again.returncode == 0, again.stderr
    policy = (folder / "gateway.toml").read_text()
    assert "load-" not in policy
    assert "shape" in policy
    assert "of the round trip, the 5th to the 95th percentile" in (folder / "report.html").read_text()
    found = promised.read(dsl)
    assert found is not None
    assert [phase.name for phase in found.expected] == ["idle", "up", "down", "both"]


def test_a_household_gets_figures_of_its_own_flows(dsl: Path) -> None:
    """Its tables fit a terminal of 80 columns. A terminal wraps the sentences above them."""
    done = gamelane("advise", dsl, "--with", "household", "--trials", "4", "--repeat", "1", "-j", "2", "-q")
    assert done.returncode == 0, done.stderr
    assert "quake3" in done.stdout
    assert "upload" in done.stdout
    tables = done.stdout.partition("WAN=")[0].partition(" RTT p50")[2].splitlines()
    assert "flow" in "".join(tables)
    assert max(map(len, tables)) <= 80


@pytest.mark.parametrize(
    ("who", "flow"),
    [("valorant,netflix-4k,windows-update", "valorant"), ("flat", "valorant"), ("rural-lte", "fortnite")],
)
def test_presets_live_on_the_measured_line(dsl: Path, tmp_path: Path, who: str, flow: str) -> None:
    """A household's own plan, of another kind or with a trace, leaves nothing behind."""
    shutil.copy(dsl / "measure.json", tmp_path)
    words = ("--trials", "2", "--repeat", "1", "-j", "2", "-q")
    done = gamelane("advise", tmp_path, "--with", who, *words)
    assert done.returncode == 0, done.stderr
    assert flow in done.stdout
    line, plain = (tomllib.loads((place / "advice" / "line.toml").read_text()) for place in (tmp_path, dsl))
    assert line["link"] == plain["link"]


def test_an_unknown_preset_has_a_near_one(dsl: Path) -> None:
    done = gamelane("advise", dsl, "--with", "valorant,netflix-4", "-q")
    assert (done.returncode, "netflix-4k" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("queue", settings.QUEUES)
def test_each_queue_has_a_policy(tmp_path: Path, queue: str) -> None:
    """Queue `priority` needs a flow that waits, and the measured game and call are none."""
    link = measured(SLOW_DSL)
    games = {settings.PRIORITY: '["game", "call"]'} if queue == "priority" else {}
    policy = advice.policy(None, link, tmp_path, {QUEUE: queue, **games})
    assert f'queue = "{queue}"' in policy.to_toml()
    assert {flow["name"] for flow in policy.flows() if flow["app"] in INTERACTIVE} == {"game", "call"}


@pytest.mark.parametrize("household_of", ["game-alone", "griwodz2006"])
def test_a_household_without_transfers_is_advised(dsl: Path, tmp_path: Path, household_of: str) -> None:
    """Its scenario refuses queue `priority`, because nothing could wait."""
    shutil.copy(dsl / "measure.json", tmp_path)
    done = gamelane("advise", tmp_path, "--with", household_of, "--trials", "12", "--repeat", "1", "-j", "2", "-q")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_household_without_a_game_is_refused_with_a_remedy_that_exists(dsl: Path) -> None:
    done = gamelane("advise", dsl, "--with", "burriss2006", "-q")
    assert (done.returncode, "--with burriss2006: no game and no call" in done.stderr) == (2, True)
    assert "gamelane tune burriss2006" in done.stderr


@pytest.mark.parametrize(("control", "is_known"), [("bbr", False), ("reno", True)])
def test_a_promise_for_a_control_that_is_not_simulated_says_so(
    dsl: Path, tmp_path: Path, control: str, is_known: bool
) -> None:
    document = json.loads((dsl / "measure.json").read_text())
    document["plan"]["congestion"], document["host_congestion"] = "", control
    (tmp_path / "measure.json").write_text(json.dumps(document), encoding="utf-8")
    done = gamelane("advise", tmp_path, "--trials", "4", "--repeat", "1", "-j", "2", "-q")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "advice" / "report.html").read_text()
    for text in (done.stdout, page):
        assert ("congestion control is bbr, which the simulator does not have" in text) is not is_known
        assert ("--congestion cubic" in text) is not is_known
    caveat = json.loads((tmp_path / "advice" / "advice.json").read_text())["caveat"]
    assert (caveat is None) is is_known
    assert done.stdout.splitlines()[-1] == f"gamelane measure 198.51.100.7 --key key --compare {tmp_path} -o after"


IRTT = ({"program": "iperf3"}, {"program": "irtt"})


@pytest.mark.parametrize(
    ("host", "plan", "imported", "command"),
    [
        ("127.0.0.1", PLAN, None, "gamelane measure 127.0.0.1 --compare m"),
        ("localhost:27971", PLAN, None, "gamelane measure localhost:27971 --compare m"),
        ("[::1]:27971", PLAN, None, "gamelane measure '[::1]:27971' --compare m"),
        ("2001:db8::1", PLAN, None, "gamelane measure 2001:db8::1 --key key --compare m"),
        ("a.example", PLAN, IRTT, "gamelane measure a.example --by irtt,iperf3 --compare m"),
        ("a.example", None, IRTT, "gamelane measure --import FILE --compare m"),
    ],
)
def test_the_command_that_measures_again(
    host: str, plan: Plan | None, imported: Sequence[Mapping[str, str]] | None, command: str
) -> None:
    found = Measured(host, (), None, None, plan, imported=imported)
    assert measuring(found, "--compare", "m") == command


def test_a_line_without_a_deep_buffer_is_left_alone(tmp_path: Path) -> None:
    """An earlier advice, which may have been to set something, leaves nothing to apply."""
    folder = write(tmp_path / "measured", Known(50, 100, 20, "20p", "20p"))
    (folder / "advice").mkdir()
    for name in ("gateway.toml", "up.rate"):
        (folder / "advice" / name).write_text("earlier", encoding="utf-8")
    done = gamelane("advise", folder, "--repeat", "2", "-j", "2", "-q")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Leave the gateway as it is")
    assert {each.name for each in (folder / "advice").iterdir()} >= {"advice.json", "line.toml", "report.html"}
    for name in ("gateway.toml", "up.rate"):
        assert not (folder / "advice" / name).exists()


@pytest.mark.parametrize("words", [[], ["--with", "household"]])
def test_nothing_is_simulated_for_a_line_that_is_fine(tmp_path: Path, words: list[str]) -> None:
    """On a gigabit line the search took three minutes."""
    folder = write(tmp_path / "measured", Known(50, 100, 20, "20p", "20p"))
    done = gamelane("advise", folder, *words, "--json")
    found = json.loads(done.stdout)
    assert found["recommendation"].startswith("Leave the gateway as it is: load adds")
    assert (found["search"], found["today"], found["expected"], found["flows"]) == (None, [], [], [])


def test_where_the_rate_wanders_autorate_is_advised(tmp_path: Path) -> None:
    trace = tmp_path / "up.rate"
    trace.write_text("0 12000\n1000 6000\n2000 18000\n3000 8000\n4000 end\n")
    line = Known(None, 50, 20, "150000B", "600000B", f', kind = "trace", trace = {{ up = "{trace}" }}')
    folder = write(tmp_path / "measured", line)
    done = gamelane("advise", folder, "--for", "gateway", "--trials", "8", "-j", "2", "-q")
    assert done.returncode == 0, done.stderr
    assert "autorate" in done.stdout.splitlines()[0]
    assert "The rate wanders between" in done.stdout
    assert "autorate" in (folder / "advice" / "gateway.toml").read_text()
    assert (folder / "advice" / "up.rate").exists()


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, 2, "measure.json: no such file"),
        ("", 2, "measure.json: "),
        ('{"host": "a", "phases": [{"name": 1}]}', 2, "`phases.0.name`"),
        ('{"host": "a", "phases": [], "bufferbloat_ms": null, "grade": null}', 2, "the link is not known"),
    ],
)
def test_a_folder_without_a_measurement_is_refused(tmp_path: Path, content: str | None, code: int, said: str) -> None:
    if content is not None:
        (tmp_path / "measure.json").write_text(content)
    done = gamelane("advise", tmp_path)
    assert (done.returncode, said in done.stderr, "gamelane measure" in done.stderr) == (code, True, True), done.stderr


def test_a_simulated_measurement_has_the_spans_of_a_real_one() -> None:
    assert [name for name, _, _ in SPANS] == ["idle", *household.LOADS]


def test_a_plan_that_is_too_short_for_other_programs_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "measured", SLOW_DSL)
    document = json.loads((folder / "measure.json").read_text())
    document["plan"]["seconds"] = 8
    (folder / "measure.json").write_text(json.dumps(document), encoding="utf-8")
    done = gamelane("measure", "::1", "--by", "irtt", "--compare", folder)
    assert (done.returncode, "measured: a measurement of 8 s" in done.stderr) == (2, True), done.stderr
