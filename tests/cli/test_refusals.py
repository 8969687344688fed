"""Bad input: one message that says what to do, the documented exit code, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gamelane.cli import app
from gamelane.errors import ExitCode

from .command import GAMELANE, gamelane


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "{short}", "--set", "link.upp=2mbit"], "did you mean"),
        (["run", "{short}", "--set", "link.up=fast"], "link.up"),
        (["run", "{short}", "--set", "link.up"], "not KEY=VALUE"),
        (["run", "{short}", "--set", "gateway.*.queue=red"], "fq_codel"),
        (["run", "{short}", "--compare", "gateway.*.queue"], "not KEY=VALUE"),
        (["run", "{short}", "--compare", "gateway.*.queue=,"], "no values to compare"),
        (["run", "{short}", "--compare", "gateway.*.queue=fifo,red"], "in --compare gateway.*.queue=fifo,red: no such"),
        (["run", "{short}", "--compare", "gateway.*.queue=fifo,pie,fifo"], "`fifo` is listed twice"),
        (
            ["run", "{short}", "--variant", "a:link.rtt=5ms,link.up=fast"],
            "in --variant a:link.rtt=5ms,link.up=fast: this",
        ),
        (["run", "{short}", "--set", "link.up=99999999999999999999mbit"], "this rate is too large"),
        (["run", "{short}", "--set", "flow.quake3.players=99999999999999999999"], "this number is too large"),
        (["run", "{short}", "--variant", "fifo"], "not NAME:KEY=VALUE"),
        (["run", "{short}", "--variant", "a:link.up"], "not KEY=VALUE"),
        (["run", "{short}", "--engine", "bench"], "gamelane doctor"),
        (["run", "{short}", "--engine", "lap"], "did you mean `lab`"),
        (["run", "{short}", "--engine", "sim,lab,sim"], "an engine is named twice"),
        (["run", "{short}", "--engine", "lab", "--set", "tcp.recovery=fack"], "Linux has no setting for this"),
        (["run", "{short}", "--repeat", "0"], "--repeat"),
        (["run", "{short}", "--repeat", "many"], "--repeat"),
        (["run", "{short}", "--repeat", "99999999999999999999"], "--repeat"),
        (["run", "{short}", "--seed", "-1"], "--seed"),
        (["run", "{short}", "--seed", "99999999999999999999"], "--seed"),
        (["run", "{short}", "--pcap"], "-o DIR"),
        (["run", "{short}", "--bogus"], "--bogus"),
        (["run", "houshold"], "did you mean `household`"),
        (["run", "{folder}"], "this is a folder, not a scenario"),
        (["run", "{binary}"], "not text in UTF-8"),
        (["run", "{broken}"], "broken.toml"),
        (["run", "{empty}"], "this file is empty"),
        (["sweep", "{empty}", "-o", "{folder}"], "this file is empty"),
        (["run"], "a household needs a plan and applications"),
        (["report", "{folder}"], "does not hold records"),
        (["report", "{folder}/absent"], "does not hold records"),
        (["reproduce", "collom2061"], "did you mean `collom2016`"),
        (["fly"], "fly"),
    ],
)
def test_a_refusal_is_one_message_and_exit_code_2(
    words: list[str], complaint: str, household: Path, tmp_path: Path
) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "broken.toml").write_text('name = "x\n')
    (tmp_path / "empty.toml").touch()
    places = {
        "short": household,
        "folder": tmp_path,
        "binary": tmp_path / "binary.toml",
        "broken": tmp_path / "broken.toml",
        "empty": tmp_path / "empty.toml",
    }
    done = gamelane(*(word.format(**places) for word in words))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("error: ") == 1
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(household: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = gamelane("run", household, "--set", "duration=36000s", "-o", tmp_path / "file" / "out")
    assert done.returncode == 3
    assert str(tmp_path / "file" / "out") in done.stderr
    assert "-o" in done.stderr
    assert done.stdout == ""


def test_a_folder_under_proc_cannot_be_written_even_by_root(household: Path) -> None:
    done = gamelane("run", household, "-o", "/proc/gamelane")
    assert done.returncode == 3
    assert "/proc/gamelane" in done.stderr


def test_every_exit_code_is_written_down() -> None:
    text = (Path(__file__).parents[2] / "docs" / "exit-codes.md").read_text()
    for code in ExitCode:
        assert f"| {code} |" in text


def test_a_bug_of_ours_says_so_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> int:
        raise ZeroDivisionError("by our own fault")

    monkeypatch.setattr(app, "app", broken)
    monkeypatch.delenv("GAMELANE_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as ending:
        app.main()
    assert ending.value.code == 1
    said = capsys.readouterr().err
    assert "bug in gamelane" in said
    assert "Traceback" not in said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [["schema"], ["models"], ["run", "household", "--set", "duration=2s"]])
def test_a_full_disk_behind_stdout_is_exit_code_3(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([GAMELANE, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert "cannot write to standard output" in done.stderr
    assert "-o DIR" not in done.stderr
    assert "Traceback" not in done.stderr
