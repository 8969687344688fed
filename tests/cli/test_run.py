"""The whole way: a scenario goes in, a table, JSON, records, captures and a report come out."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gamelane as library
from tests.needs import needs

from .command import GAMELANE, computes, gamelane

ROOT = Path(__file__).parents[2]
QUEUES = "gateway.*.queue=fifo,fq_codel"


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    document = json.loads((ROOT / "docs" / "schema" / "run.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def test_the_table_is_on_stdout_and_the_talk_on_stderr(household: Path) -> None:
    done = gamelane("run", household, "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "quake3: Quake III Arena, 4 players [estimate]" in done.stdout
    assert "FIFO" in done.stdout
    assert "±" in done.stdout
    assert "-o DIR" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_quiet_says_nothing(household: Path) -> None:
    assert gamelane("run", household, "--quiet").stderr == ""


def test_json_keeps_to_its_schema(household: Path, schema: jsonschema.Draft202012Validator) -> None:
    done = gamelane("run", household, "--repeat", "2", "--json")
    document = json.loads(done.stdout)
    schema.validate(document)
    assert [run["seed"] for run in document["runs"]] == [7, 8]
    assert document["summary"]["flows"]["quake3"]["rtt_ms"]["p99"].keys() == {"mean", "ci95"}


def test_json_of_a_comparison_keeps_to_its_schema(household: Path, schema: jsonschema.Draft202012Validator) -> None:
    done = gamelane("run", household, "--compare", QUEUES, "--variant", "fifo:gateway.*.limit=20p", "--json")
    document = json.loads(done.stdout)
    schema.validate(document)
    assert list(document["variants"]) == ["fifo", "fq_codel"]
    assert document["variants"]["fifo"]["overrides"] == {"gateway.*.queue": "fifo", "gateway.*.limit": "20p"}


def test_the_same_command_twice_prints_the_same_json_but_for_cpu_time(household: Path) -> None:
    first, second = (
        json.loads(gamelane("run", household, "--repeat", "3", "--threads", threads, "--json").stdout)
        for threads in ("1", "2")
    )
    assert _without_cpu(first) == _without_cpu(second)


def test_seed_and_set_reach_the_scenario(household: Path) -> None:
    done = gamelane("run", household, "--seed", "42", "--set", "duration=2s", "--json")
    assert [run["seed"] for run in json.loads(done.stdout)["runs"]] == [42]


def test_shipped_scenarios_go_by_name_from_any_folder(tmp_path: Path) -> None:
    done = gamelane("run", "household", "--set", "duration=2s", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scenario"]["name"] == "household"


def test_every_shipped_scenario_runs() -> None:
    names = [each["name"] for each in json.loads(gamelane("scenarios", "--json").stdout)["scenarios"]]
    assert "household" in names
    for name in names:
        done = gamelane("run", name, "--set", "duration=3s", "--set", "warmup=0s", "--json", "--quiet")
        assert done.returncode == 0, f"{name}: {done.stderr}"


def test_a_folder_gets_records_report_and_figures_and_renders_again(household: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    done = gamelane("run", household, "--compare", QUEUES, "--repeat", "2", "-o", out)
    assert done.returncode == 0, done.stderr
    assert str(out / "report.html") in done.stderr
    first = (out / "report.html").read_text()
    assert f"gamelane run {household} --compare &#39;{QUEUES}&#39; --repeat 2" in first
    assert library.read(out).finished_runs == 4

    (out / "report.html").unlink()
    again = gamelane("report", out)
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    assert (out / "report.html").read_text() == first


@needs(shutil.which("tshark"), "tshark is missing: apt-get install tshark")
def test_captures_open_in_wireshark(household: Path, tmp_path: Path) -> None:
    done = gamelane("run", household, "--set", "duration=2s", "--pcap", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    for side in ("lan", "wan"):
        command = ["tshark", "-r", str(tmp_path / f"seed7-{side}.pcapng"), "-T", "fields", "-e", "ip.proto"]
        rows = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout.split()
        assert {"17"} <= set(rows)
        assert len(rows) > 50


def test_ctrl_c_keeps_what_is_finished(
    household: Path, tmp_path: Path, schema: jsonschema.Draft202012Validator
) -> None:
    # Two short runs, then ones that last for hours of virtual time.
    command = [
        GAMELANE, "run", str(household), "--variant", "short:duration=3s", "--variant", "endless:duration=720000s",
        "--repeat", "2", "--threads", "1", "--json", "-o", str(tmp_path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        computes(process, 4)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 130, stderr
    assert "2 of 4 runs finished" in stderr
    assert "Traceback" not in stderr
    document = json.loads(stdout)
    schema.validate(document)
    assert list(document["variants"]) == ["short"]
    assert library.read(tmp_path).finished_runs == 2
    assert f"`gamelane report {tmp_path}` draws the report" in stderr
    assert gamelane("report", tmp_path).returncode == 0
    assert "2 of 4 runs finished" in (tmp_path / "report.html").read_text()


def test_ctrl_c_before_anything_is_finished(household: Path) -> None:
    command = [GAMELANE, "run", str(household), "--set", "duration=720000s", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        computes(process, 3)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "0 of 1 runs finished" in stderr
    assert stdout == ""


def _without_cpu(document: dict[str, Any]) -> dict[str, Any]:
    for run in document["runs"]:
        del run["cpu_seconds"]
    return document
