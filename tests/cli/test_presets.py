"""Presets: households in one line."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from gamelane.cli import presets

from .command import gamelane

HOME = ("--plan", "cable-250-20", "--with", "valorant,netflix-4k,zoom,windows-update")


def test_a_household_in_one_line_runs_and_says_what_is_an_estimate(tmp_path: Path) -> None:
    done = gamelane("run", *HOME, "--policy", "cake", "--set", "duration=12s", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Valorant" in done.stdout
    assert "[estimate]" in done.stdout
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert document["scenario"]["name"] == "home"
    caveats = " ".join(document["caveats"])
    assert "Netflix in 4K" in caveats
    assert "estimates" in caveats
    assert "windows-update" in document["variants"][0]["toml"]


def test_with_may_be_given_several_times() -> None:
    together = gamelane("run", *HOME, "--show").stdout
    apart = gamelane("run", *HOME[:3], "valorant,netflix-4k", "--with", "zoom", "--with", "windows-update", "--show")
    assert apart.stdout == together


def test_the_file_that_is_written_is_the_household_and_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "home.toml"
    short = ("--set", "duration=11s", "--set", "warmup=10s", "--json")
    first = gamelane("run", *HOME, "--write", str(file), *short)
    assert first.returncode == 0, first.stderr
    again = gamelane("run", str(file), "--json")
    one, other = (json.loads(out.stdout) for out in (first, again))
    for run in (*one["runs"], *other["runs"]):
        del run["cpu_seconds"]
    assert one["runs"] == other["runs"]
    refused = gamelane("run", *HOME, "--write", str(file), *short)
    assert refused.returncode == 2
    assert "this file exists" in refused.stderr


def test_a_household_runs_by_name_and_with_more(tmp_path: Path) -> None:
    shown = gamelane("run", "family", "--with", "steam-download", "--show").stdout
    assert 'name = "family"' in shown
    assert "steam-download" in shown
    file = tmp_path / "home.toml"
    file.write_text('plan = "vdsl-50-10"\nwith = ["valorant", { preset = "zoom", host = "study" }]\n')
    shown = gamelane("run", str(file), "--show").stdout
    assert 'host = "study"' in shown
    assert 'name = "home"' in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--plan", "cable-250", "--with", "lol"), ["--plan cable-250", "no such plan", 'did you mean "cable-250-20"']),
        ((*HOME[:2], "--with", "valorent"), ["--with valorent", "no such preset", 'did you mean "valorant"']),
        ((*HOME, "--plan", "adsl-16-1"), ["--plan adsl-16-1", "a household has one, and cable-250-20 is given too"]),
        ((*HOME[:2], "--with", "adsl-16-1"), ["adsl-16-1 is a plan; give it as `plan`"]),
        (("--with", "valorant"), ["--with valorant: a household needs a plan too", "--plan cable-250-20"]),
        (HOME[:2], ["--plan cable-250-20: a household needs applications too", "--with valorant"]),
        ((*HOME, "--set", "plan=adsl-16-1"), ["--set plan=adsl-16-1", "cable-250-20 is given too"]),
        ((*HOME[:2], "--with", ","), ["--with ,", "this takes names of presets"]),
        (("valorant",), ["valorant: no such scenario", "give it as --with valorant"]),
        ((*HOME, "--write", ""), ["--write", "names no file"]),
        (("familly",), ["did you mean `family`"]),
    ],
)
def test_errors_name_the_option_and_the_remedy(words: tuple[str, ...], said: list[str]) -> None:
    done = gamelane("run", *words)
    assert done.returncode == 2
    for part in said:
        assert part in done.stderr


def test_more_than_the_plan_has_is_a_warning_with_both_rates() -> None:
    done = gamelane("run", "--plan", "adsl-16-1", "--with", "netflix-4k,zoom,valorant", "--set", "duration=11s")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Mbit/s upstream, and the link has 1.0 Mbit/s" in said


def test_plans_and_policies_are_variants_and_axes(tmp_path: Path) -> None:
    short = ("--set", "duration=11s", "--set", "warmup=10s", "--json")
    done = gamelane("run", *HOME, "--compare", "policy=as-delivered,cake", *short)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["variants"]) == {"as-delivered", "cake"}
    sweep = tmp_path / "plans.toml"
    sweep.write_text(
        'base = "family"\n[set]\nduration = "11s"\n[axes]\n'
        '"household" = ["family", "flat"]\n"policy" = ["as-delivered", "cake"]\n'
    )
    done = gamelane("sweep", str(sweep), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    report = gamelane("report", str(tmp_path / "out"), "--json")
    assert len(json.loads(report.stdout)["cells"]) == 4


def test_presets_fit_80_columns_and_explain_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gamelane.terminal.talk.WIDTH_WITHOUT_TERMINAL", 80)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        presets.presets.main([], standalone_mode=False)
    assert "…" not in out.getvalue()
    assert "[bold]" not in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80
    one = gamelane("presets", "valorant").stdout
    for part in ("Valorant", "server ports", "estimate:", "[[flow]]", 'model = "valorant"'):
        assert part in one
    assert "vdsl-50-10" in gamelane("presets", "plan").stdout
    assert "valorant" not in gamelane("presets", "plan").stdout
    assert "did you mean `valorant`" in gamelane("presets", "valorent").stderr


def test_presets_as_json() -> None:
    known = json.loads(gamelane("presets", "--json").stdout)["presets"]
    words = [each["word"] for each in known]
    assert words.count("plan") == 16
    assert words.count("household") == 8
    valorant = next(each for each in known if each["name"] == "valorant")
    assert valorant["label"] == "estimate"
    assert valorant["asks_bps"]["down"] == pytest.approx(193e3, rel=0.02)
    labels = {source.partition(":")[0] for source in valorant["sources"].values()}
    assert labels <= {"measured", "published", "estimate"}


@pytest.mark.parametrize(
    ("preset", "said", "unsaid"),
    [
        ("cake", ["a share of the link's rates", 'isolation = "dual-srchost"', "OpenWrt, SQM"], "mbit"),
        ("ath79", ["both directions together", 'shape = "70mbit"', "from memory"], "fifo"),
        ("starlink", ["[gateway.isp]", "1830KiB", "link.loss"], "shapes"),
        ("speedtest", ["as much as it gets", "connections = 8"], " Mbit/s down,"),
        ("as-delivered", ["nothing is shaped"], "[gateway"),
    ],
)
def test_a_preset_is_explained_by_its_own_keys(preset: str, said: list[str], unsaid: str) -> None:
    done = gamelane("presets", preset)
    assert done.returncode == 0, done.stderr
    for part in said:
        assert part in done.stdout
    assert unsaid not in done.stdout
