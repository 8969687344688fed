"""Guests without a kernel of their own: scripts of this machine stand for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import gamelane
from gamelane.errors import LabError, ScenarioError
from gamelane.guest import boot, build, patches, uml
from gamelane.guest.case import Case
from gamelane.guest.engine import Guests
from gamelane.guest.kinds import SCRIPT
from gamelane.lab.kernel.available import Available
from gamelane.lab.kernel.between import Kernel
from gamelane.runner import Job

NOTHING = Available((), shows_packets=False)


@dataclass(frozen=True)
class Pretended:
    """A script of the host."""

    lines: str
    label: str = "pretended"
    congestion_controls: Sequence[str] = ("reno",)
    available: Available = NOTHING
    virtual_time: bool = True

    def environment(self, seed: int) -> dict[str, str]:
        return {"SEED": str(seed), "PATH": "/usr/bin:/bin"}

    def command(self, seed: int) -> Sequence[str]:
        assert seed >= 0
        return ("sh", SCRIPT)

    def script(self, folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> str:
        assert (folder / "job.json").exists()
        assert environment["PATH"]
        assert words[-1] == "gamelane.guest.inside"
        return self.lines

    def pack(self, folder: Path, needed: Sequence[Path]) -> None:
        assert (folder / SCRIPT).exists()
        assert all(path.is_file() for path in needed)

    def unpack(self, folder: Path) -> None:
        pass


def guests(lines: str) -> Guests:
    return Guests(Pretended(lines), Kernel(exact=True, available=NOTHING), 2)


def jobs(*seeds: int, **keys: str) -> list[Job]:
    scenario = gamelane.load("household").with_(keys).scenario
    return [Job("run", scenario, seed) for seed in seeds]


def test_what_a_guest_could_not_run_is_the_error_of_the_command() -> None:
    with pytest.raises(LabError, match="no tcpdump"):
        guests("echo '\"no tcpdump\"' > error.json").run_all(jobs(1), path="household.toml")


def test_a_guest_without_a_result_is_named_with_its_last_words() -> None:
    with pytest.raises(LabError, match=r"(?s)kernel in a guest \(run, seed 7\) ended without a result.*it broke"):
        guests("echo it broke").run_all(jobs(7), path="household.toml")


def test_a_guest_that_ran_out_of_mappings_names_the_setting() -> None:
    said = "UML ran out of memory on the host side! This can happen due to ... vm.max_map_count has been reached."
    with pytest.raises(LabError, match=r"sysctl vm\.max_map_count=1000000"):
        guests(f"echo '{said}'").run_all(jobs(1), path="household.toml")


def test_a_guest_that_hangs_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "SILENT_S", 0.5)
    with pytest.raises(LabError, match=r"kernel in a guest \(run, seed 7\) reported no progress") as hung:
        guests("while :; do :; done").run_all(jobs(7), path="household.toml")
    assert "polls the clock" in str(hung.value)


def test_progress_keeps_a_slow_guest_alive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "SILENT_S", 3)
    (tmp_path / SCRIPT).write_text("for at in 1 2 3 4 5; do echo gamelane at $at; sleep 1; done; echo done $SEED")
    watch = boot.Watch("slow", 1, threading.Event())
    assert list(boot.boot(Pretended(""), tmp_path, watch) or ()) == ["done 1"]
    assert watch.at_s == 5


def test_each_guest_has_a_core_of_its_own_while_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "TAKEN", f"\0gamelane-test-{os.getpid()}-")
    there = os.sched_getaffinity(0)
    with ExitStack() as taken:
        assert {taken.enter_context(boot.core()) for _ in there} == there
        assert taken.enter_context(boot.core()) in there


def test_nothing_boots_if_one_of_the_jobs_is_refused(tmp_path: Path) -> None:
    mark = tmp_path / "booted"
    refused = [*jobs(1), *jobs(2, **{"gateway.voap": "true"})]
    with pytest.raises(ScenarioError, match=r"gateway\.voap"):
        guests(f"touch {mark}").run_all(refused, path="household.toml")
    assert not mark.exists()


def test_a_signal_ends_the_guests() -> None:
    timer = threading.Timer(1, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    began = time.monotonic()
    batch = guests("echo $$; sleep 600").run_all(jobs(1, 2, 3), path="household.toml")
    assert batch.interrupted
    assert not batch.finished
    assert time.monotonic() - began < 120


def test_a_case_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    case = Case.of(jobs(3)[0], "kernel", "/home.toml")
    case.write(tmp_path)
    again = Case.read(tmp_path)
    assert again == case
    assert again.scenario.hash == jobs(3)[0].scenario.hash


def test_a_guest_sees_only_its_folder_writable(tmp_path: Path) -> None:
    kernel = uml.UserModeLinux(tmp_path / "linux.uml")
    assert {"ro", "time-travel=inf-cpu"} <= set(kernel.command(1))
    script = kernel.script(tmp_path, {"A": "it's"}, ["python3", "-m", "x"])
    assert f"mount -t hostfs none /mnt -o {tmp_path}\n" in script
    assert "export A='it'\"'\"'s'\n" in script
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_a_missing_kernel_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(uml.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(LabError, match=r"no kernel for guests at .*\n.*gamelane doctor --build-kernel"):
        uml.UserModeLinux.find()


def test_queues_and_congestion_controls_come_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "linux.uml.config").write_text(
        "CONFIG_NET_SCH_CAKE=y\n# CONFIG_NET_SCH_PIE is not set\nCONFIG_TCP_CONG_BIC=y\n"
    )
    kernel = uml.UserModeLinux(tmp_path / "linux.uml")
    assert kernel.available.queues == ("pfifo", "bfifo", "cake")
    assert list(kernel.congestion_controls) == ["reno", "bic"]


def test_a_patch_applies_once_and_refuses_another_source(tmp_path: Path) -> None:
    patch = patches.Patch("a", "old", "new")
    (tmp_path / "a").write_text("an old line")
    patch.apply(tmp_path)
    patch.apply(tmp_path)
    assert (tmp_path / "a").read_text() == "an new line"
    (tmp_path / "a").write_text("another line")
    with pytest.raises(LabError, match="a: this source is not the one"):
        patch.apply(tmp_path)


def test_building_says_what_is_missing_before_it_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda tool: None if tool == "flex" else sys.executable)
    with pytest.raises(LabError, match=r"flex.* not found; install with `apt-get install flex"):
        build.build(lambda *_: None)
    assert list(tmp_path.iterdir()) == []
