"""The playground's module gives the JSON of the native program, byte for byte."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gamelane import _native
from gamelane.analysis import fares
from gamelane.plot import style
from tests.cli.command import gamelane as command
from tests.needs import needs

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MODULE = TARGET / "wasm32-unknown-unknown" / "web" / "gamelane_web.wasm"
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
LONG = {"operator": [("duration", "3s"), ("warmup", "1s")]}
"""Scenarios that would take half a minute, and what shortens them."""

pytestmark = needs(shutil.which("node") and MODULE.is_file(), "node or the playground's module is missing: make web")


def ask(**request: Any) -> dict[str, Any]:
    """Return what the module answers."""
    words: list[str | Path] = ["node", ROOT / "web" / "tests" / "engine.mjs", MODULE]
    done = subprocess.run(words, input=json.dumps(request), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_shipped_scenario_has_the_summary_and_the_lines_of_the_native_program(file: Path) -> None:
    overrides = LONG.get(file.stem, [])
    scenario = _native.Scenario.parse(file.read_text(), str(file), overrides)
    files = [str(each) for each in (*file.parent.glob("captures/*.pcapng"), *file.parent.glob("traces/*.rate"))]
    written = {"text": file.read_text(), "file": str(file), "overrides": overrides}
    answer = ask(runs=[{"scenario": written, "files": files}])
    assert answer["summaries"] == [_native.run(scenario, scenario.seed, samples=False).summary_json()]
    [recipes] = answer["recipes"]
    for name, native in _native.recipes(scenario).items():
        found = next(each for each in recipes if each["target"] == name)
        assert found["unsaid"] == native.unsaid
        assert found["text"].splitlines() == native.lines()[len(native.unsaid) :]


def test_the_analysis_of_a_capture_is_that_of_the_native_program(monkeypatch: pytest.MonkeyPatch) -> None:
    [capture] = (ROOT / "scenarios" / "captures").glob("*.pcapng")
    monkeypatch.chdir(capture.parent)
    [found] = ask(captures=[str(capture)])["documents"]
    native = _native.analyze_captures([(capture.name, [capture.name])])
    assert found["json"] == native.text()
    lines = _native.capture_lines(native.text(), 80, False)
    assert [(line["text"], line["style"]) for line in found["lines"]] == lines


def test_the_page_has_the_colours_of_the_report() -> None:
    light, dark = (ROOT / "web" / "style.css").read_text().split("@media (prefers-color-scheme: dark)")
    for theme, text in {"light": light, "dark": dark}.items():
        found = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", text))
        assert found.items() >= {name.removeprefix("$"): colour for name, colour in style.THEMES[theme].items()}.items()


def test_the_page_prints_commands_that_exist() -> None:
    for line in ask()["commands"].splitlines():
        _, *words = line.partition("#")[0].split()
        done = command(*words, "--help")
        assert done.returncode == 0, done.stderr


def test_the_page_grades_as_the_report_does() -> None:
    limits = ask()["limits"]
    assert limits == {"LOSS": [*fares.LOSS], "STALLED": [*fares.STALLED], "USUAL_MS": [*fares.USUAL_MS]}
