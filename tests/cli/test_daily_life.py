"""Full disks, Ctrl-C, kills and closed pipes: files are whole or absent, and finished work is kept."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import gamelane as library
from gamelane import _native, interrupts, runner, whole
from gamelane.commands.run import finish
from gamelane.records.results import RunRecord
from tests.cli.command import GAMELANE, computes, gamelane
from tests.cli.files import leftovers, listed, whole_or_absent
from tests.needs import needs

CAPTURE = Path(__file__).parents[1] / "captures" / "thin-tcp-wan-srv.pcapng.gz"
SHORT = ("household", "--set", "duration=5s")

WRITERS: dict[str, tuple[str | Path, ...]] = {
    "run": ("run", *SHORT, "-o"),
    "pcap": ("run", *SHORT, "--pcap", "-o"),
    "analyze": ("analyze", CAPTURE, "--shared-paths", "-o"),
    "tune": ("tune", *SHORT, "--trials", "2", "--repeat", "1", "-o"),
    "reproduce": ("reproduce", "burriss2006", "--repeat", "1", "-o"),
}
"""Commands that print results and write files. The last word is the folder."""


def limited(bytes_per_file: int) -> Callable[[], None]:
    """Let every file of a process end at this size: a full disk for which no privilege is needed."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_per_file, bytes_per_file))


@pytest.mark.parametrize("most", [1_000, 30_000])
@pytest.mark.parametrize("command", WRITERS)
def test_a_full_disk_is_exit_code_3_and_the_results_are_shown(command: str, most: int, tmp_path: Path) -> None:
    words = [GAMELANE, *map(str, WRITERS[command]), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limited(most), timeout=240, check=False)
    whole_or_absent(tmp_path)
    assert len(done.stdout.splitlines()) > 5
    if done.returncode:
        assert done.returncode == 3, done.stderr
        assert f"error: {tmp_path}" in done.stderr
        assert "File too large" in done.stderr
    else:
        assert most == 30_000  # all files of this command are smaller


@needs(os.geteuid() == 0, "a small file system can be mounted by root only")
@pytest.mark.parametrize("kib", [20, 200])
def test_a_file_system_without_room(kib: int, tmp_path: Path) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    kept.mkdir()
    run = shlex.join([GAMELANE, *map(str, WRITERS["run"]), str(small)])
    script = f"mount -t tmpfs -o size={kib}k none {small}; {run}; code=$?; cp -r {small}/. {kept}; exit $code"
    words = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 3, done.stderr
    assert "No space left on device" in done.stderr
    assert "RTT" in done.stdout
    whole_or_absent(kept)
    assert bool(listed(kept)) == (kib == 200)  # there is room for the records, and not for the report


@needs(shutil.which("strace") is not None, "strace is not installed")
@pytest.mark.parametrize("error", ["EDQUOT", "EIO"])
def test_a_quota_and_a_broken_disk(error: str, tmp_path: Path) -> None:
    """A network file system tells that the quota is used up, and a disk that it is broken, only at fsync."""
    words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", f"inject=fsync:error={error}"]
    words += [GAMELANE, *map(str, WRITERS["run"]), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 3, done.stderr
    assert f"error: {tmp_path}" in done.stderr
    assert os.strerror(getattr(errno, error)) in done.stderr
    assert "RTT" in done.stdout
    assert not listed(tmp_path)
    assert not leftovers(tmp_path)


def test_a_full_disk_leaves_the_earlier_results(tmp_path: Path) -> None:
    assert gamelane(*WRITERS["run"], tmp_path).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(listed(tmp_path)) == {path.name for path in before if path.suffix == ".parquet"}
    words = [GAMELANE, *map(str, WRITERS["run"]), str(tmp_path), "--repeat", "4"]
    done = subprocess.run(words, capture_output=True, preexec_fn=limited(5_000), timeout=240, check=False)
    assert done.returncode == 3
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def stopped(words: list[str], seconds: float, by: signal.Signals) -> tuple[int, str, str]:
    """Run a command, send a signal once it has used so much processor time, and return how it ended."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        computes(process, seconds)
        process.send_signal(by)
        stdout, stderr = process.communicate(timeout=240)
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("command", ["run", "analyze"])
def test_ctrl_c_at_any_moment_leaves_whole_files_and_no_traceback(command: str, tmp_path: Path) -> None:
    chance = random.Random(15)
    words = [GAMELANE, *map(str, WRITERS[command]), str(tmp_path), "--quiet"]
    for _ in range(6):
        code, stdout, stderr = stopped(words, chance.uniform(0.06, 2), signal.SIGINT)
        assert code in (0, 130, -signal.SIGINT), stderr  # before Python has loaded the command, the signal ends it
        assert stderr.removesuffix("interrupted\n").strip() in ("", KEPT.format(tmp_path))
        assert bool(stdout) or code != 0
        whole_or_absent(tmp_path)


KEPT = "records: {0}\n  hint:    `gamelane report {0}` draws the report"


def test_ctrl_c_while_the_last_run_ends_keeps_all_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = RunRecord.of

    def ends_with_ctrl_c(run: _native.Run) -> RunRecord:
        signal.raise_signal(signal.SIGINT)
        return ends(run)

    monkeypatch.setattr(RunRecord, "of", ends_with_ctrl_c)
    ran = finish([library.load("household").with_({"duration": "2s"}).run], tmp_path)
    assert ran.stopped
    assert len(ran.results) == 1
    assert listed(tmp_path)
    assert capfd.readouterr().err == ""


def test_a_kill_at_any_moment_leaves_no_manifest_that_is_wrong(tmp_path: Path) -> None:
    chance = random.Random(16)
    words = [GAMELANE, *map(str, WRITERS["run"]), str(tmp_path)]
    for repeat in range(1, 7):
        stopped([*words, "--repeat", str(repeat)], chance.uniform(0.3, 1.2), signal.SIGKILL)
        listed(tmp_path)


def test_ctrl_c_before_the_runs_begin_stops_them() -> None:
    """It comes while the command prepares them, which must not be interrupted."""
    scenario = library.load("household").with_({"duration": "720000s"}).scenario
    with interrupts.postponed() as ctrl_c:
        signal.raise_signal(signal.SIGINT)
        batch = runner.run_all([runner.Job("", scenario, 1)], threads=1)
    assert ctrl_c.heard
    assert (batch.interrupted, batch.finished) == (True, [])


def test_ctrl_c_while_records_are_written_keeps_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gamelane.commands import run
    from gamelane.records import results as made

    real = made.Results.write

    def write(results: library.Results, folder: Path) -> None:
        signal.raise_signal(signal.SIGINT)
        real(results, folder)

    monkeypatch.setattr(made.Results, "write", write)
    ran = run.finish([lambda: library.load("household").with_(duration="2s").run(seeds=3)], tmp_path)
    assert ran.stopped
    assert library.read(tmp_path).finished_runs == 3
    whole_or_absent(tmp_path)


@pytest.mark.parametrize(
    "words", [("schema",), ("run", *SHORT), ("run", *SHORT, "--json"), ("analyze", str(CAPTURE)), ("--help",)]
)
def test_a_reader_that_leaves_is_no_error(words: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [GAMELANE, *words, *QUIET.get(words[0], ())], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    with process.stderr:
        said = process.stderr.read()
    assert process.wait(240) == 0
    assert said == ""


QUIET = dict.fromkeys(("run", "analyze"), ("--quiet",))


def test_a_reader_that_leaves_gets_its_files(tmp_path: Path) -> None:
    words = shlex.join([GAMELANE, *map(str, WRITERS["run"]), str(tmp_path)])
    subprocess.run(["sh", "-c", f"{words} | true"], check=True, timeout=240, capture_output=True)
    assert (tmp_path / "report.html").exists()
    whole_or_absent(tmp_path)


def test_ctrl_c_while_files_are_renamed_is_heard_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gamelane.commands import run

    real = whole.Together._appear

    def appear(files: whole.Together) -> None:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        real(files)

    monkeypatch.setattr(whole.Together, "_appear", appear)
    household = library.load("household").with_(duration="2s")
    ran = run.finish([household.run, household.run], tmp_path, several=True)
    assert ran.stopped
    assert library.read(tmp_path / "sim").finished_runs == 1


def test_a_second_command_is_kept_out_of_a_folder(tmp_path: Path) -> None:
    with whole.claimed(tmp_path):
        done = gamelane(*WRITERS["run"], tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}: another gamelane is writing to this folder" in done.stderr
    assert gamelane(*WRITERS["run"], tmp_path).returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_output_that_is_closed_is_no_error(closed: str, tmp_path: Path) -> None:
    words = shlex.join([GAMELANE, *map(str, WRITERS["run"]), str(tmp_path)])
    done = subprocess.run(["sh", "-c", f"{words} {closed}"], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert ("RTT" in done.stdout) == (closed == "2>&-")
    assert "bug" not in done.stderr
    listed(tmp_path)
    assert (tmp_path / "report.html").exists()


@needs(Path("/dev/full").exists(), "no /dev/full here")
def test_a_full_disk_behind_stdout_or_stderr_does_not_prevent_files(tmp_path: Path) -> None:
    words = shlex.join([GAMELANE, *map(str, WRITERS["run"]), str(tmp_path)])
    done = subprocess.run(["sh", "-c", f"{words} > /dev/full"], capture_output=True, timeout=240, check=False)
    assert done.returncode == 3
    assert (tmp_path / "report.html").exists()
    done = subprocess.run(["sh", "-c", f"{GAMELANE} run nonsense 2> /dev/full"], timeout=240, check=False)
    assert done.returncode == 2


def test_new_records_have_no_report_of_others(tmp_path: Path) -> None:
    assert gamelane(*WRITERS["run"], tmp_path).returncode == 0
    household = library.load("household").with_(duration="2s")
    household.run().write(tmp_path)
    assert not (tmp_path / "report.html").exists()
    assert not list((tmp_path / "figures").iterdir())


def test_sigterm_keeps_finished_runs_as_ctrl_c_does(tmp_path: Path) -> None:
    words = [
        GAMELANE, "run", "household", "--variant", "short:duration=3s", "--variant", "endless:duration=720000s",
        "--threads", "1", "--json", "-o", str(tmp_path),
    ]  # fmt: skip
    code, stdout, stderr = stopped(words, 3, signal.SIGTERM)
    assert code == 130, stderr
    assert "1 of 2 runs finished" in stderr
    assert list(json.loads(stdout)["variants"]) == ["short"]
    assert library.read(tmp_path).finished_runs == 1


OTHER = CAPTURE.with_name("openarena-4p-cli.pcapng.gz")


def test_an_analysis_replaces_all_files_of_the_one_before(tmp_path: Path) -> None:
    """Regression: `shared_paths.parquet` of another capture stayed."""
    assert gamelane(*WRITERS["analyze"], tmp_path).returncode == 0
    assert "shared_paths.parquet" in listed(tmp_path)
    assert gamelane("analyze", OTHER, "-o", tmp_path).returncode == 0
    assert set(listed(tmp_path)) == {path.name for path in tmp_path.iterdir()} - {"analysis.json"}


def test_an_analysis_that_is_stopped_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: document and report were removed at the start, and the tables were replaced before the others."""
    from gamelane.cli.analyze import analyze
    from gamelane.report import capture

    assert gamelane("analyze", OTHER, "-o", tmp_path).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def stop(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(capture, "page", stop)
    with pytest.raises(click.Abort):
        analyze.main([str(CAPTURE), "-o", str(tmp_path)], standalone_mode=False)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_next_command_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """Regression: the part of a file that the next command did not write stayed for ever."""
    for name in (".gamelane-1", ".gamelane-lan.pcapng.partial", ".gamelane-partial/x", "figures/.gamelane-a.partial"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    kept = tmp_path / "movie.partial"
    kept.write_text("")
    assert gamelane(*WRITERS["run"], tmp_path).returncode == 0
    assert not leftovers(tmp_path)
    assert kept.exists()


def test_a_document_does_not_stay_beside_pictures_of_another(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.svg").write_text("")
    done = gamelane(*WRITERS["tune"][:-1], "--quiet", "-o", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")  # nor does anything complain when Python ends
    assert not (tmp_path / "figures" / "old.svg").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("schema",), ("analyze", str(CAPTURE), "--json", "--quiet")])
def test_a_disk_that_fills_behind_stdout_is_told(words: tuple[str, ...], unbuffered: str, tmp_path: Path) -> None:
    """Regression: half a document and exit code 0 without a buffer; "internal error" where Rust prints."""
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [GAMELANE, *words], stdout=out, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=limited(20_000),
            timeout=240, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "error: cannot write to standard output: File too large\n")
