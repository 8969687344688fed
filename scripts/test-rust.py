#!/usr/bin/env python3
"""Builds and runs the Rust tests, and says what runs. With `--build` it only builds. Two test programs run at a time.

Programs that test real time run in one lane, one after the other. All others run beside them at a lower priority,
so that they use the time in which the first lane sleeps.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Real sockets, interfaces and clocks. What is not listed here must not depend on real time.
REAL_TIME = ("gateway", "proxy", "live", "service", "impair", "device", "generator")
EVERYTHING = ("--workspace", "--all-features")

began = time.monotonic()
on_terminal = sys.stderr.isatty()
lock = threading.Lock()


@dataclass
class Program:
    """A test program of cargo's."""

    crate: Path
    target: str
    path: str
    running: str = ""
    output: str = ""
    failed: bool = True
    took_s: float = 0.0

    @property
    def name(self) -> str:
        """Crate, and which of its test programs."""
        return f"{self.crate.name} {self.target}"

    @property
    def is_real_time(self) -> bool:
        """Whether it belongs into the first lane."""
        return self.crate.name in REAL_TIME


def say(text: str) -> None:
    """Write a line that stays."""
    with lock:
        sys.stderr.write(f"\r\033[K{text}\n" if on_terminal else f"{text}\n")
        sys.stderr.flush()


def forgotten() -> list[str]:
    """Return files of tests that no `tests/main.rs` names: cargo would leave them out without a word."""
    return [
        f"{file}: not in {file.with_name('main.rs')}, so its tests would not run; add `mod {file.stem};`"
        for main in Path("crates").glob("*/tests/**/main.rs")
        for file in sorted(main.parent.glob("*.rs"))
        if file != main and not re.search(rf"^(pub )?mod {file.stem};", main.read_text(), re.MULTILINE)
    ]


def build() -> list[Program]:
    """Build the tests, the programs that they start, and the Python extension, all with one set of features."""
    if complaints := forgotten():
        sys.exit("\n".join(complaints))
    say("building the tests")
    # cargo shows its progress on a terminal only.
    quiet = () if on_terminal else ("--quiet",)
    command = ["cargo", "build", *EVERYTHING, "--lib", "--bins", "--tests", *quiet]
    programs, crates, said = [], 0, time.monotonic()
    process = subprocess.Popen(
        [*command, "--message-format=json-render-diagnostics"], stdout=subprocess.PIPE, text=True
    )
    for line in process.stdout or ():
        message = json.loads(line)
        if message["reason"] != "compiler-artifact":
            continue
        crates += 1
        if not on_terminal and time.monotonic() - said > 30:
            say(f"{elapsed():>6}  {crates} crates compiled, now {message['target']['name']}")
            said = time.monotonic()
        if message["executable"] and message["profile"]["test"]:
            target = message["target"]
            kind = {"lib": "unit tests", "bin": f"unit tests of {target['name']}"}.get(
                target["kind"][0], target["name"]
            )
            programs.append(Program(Path(message["manifest_path"]).parent, kind, message["executable"]))
    if process.wait():
        sys.exit(process.returncode)
    if not programs:
        sys.exit("cargo built no test program")
    say(f"{elapsed():>6}  built {len(programs)} test programs")
    return programs


def elapsed() -> str:
    """Return the time since the start in minutes and seconds."""
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    return f"{minutes}:{seconds:02}"


def run(program: Program) -> None:
    """Run a test program to its end."""
    start = time.monotonic()
    # Real-time tests sleep most of the time, so more of them run at once than there are cores.
    command = [program.path, "--test-threads", "4"] if program.is_real_time else ["nice", "-n", "3", program.path]
    # cargo runs tests in the folder of their crate.
    process = subprocess.Popen(
        command, cwd=program.crate, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines, done, count = [], 0, "?"
    for line in process.stdout or ():
        lines.append(line)
        if line.startswith("measured again: "):
            say(f"        {program.name}: {line.rstrip()[:200]}")
        if match := re.match(r"running (\d+) test", line):
            count = match[1]
        done += line.startswith("test ") and " ... " in line
        program.running = f"{program.name} {done}/{count}"
    program.failed = process.wait() != 0
    program.output = "".join(lines)
    program.took_s = time.monotonic() - start
    program.running = ""
    if count != "0":
        tests = f"{'FAILED of ' if program.failed else ''}{count} tests"
        say(f"{elapsed():>6}  {program.name:<40} {tests:>16} {program.took_s:6.1f} s")


def show(programs: list[Program], over: threading.Event) -> None:
    """Keep a line on the terminal that says what runs."""
    while not over.wait(0.5):
        with lock:
            line = f"{elapsed():>6}  " + ", ".join(program.running for program in programs if program.running)
            sys.stderr.write(f"\r\033[K{line[:118]}")
            sys.stderr.flush()


def main() -> None:
    """Run everything; fail if a test failed."""
    os.chdir(Path(__file__).parents[1])
    programs = build()
    if "--build" in sys.argv:
        return
    lanes = [[program for program in programs if program.is_real_time is real] for real in (True, False)]
    # As daemons, so that Ctrl-C ends them too.
    threads = [
        threading.Thread(target=lambda lane=lane: [run(program) for program in lane], daemon=True) for lane in lanes
    ]
    over = threading.Event()
    if on_terminal:
        threading.Thread(target=show, args=(programs, over), daemon=True).start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    documentation = Program(Path("documentation"), "examples", "")
    start = time.monotonic()
    command = ["cargo", "test", *EVERYTHING, "--doc", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    documentation.failed, documentation.output = done.returncode != 0, done.stdout
    say(f"{elapsed():>6}  {documentation.name:<57} {time.monotonic() - start:6.1f} s")
    failed = [program for program in [*programs, documentation] if program.failed]
    for program in failed:
        say(f"\n--- {program.name}\n{program.output}")
    names = []
    for program in failed:
        found = re.findall(r"^test (\S+) .*FAILED$", program.output, re.MULTILINE)
        names += [f"{program.crate.name}: {name}" for name in found or [program.target]]
    for name in names:
        say(f"FAILED {name}")
    say(f"{len(names)} Rust tests failed in {elapsed()}" if names else f"all Rust tests passed in {elapsed()}")
    sys.exit(bool(names))


if __name__ == "__main__":
    main()
