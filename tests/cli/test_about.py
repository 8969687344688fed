"""The commands that only tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamelane import doctor
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
    assert all(model.keys() == {"app", "name", "title", "provenance", "players", "notes"} for model in models)
    apps = {model["name"]: model["app"] for model in models}
    assert (apps["quake3"], apps["ut-2-3"], apps["anarchy-online"]) == ("game", "cloud", "mmo")
    shipped = {path.stem for path in (ROOT / "models").rglob("*.toml")}
    assert set(apps) == shipped
    assert "synthetic-default" in gamelane("models").stdout


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
    show(json=False, measure=False)
    assert "pip install 'gamelane[tune]'" in capsys.readouterr().out


def test_doctor_says_how_to_get_what_is_missing() -> None:
    for check in doctor.examine():
        assert check.ok or check.remedy or check.detail == "not built yet", check.name
