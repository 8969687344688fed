"""The group of subcommands: complete help, and no module imported before its command runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from gamelane.cli import app

from .command import gamelane

CAPTURE = Path(__file__).parents[1] / "captures" / "openarena-4p-srv.pcapng.gz"
SLOW = {"altair", "numpy", "polars", "pydantic", "rich", "scipy"}
MODULES = {f"gamelane.cli.{module}" for module, _ in app.COMMANDS.values()}


def loaded(*words: str) -> set[str]:
    """Return the modules that a command imports."""
    code = "import sys\nfrom gamelane.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_lists_every_command_and_imports_none() -> None:
    listed = gamelane("--help").stdout
    for name, (_, line) in app.COMMANDS.items():
        assert f"  {name} " in listed
        assert line in listed
    assert not loaded("--help") & (SLOW | MODULES)


@pytest.mark.parametrize("words", [["version"], ["--version"], ["schema"], ["scenarios", "--json"]])
def test_a_command_imports_its_own_module_only(words: list[str]) -> None:
    there = loaded(*words)
    assert there & MODULES == {"gamelane.cli.about"}
    assert not there & SLOW


def test_nothing_slow_is_loaded_to_print_json() -> None:
    assert not loaded("analyze", "--json", str(CAPTURE)) & SLOW


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_exists_under_its_name(name: str) -> None:
    module, _ = app.COMMANDS[name]
    command = getattr(import_module(f"gamelane.cli.{module}"), name)
    assert isinstance(command, click.Command)
    assert command.name == name


def test_a_command_that_does_not_exist_is_refused_with_the_closest_name() -> None:
    done = gamelane("rum")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'run'?" in done.stderr
    assert "gamelane --help" in done.stderr
    assert "Did you mean 'send'?" in gamelane("traffic", "sed").stderr


def test_without_a_command_the_help_is_printed() -> None:
    done = gamelane()
    assert done.returncode == 2
    assert "Commands:" in done.stderr
    assert done.stdout == ""
