"""`--vm` with QEMU as a command. One boot takes about 40 s of a CPU, so one short case is all that runs here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gamelane.errors import LabError
from gamelane.guest import choice, qemu, uml
from tests.lab.running import HOUSEHOLD, Command
from tests.needs import lacking

FQ_CODEL = ("--vm", "--json", "--set", "gateway.*.queue=fq_codel")


@pytest.fixture(scope="module", autouse=True)
def machine() -> None:
    """Skip without QEMU or a kernel for it."""
    try:
        qemu.Qemu.find()
    except LabError as error:
        lacking(str(error).splitlines()[0])


def ran(folder: Path, kind: str, out: str) -> dict[str, Any]:
    command = Command(folder, HOUSEHOLD)
    command.environment[choice.VARIABLE] = kind
    with command.start(*FQ_CODEL, "-o", folder / out, engine="kernel") as process:
        said, complaint = process.communicate(timeout=600)
    assert process.returncode == 0, complaint
    assert list(command.place.iterdir()) == []
    rtt_ms: dict[str, Any] = json.loads(said)["runs"][0]["flows"]["quake3"]["rtt_ms"]
    return rtt_ms


def test_two_runs_are_the_same_and_agree_with_user_mode_linux(tmp_path: Path) -> None:
    first, second = (ran(tmp_path, "qemu", out) for out in ("one", "two"))
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert manifest["host"]["kernel"].startswith("QEMU 6")
    for figure in ("p50", "p95"):
        assert first[figure] == pytest.approx(second[figure], abs=0.1), figure
    for path in (tmp_path / "one").rglob("*.parquet"):
        assert pl.read_parquet(path).equals(pl.read_parquet(tmp_path / "two" / path.relative_to(tmp_path / "one")))
    if not os.access(uml.cache() / uml.NAME, os.X_OK):
        return
    other = ran(tmp_path, "uml", "three")
    for figure in ("p50", "p95"):
        assert first[figure] == pytest.approx(other[figure], rel=0.1, abs=3), figure


def test_what_its_kernel_lacks_is_refused_before_it_boots(tmp_path: Path) -> None:
    command = Command(tmp_path, HOUSEHOLD)
    command.environment[choice.VARIABLE] = "qemu"
    with command.start("--vm", "--set", "gateway.*.queue=dualpi2", engine="kernel") as process:
        _, complaint = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "this kernel has no sch_dualpi2" in complaint


def test_a_game_is_known_by_its_behaviour_and_autorate_follows_the_link_as_simulated(tmp_path: Path) -> None:
    """The first seconds of the game wait behind the upload: until then it is not known."""
    command = Command(tmp_path, HOUSEHOLD)
    command.environment[choice.VARIABLE] = "qemu"
    keys = {
        "duration": '"12s"',
        "gateway.up.queue": "priority",
        "gateway.priority": '["game"]',
        "gateway.shape": '{ up = "500kbit" }',
        "gateway.autorate": '{ up = { lowest = "200kbit", highest = "950kbit" } }',
    }
    words = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    said, _ = command.run("--vm", "--json", *words, "-o", tmp_path / "out", engine="sim,kernel")
    agreement = json.loads(said)["agreement"]
    rows = [row for pair in agreement["pairs"] for row in pair["rows"]]
    assert [row["within"] for row in rows] == [True, True], rows
    rates = pl.read_parquet(tmp_path / "out" / "kernel" / "rates.parquet")["shaped_bps"]
    assert rates.to_list()[0] == 500_000
    assert rates.n_unique() > 1
