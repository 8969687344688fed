"""`gamelane traffic`: fitting and generating by the command, its refusals, and what it writes.

The command runs within the test process, but for one that is a process of its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gamelane
from gamelane.cli import app
from gamelane.fit import capture, play
from tests.needs import needs

from .command import gamelane as process

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
TWO, THREE = (CAPTURES / f"openarena-{n}p-srv-headers.pcapng.gz" for n in (2, 3))
FOUR = CAPTURES / "openarena-4p-srv.pcapng.gz"


ONE_PACKET = 28 + 40 + 32 + 92
"""Bytes of a pcapng up to the end of its first packet: section, interface `game`, block, quake3's first command."""


@dataclass
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


class Command:
    """The command as its entry point runs it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str | Path) -> Done:
        self.monkeypatch.setattr(sys, "argv", ["gamelane", *map(str, words)])
        with pytest.raises(SystemExit) as ending:
            app.main()
        said = self.capsys.readouterr()
        assert isinstance(ending.value.code, int)
        return Done(ending.value.code, said.out, said.err)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("fit")
    words = [str(TWO), str(THREE), str(FOUR), "--players", "2,3", "--players", "4", "--title", "Arena", "--json"]
    done = process("traffic", "fit", *words, "-o", folder / "arena.toml", "--report", folder / "report")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout), done.stderr


def test_the_document_holds_fit_estimates_and_what_was_left_out(fitted: tuple[Path, dict[str, Any], str]) -> None:
    folder, document, said = fitted
    assert document["schema"] == 1
    assert document["captured_players"] == [2, 3, 4]
    assert document["offered_players"] == [2, 3, 4, 5, 6, 7, 8]
    assert [each["players"] for each in document["matches"]] == [2, 3, 4]
    for each in document["matches"]:
        assert all(abs(error) < 0.05 for error in each["errors"].values())
        assert 0 < each["ks"] < 0.03
        assert each["arma"]["phi"] > 0.9
    assert [each["players"] for each in document["estimates"]] == [5, 6, 7, 8]
    farthest = document["estimates"][-1]
    assert farthest["sum"] == [4, 4]
    for key in ("mean_bytes", "sd_bytes"):
        assert farthest[key]["low95"] < farthest[key]["value"] < farthest[key]["high95"]
    assert [each["players"] for each in document["predictions"]] == [2, 3, 4]
    prediction = document["predictions"][-1]
    assert (prediction["from_players"], prediction["sum"]) == ([2, 3], [2, 2])
    assert prediction["estimate"]["mean_bytes"]["low95"] < prediction["measured"]["mean_bytes"]
    assert len(prediction["causes"]) == 3
    growth = "5 to 8 players is estimated from the growth with the players; above 4 it is an extrapolation."
    assert growth in document["caveats"][0]
    assert "With 8 players, 95 of 100 captures should have a mean of 74 to 177 B" in document["caveats"][0]
    assert "Of these 6 captured figures, 6 are within the 95 % intervals of the estimates." in document["caveats"][1]
    # The errors are those of the tables.
    for each in document["predictions"]:
        mean, sd = (f"{100 * each['errors'][key]:+.1f} %" for key in ("mean_bytes", "sd_bytes"))
        assert f"{each['players']} players: {mean} in the mean, {sd} in the standard" in document["caveats"][1]
    assert prediction["causes"][2].endswith("The difference of 0.16 is more than chance explains (0.08)")
    assert str(folder / "arena.toml") in said


def test_the_page_and_pictures_name_nobody(fitted: tuple[Path, dict[str, Any], str]) -> None:
    folder, document, _ = fitted
    page = (folder / "report" / "fit.html").read_text(encoding="utf-8")
    text = page[: page.index('<script type="application/json"')] + (folder / "arena.toml").read_text(encoding="utf-8")
    for written in (text, json.dumps(document)):
        assert "10.77" not in written
        assert not re.search(r"27960|openarena-\dp|player1", written)
    assert "The match of 4 players, left out and estimated from matches of 2 and 3" in page
    assert "Estimates for numbers of players that were not captured" in page
    figures = {path.name for path in (folder / "report" / "figures").iterdir()}
    assert figures == {
        f"{name}.{kind}" for name in ("sizes", "memory", "growth", "prediction") for kind in ("png", "svg")
    }


def test_a_scenario_plays_the_file(fitted: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = fitted
    scenario = folder / "home.toml"
    scenario.write_text(
        'name = "home"\nduration = "20s"\n[link]\ndown = "10mbit"\nup = "1mbit"\nrtt = "20ms"\n'
        '[[flow]]\nname = "arena"\napp = "game"\nmodel = "arena.toml"\nplayers = 6\n',
        encoding="utf-8",
    )
    results = gamelane.load(scenario).run(seeds=1)
    assert results.flows[0].label == "Arena, 6 players"
    said = "no match of 6 players was captured; its updates are estimated: mean 98 B (95 % interval 70 to 140 B)"
    assert any(said in each for each in results.caveats)
    summary = results.only.runs[0].summary["flows"]["arena"]
    assert summary["down"]["sent"] == pytest.approx(400, abs=2)


@needs(shutil.which("tshark"), "tshark is missing: apt-get install tshark")
def test_what_is_generated_opens_in_wireshark(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "made.pcapng"
    done = command("traffic", "generate", "openarena", "--players", "3", "--duration", "30s", "-o", out, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["down"]["packets"] == 600
    assert document["label"] == "OpenArena, 3 players"
    fields = ["-T", "fields", "-e", "udp.length", "-e", "udp.checksum.status", "-e", "ip.checksum.status"]
    checks = ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    read = subprocess.run(["tshark", "-r", out, *checks, *fields], capture_output=True, text=True, check=True)
    rows = [row.split("\t") for row in read.stdout.splitlines()]
    assert len(rows) == document["down"]["packets"] + document["up"]["packets"]
    assert {(udp, ip) for _, udp, ip in rows} == {("1", "1")}
    (client,) = capture.read(out).clients
    assert client.updates.payload.mean() == pytest.approx(document["down"]["mean_bytes"])


def test_the_same_seed_is_the_same_file_and_another_is_not(command: Command, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.pcapng", "b.pcapng", "c.pcapng")]
    for file, seed in zip(files, ("5", "5", "6"), strict=True):
        done = command("traffic", "generate", "quake3", "--duration", "5s", "--seed", seed, "-o", file)
        assert done.returncode == 0, done.stderr
        assert "estimate" in done.stderr
    first, same, other = (file.read_bytes() for file in files)
    assert first == same != other


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fit", "{two}", "{three}", "--players", "2", "-o", "{folder}/m.toml"], "1 counts for 2 captures"),
        (["fit", "{two}", "--players", "2,3", "-o", "{folder}/m.toml"], "2 counts for 1 capture\n"),
        (["fit", "{two}", "--players", "two", "-o", "{folder}/m.toml"], "not a list of player counts"),
        (["fit", "{two}", "--players", "0", "-o", "{folder}/m.toml"], "1 to 1000"),
        (["fit", "{two}", "-o", "{folder}/m.toml"], "give it with --players"),
        (["fit", "{two}", "--players", "2", "-o", "{folder}/m.json"], "must end in .toml"),
        (["fit", "{two}", "--players", "2"], "--output"),
        (["fit", "{folder}/absent.pcap", "--players", "2", "-o", "{folder}/m.toml"], "absent.pcap"),
        (["fit", "{text}", "--players", "2", "-o", "{folder}/m.toml"], "not a packet capture"),
        (["fit", "{tcp}", "--players", "2", "-o", "{folder}/m.toml"], "no UDP packet among"),
        (
            ["fit", "{one}", "--players", "2", "-o", "{folder}/m.toml"],
            "has 1 packets in one direction and 0 in the other",
        ),
        (["generate", "quak3", "-o", "{folder}/g.pcapng"], "did you mean"),
        (["generate", "{folder}/absent.toml", "-o", "{folder}/g.pcapng"], "cannot be read"),
        (["generate", "openarena", "--players", "9", "-o", "{folder}/g.pcapng"], "2 to 8"),
        (["generate", "openarena", "--duration", "long", "-o", "{folder}/g.pcapng"], "duration"),
        (["generate", "openarena"], "--output"),
        (["fly"], "fly"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    command: Command, words: list[str], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "text.pcap").write_text("this is no capture", encoding="utf-8")
    one = tmp_path / "one.pcapng"
    play.play(play.scenario("quake3", 4, "1s", file="test"), 1, one)
    one.write_bytes(one.read_bytes()[:ONE_PACKET])
    places = {
        "two": TWO,
        "three": THREE,
        "folder": tmp_path,
        "text": tmp_path / "text.pcap",
        "tcp": CAPTURES / "thin-tcp-wan-cli.pcapng.gz",
        "one": one,
    }
    done = command("traffic", *(word.format(**places) for word in words))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m.toml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["fit", str(TWO), "--players", "2", "-o", "/proc/gamelane/m.toml"],
        ["generate", "quake3", "-o", "/proc/gamelane/g.pcapng"],
        ["generate", "quake3", "-o", "{folder}"],
    ],
)
def test_output_that_cannot_be_written_is_exit_code_3(command: Command, words: list[str], tmp_path: Path) -> None:
    done = command("traffic", *(word.format(folder=tmp_path) for word in words))
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


def test_a_capture_cut_off_is_used_as_far_as_it_goes_and_says_so(command: Command, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.pcapng", tmp_path / "cut.pcapng"
    assert command("traffic", "generate", "openarena", "--duration", "120s", "-o", whole).returncode == 0
    cut.write_bytes(whole.read_bytes()[:-50])
    done = command("traffic", "fit", cut, "--players", "4", "-o", tmp_path / "m.toml")
    assert done.returncode == 0, done.stderr
    assert "is damaged" in done.stdout
