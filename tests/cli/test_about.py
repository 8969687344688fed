"""The commands that only tell."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from gamelane import doctor
from gamelane.cli import about
from gamelane.commands.doctor import doctor as show

from .command import gamelane

ROOT = Path(__file__).parents[2]


def test_version_and_help() -> None:
    assert gamelane("version").stdout.startswith("gamelane 0.")
    assert "reproduce" in gamelane("--help").stdout


def test_schema_is_a_json_schema() -> None:
    assert "$schema" in json.loads(gamelane("schema").stdout)


def test_models_say_where_they_come_from() -> None:
    models = json.loads(gamelane("models", "--json").stdout)["models"]
    keys = {"app", "name", "title", "provenance", "sources", "players", "ports", "quality", "host", "tcp", "notes"}
    assert all(model.keys() == keys for model in models)
    quake3 = next(model for model in models if model["name"] == "quake3")
    assert quake3["sources"]["server.size"].startswith("estimate: ")
    apps = {model["name"]: model["app"] for model in models}
    assert (apps["quake3"], apps["ut-2-3"], apps["anarchy-online"]) == ("game", "cloud", "mmo")
    shipped = {path.stem for path in (ROOT / "models").rglob("*.toml")}
    assert set(apps) == shipped
    assert "estimate" in gamelane("models").stdout


def test_models_and_scenarios_fit_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the notes took a table of 300 lines, and left no room for the other columns."""
    monkeypatch.setattr("gamelane.terminal.talk.WIDTH_WITHOUT_TERMINAL", 80)
    for command in (about.models, about.scenarios):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            command.main([], standalone_mode=False)
        lines = out.getvalue().splitlines()
        assert "…" not in out.getvalue()
        assert max(map(len, lines)) <= 80
        assert len(lines) < 60


def test_one_model_is_shown_with_its_notes() -> None:
    shown = gamelane("models", "quake3").stdout
    assert "Update sizes follow the form" in " ".join(shown.split())
    assert "cssource" not in shown
    assert "did you mean `quake3`" in gamelane("models", "quak3").stderr


def test_doctor_finds_what_simulating_needs() -> None:
    document = json.loads(gamelane("doctor", "--json").stdout)
    assert document["ok"] is True
    assert "engine sim" in {check["name"] for check in document["checks"]}


def test_doctor_prints_brackets_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: Rich took `[tune]` for markup and left it out."""
    missing = doctor.Check("optuna", False, "for tune", "pip install 'gamelane[tune]'")
    monkeypatch.setattr(doctor, "examine", lambda: [missing])
    show(json=False, measure=False, build_kernel=False, fetch_kernel=False)
    assert "pip install 'gamelane[tune]'" in capsys.readouterr().out


def test_doctor_says_how_to_get_what_is_missing() -> None:
    for check in doctor.examine():
        assert check.ok or check.remedy or check.detail == "not built yet", check.name
