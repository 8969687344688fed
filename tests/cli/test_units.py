"""The systemd units of `packaging`: systemd accepts them, and the flight recorder runs as its unit says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import GAMELANE
from tests.cli.test_capture import inside, match, wait_for_bytes
from tests.needs import needs

__all__ = ["match"]

UNITS = Path(__file__).parents[2] / "packaging" / "systemd"
RECORDER = UNITS / "gamelane-capture@.service"


@needs(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")), ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    # The programs need not be installed here.
    text = re.sub(r"/usr/local/[a-z/]+[a-z-]+", "/bin/true", unit.read_text())
    instance = tmp_path / unit.name.replace("@", "@eth0")
    instance.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", instance], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line or unit.name.split("@")[0] in line]
    assert (done.returncode, said) == (0, []), done.stderr


def setting(name: str) -> str:
    """A setting of the recorder's unit."""
    [value] = re.findall(rf"^{name}=(.*)$", RECORDER.read_text(), re.MULTILINE)
    return str(value)


@pytest.mark.usefixtures("match")
def test_the_flight_recorder_runs_as_its_unit_says_and_stops_with_a_verdict(tmp_path: Path) -> None:
    options = setting("Environment").strip('"').removeprefix("OPTIONS=")
    line = setting("ExecStart").replace("$OPTIONS", options).replace("%S", str(tmp_path)).replace("%i", "lo")
    program, *words = line.split()
    assert program == "/usr/local/bin/gamelane-capture"
    folder = tmp_path / setting("StateDirectory").replace("%i", "lo")
    folder.mkdir(parents=True)
    capability = setting("AmbientCapabilities").removeprefix("CAP_").lower()
    only = [f"--{which}=-all,+{capability}" for which in ("bounding-set", "inh-caps", "ambient-caps")]
    recorder = subprocess.Popen(
        inside("setpriv", "--no-new-privs", *only, GAMELANE, "capture", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": "/nonexistent"},
    )
    wait_for_bytes(folder, 1)
    recorder.send_signal(signal.SIGTERM)
    verdict, said = recorder.communicate(timeout=240)
    assert (recorder.returncode, said) == (0, "")
    assert "lo: " in verdict
    assert json.loads((folder / "analysis.json").read_text())["recording"]["packets"] > 0
