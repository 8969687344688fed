"""Disks that fill, have no inode left or are read-only: exit code 3, nothing partial, and with room it goes on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.cli.command import GAMELANE
from tests.cli.files import leftovers

from gamelane import programs
from gamelane.lab.namespaces import Lab
from gamelane.sweep import journal

from .killing import Blow, Ended, Running, Words, wait
from .kills import SWEEP, WRITERS, Reference, Writer, certificate_fits, digests, household
from .kills_live import MATCH, PLAYERS, Line, line, read_pcapng
from .ledger import Tally

ROOM = "size=200m,nr_inodes=100k"
DONE, FULL = 0, 3
CAUSES = ("No space left", "Read-only", "disk is full", "disk may be full", "storage full")
MOUNT = "/usr/bin/mount"


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Fill the disk under all commands in turn, each for an equal part of `seconds`."""
    for name, campaign in SUBJECTS:
        tally = Tally("disk", name)
        until = time.monotonic() + seconds / len(SUBJECTS)
        with tempfile.TemporaryDirectory(prefix="gamelane-disk-") as place, Small.mounted(Path(place)) as small:
            campaign(tally, Random(f"{seed} {name}"), until, small)
        yield tally


class Small:
    """A file system whose size changes while it is mounted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "small"
        self.given = ""

    @classmethod
    @contextmanager
    def mounted(cls, place: Path) -> Iterator[Small]:
        """Mount it, and unmount it."""
        place.chmod(0o755)
        small = cls(place)
        small.folder.mkdir()
        subprocess.run([MOUNT, "-t", "tmpfs", "-o", ROOM, "none", small.folder], check=True)
        try:
            yield small
        finally:
            subprocess.run(["umount", "--lazy", small.folder], check=True)

    def limit(self, options: str) -> None:
        """Mount it again with these options."""
        self.given = options
        subprocess.run([MOUNT, "-o", f"remount,rw,{options}", self.folder], check=True)

    def room(self) -> None:
        """Make room."""
        self.limit(ROOM)

    def empty(self) -> None:
        """Make room and remove everything."""
        self.room()
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def shrink(self, chance: Random, more: int, files: int) -> None:
        """Leave room for a random part of `more` bytes or `files`, or allow no change at all."""
        kind = chance.choice(["bytes", "bytes", "bytes", "inodes", "read-only"])
        if kind == "read-only":
            self.limit("ro")
            subprocess.run([MOUNT, "-o", "remount,ro", self.folder], check=True)
            return
        used = shutil.disk_usage(self.folder).used
        there = sum(1 for _ in self.folder.rglob("*")) + 1
        if kind == "bytes":
            # 0 means no limit.
            self.limit(f"size={max((used + chance.randrange(max(more, 1))) // 4096 * 4, 4)}k,nr_inodes=100k")
        else:
            self.limit(f"size=200m,nr_inodes={there + chance.randrange(files + 2)}")


def failed_well(small: Small, code: int, said: str) -> list[str]:
    """Return what is wrong with the way a program reported a full disk."""
    if "Traceback" in said or "bug in gamelane" in said or "panicked" in said:
        return [f"said: {said.strip()[-300:]}"]
    if code not in (DONE, FULL):
        return [f"exit code {code}: {said.strip()[-300:]}"]
    if code == FULL and not (str(small.folder) in said and any(cause in said for cause in CAUSES)):
        return [f"exit code 3 without file and cause: {said.strip()[-300:]}"]
    return []


def command(words: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Ended:
    """Run a command to its end."""
    running = Running(words, env=env)
    running.wait(240)
    return running.hit(Blow(0, (signal.SIGKILL,)))


def _of(writer: Writer) -> Callable[[Tally, Random, float, Small], None]:
    def campaign(tally: Tally, chance: Random, until: float, small: Small) -> None:
        folder = small.folder / "out"
        references: list[Reference] = []
        for at in range(len(writer.inputs)):
            references.append(writer.reference(at, folder))
        sizes = [sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for _ in references]
        while time.monotonic() < until:
            small.room()
            at, had = chance.randrange(len(references)), chance.random() < 0.5
            if not had:
                small.empty()
            elif not (folder / writer.document).exists():
                command(writer.words(1 - at, folder))
            small.shrink(chance, 2 * sizes[at], 2 * len(references[at].names))
            ended = command(writer.words(at, folder))
            wrong = failed_well(small, ended.code, ended.stderr)
            if ended.code == FULL and not ended.stdout and "cannot write to this folder" not in ended.stderr:
                wrong.append(f"it printed no results: {ended.stderr.strip()[-200:]}")
            wrong += writer.state(folder, references, torn=False, had=had) if folder.exists() else []
            if left := leftovers(folder):
                wrong.append(f"left behind: {left[0]}")
            given = small.given
            small.room()
            wrong += [f"then with room: {text}" for text in writer.complete(at, folder, references)]
            tally.add(disks=1, full=int(ended.code == FULL))
            tally.lost += [f"{given}: {text}" for text in wrong]

    return campaign


def sweep(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of a sweep: finished runs stay, and with room it goes on."""
    file, folder = small.place / "killed.toml", small.folder / "out"
    file.write_text(SWEEP)
    words: Words = [GAMELANE, "sweep", file, "--quiet", "-o", folder]
    command(words)
    wanted = digests(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    while time.monotonic() < until:
        small.empty()
        kept: set[str] = set()
        for last in (False, False, True):
            if last:
                small.room()
            else:
                small.shrink(chance, size, 2 * len(wanted))
            ended = command(words)
            wrong = failed_well(small, ended.code, ended.stderr)
            found = {done.id for done in journal.read(folder / "journal.jsonl") if done is not None}
            if gone := kept - found:
                wrong.append(f"{len(gone)} finished runs are gone")
            kept |= found
            if folder.exists() and (left := leftovers(folder)):
                wrong.append(f"left behind: {left[0]}")
            if last and (ended.code or digests(folder) != wanted):
                wrong.append(f"with room: exit code {ended.code}, {ended.stderr.strip()[-200:]}")
            tally.add(disks=int(not last), full=int(ended.code == FULL))
            tally.lost += [f"{small.given}: {text}" for text in wrong]


def report(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of a report with exports."""
    records, folder = small.place / "records", small.folder / "out"
    command([GAMELANE, "run", *household("--repeat", "2", "--quiet"), "-o", records])
    words: Words = [GAMELANE, "report", records, "--export", "csv", "--export", "flent", "--quiet", "-o", folder]
    command(words)
    wanted = sorted(path.name for path in folder.rglob("*"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    while time.monotonic() < until:
        small.empty()
        small.shrink(chance, size, 2 * len(wanted))
        ended = command(words)
        wrong = failed_well(small, ended.code, ended.stderr)
        if folder.exists() and (left := leftovers(folder)):
            wrong.append(f"left behind: {left[0]}")
        given = small.given
        small.room()
        again = command(words)
        if again.code or sorted(path.name for path in folder.rglob("*")) != wanted:
            wrong.append(f"with room: exit code {again.code}, {again.stderr.strip()[-200:]}")
        tally.add(disks=1, full=int(ended.code == FULL))
        tally.lost += [f"{given}: {text}" for text in wrong]


def stdout(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk behind standard output."""
    file = small.folder / "out.json"
    commands: list[Words] = [
        [GAMELANE, "run", *household("--json", "--repeat", "4", "--quiet")],
        [GAMELANE, "schema"],
        [GAMELANE, "analyze", WRITERS[1].inputs[0][1], "--json", "--quiet"],
    ]
    while time.monotonic() < until:
        small.empty()
        words = chance.choice(commands)
        small.limit(f"size={4 * chance.randrange(1, 12)}k,nr_inodes=100k")
        with file.open("wb") as out:
            done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=240)
        wrong = []
        if done.returncode == FULL:
            if "cannot write to standard output: No space left" not in done.stderr:
                wrong.append(f"said: {done.stderr.strip()[-200:]}")
        elif done.returncode != DONE or "Traceback" in done.stderr:
            wrong.append(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        else:
            json.loads(file.read_text())
        tally.add(disks=1, full=int(done.returncode == FULL))
        tally.lost += [f"{words[1]}, {small.given}: {text}" for text in wrong]


def capture(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of a recording: the verdict is printed, and the files are whole."""
    with Lab() as lab:
        host = lab.host("recorded")
        lab.start(host, sys.executable, "-c", PLAYERS)
        while time.monotonic() < until:
            small.empty()
            folder = small.folder / "out"
            small.shrink(chance, 400_000, 8)
            words: Words = [GAMELANE, "capture", "lo", "-o", folder, "--snaplen", "128", "--rotate-size", "64KiB"]
            ended = command(host.command([*words, "--duration", "3s", "--json", "--quiet"]))
            wrong = failed_well(small, ended.code, ended.stderr)
            _, torn, holes = read_pcapng(sorted(folder.glob("*.pcapng")))
            if torn or holes:
                wrong.append(f"{torn} incomplete blocks, {holes} packets are missing in between")
            began = ended.code == FULL and "cannot write to this folder" not in ended.stderr
            if began and (not ended.stdout or json.loads(ended.stdout)["recording"]["packets"] < 1):
                wrong.append(f"no verdict: {ended.stdout[:100]}")
            if folder.exists() and (left := leftovers(folder)):
                wrong.append(f"left behind: {left[0]}")
            tally.add(disks=1, full=int(ended.code == FULL))
            tally.lost += [f"{small.given}: {text}" for text in wrong]


def lab_runs(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of the lab's working files, or of its results."""
    while time.monotonic() < until:
        small.empty()
        working = chance.random() < 0.5
        temporary = small.folder if working else small.place / "tmp"
        temporary.mkdir(exist_ok=True)
        small.shrink(chance, 3_000_000 if working else 150_000, 30)
        folder = small.place / "out" if working else small.folder / "out"
        words: Words = [GAMELANE, "run", *household("--engine", "lab", "--quiet"), "-o", folder]
        ended = command(words, {"TMPDIR": str(temporary)})
        said = ended.stderr
        wrong = failed_well(small, ended.code, said) if not working or ended.code == FULL else []
        if working and (ended.code not in (DONE, FULL, 5) or "Traceback" in said or "bug in" in said):
            wrong.append(f"exit code {ended.code}: {said.strip()[-300:]}")
        wrong += [f"still runs: {orphan}" for orphan in ended.running.orphans()]
        small.room()
        wrong += [f"left behind: {path.name}" for path in temporary.glob("gamelane-lab-*")]
        tally.add(disks=1, full=int(ended.code != DONE))
        tally.lost += [f"{'working files' if working else 'results'}, {small.given}: {text}" for text in wrong]


def certificates(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of certificates: what was there stays, and with room the command goes on."""
    program, folder = str(programs.PROXY.find()), small.folder / "ca"
    while time.monotonic() < until:
        small.empty()
        command([program, "certificates", folder])
        small.shrink(chance, 9_000, 4)
        action = chance.choice([["renew", "near", "far"], ["renew", "near", "--new-key"], ["add", "new", "--far"]])
        ended = command([program, "certificates", action[0], folder, *action[1:]])
        wrong = failed_well(small, ended.code, ended.stderr)
        given = small.given
        small.room()
        again = command([program, "certificates", action[0], folder, *action[1:]])
        if again.code and not (ended.code == DONE and action[0] == "add"):
            wrong.append(f"with room: exit code {again.code}, {again.stderr.strip()[-200:]}")
        for name in ("near", "far"):
            wrong += certificate_fits(folder, name)
        wrong += [f"left behind: {path.name}" for path in folder.iterdir() if path.suffix not in (".pem", ".key")]
        tally.add(disks=1, full=int(ended.code == FULL))
        tally.lost += [f"{' '.join(action)}, {given}: {text}" for text in wrong]


def traffic(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of a match's records: the match goes on, and the exit code is 3 at its end."""
    program, scenario = programs.TRAFFIC.find(), small.place / "match.toml"
    scenario.write_text(MATCH)
    with Lab() as lab:
        host = lab.host("match")
        while time.monotonic() < until:
            small.empty()
            small.shrink(chance, 30_000, 2)
            server = Running(host.command([program, "serve", scenario, "--once"]))
            server.says("listening")
            ended = command(host.command([program, "send", scenario, "-o", small.folder / "here.rec"]))
            wrong = failed_well(small, ended.code, ended.stderr)
            server.hit(Blow(0, (signal.SIGTERM,)))
            wrong += [f"still runs: {orphan}" for orphan in (*server.orphans(), *ended.running.orphans())]
            tally.add(disks=1, full=int(ended.code == FULL))
            tally.lost += [f"{small.given}: {text}" for text in wrong]


def impair_log(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of the log of an impairment: exit code 3, and the interface is as before."""
    program = programs.IMPAIR.find()
    with line(small.place) as between:
        found = between.state(between.player)
        while time.monotonic() < until:
            small.empty()
            small.shrink(chance, 12_000, 2)
            words: Words = [program, "run", "eth0", "--delay", "5ms", "--log", small.folder / "log", "--duration", "3s"]
            running = Running(between.player.command(words))
            running.says("impairing")
            while running.lasts():
                change: Words = [program, "set", "eth0", "--delay", f"{chance.randrange(9)}ms"]
                subprocess.run(between.player.command(change), check=False, capture_output=True)
            ended = running.hit(Blow(0, (signal.SIGTERM,)))
            wrong = failed_well(small, ended.code, ended.stderr)
            if not between.becomes(between.player, found):
                wrong.append("the interface is not as before")
            tally.add(disks=1, full=int(ended.code == FULL))
            tally.lost += [f"{small.given}: {text}" for text in wrong]


def gateway_tap(tally: Tally, chance: Random, until: float, small: Small) -> None:
    """Fill the disk of a gateway's recording: it goes on forwarding, and what is recorded replays identically."""
    program = programs.GATEWAY.find()
    with line(small.place) as between:
        while time.monotonic() < until:
            small.empty()
            small.shrink(chance, 150_000, 6)
            folder = small.folder / "tap"
            tally.lost += [f"{small.given}: {text}" for text in _tapped(between, program, folder, small, tally)]


def _tapped(between: Line, program: Path, folder: Path, small: Small, tally: Tally) -> list[str]:
    words: Words = [
        program,
        "run",
        "--lan",
        "home",
        "--wan",
        "wan",
        between.policy,
        "--tap",
        folder,
        "--listen",
        "none",
    ]
    running = Running(between.bridge.command(words))
    if not running.says("forwarding"):
        ended = running.hit(Blow(0, (signal.SIGTERM,)))
        tally.add(disks=1, full=1)
        return failed_well(small, ended.code, ended.stderr)
    wrong = [] if wait(between.answers) else ["it does not forward"]
    flood: Words = ["ping", "-n", "-q", "-f", "-c", "600", "10.9.0.2"]
    subprocess.run(between.player.command(flood), check=False, capture_output=True, timeout=120)
    if running.process.poll() is not None or not wait(between.answers):
        wrong.append("it stopped to forward when its disk was full")
    ended = running.hit(Blow(0, (signal.SIGTERM,)))
    is_full = "the recording ended early" in ended.stderr
    if ended.code != DONE or "panicked" in ended.stderr:
        wrong.append(f"exit code {ended.code}: {ended.stderr.strip()[-200:]}")
    small.room()
    again = command([program, "replay", folder])
    if again.code not in (DONE, 2) or (again.code == 2 and not is_full):
        wrong.append(f"replay: exit code {again.code}: {(again.stdout + again.stderr).strip()[-200:]}")
    tally.add(disks=1, full=int(is_full))
    return wrong


SUBJECTS: list[tuple[str, Callable[[Tally, Random, float, Small], None]]] = [
    *((f"`gamelane {writer.name}`", _of(writer)) for writer in WRITERS),
    ("`gamelane sweep`", sweep),
    ("`gamelane report`", report),
    ("`gamelane run --json >FILE`", stdout),
    ("`gamelane capture`", capture),
    ("`gamelane run --engine lab`", lab_runs),
    ("`gamelane-proxy certificates`", certificates),
    ("`gamelane-traffic`", traffic),
    ("`gamelane-impair --log`", impair_log),
    ("`gamelane-gateway --tap`", gateway_tap),
]
