"""Kills of every program at random moments: files are whole or absent, nothing is left behind, the next start works."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.command import GAMELANE
from tests.cli.files import leftovers, listed, whole

from gamelane.sweep import journal
from gamelane.whole import PREFIX

from .killing import ROOT, Ended, Running, blow
from .ledger import Tally

CAPTURES = ROOT / "tests" / "captures"
COMPLETED = 0.25
"""Share of the kills after which the command runs to its end, in what the kill left."""
KINDS = (".parquet", ".json", ".html", ".svg", ".png")
DONE, INTERRUPTED = 0, 130
SAID = re.compile("interrupted|finished|tried|judged|records:")
"""What a command says when it was interrupted. A second signal may end Python while it exits (docs/exit-codes.md)."""


def run(seconds: float, seed: int) -> Iterator[Tally]:
    """Kill all programs in turn, each for an equal part of `seconds`."""
    from . import kills_live  # noqa: PLC0415 - it takes the checks of this module

    subjects: list[tuple[str, Callable[[Tally, Random, float, Path], None]]] = [
        *((f"`gamelane {writer.name}`", writer.campaign) for writer in WRITERS),
        ("`gamelane sweep`", sweep),
        ("`gamelane-proxy certificates`", certificates),
        *kills_live.SUBJECTS,
    ]
    for name, campaign in subjects:
        tally = Tally("kills", name)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="gamelane-kills-") as place:
            campaign(tally, Random(f"{seed} {name}"), began + seconds / len(subjects), Path(place))
        yield tally


@dataclass(frozen=True)
class Reference:
    """What a command writes if nothing disturbs it."""

    identity: Any
    names: frozenset[str]
    digests: dict[str, str]
    """Of the files whose bytes depend on the input only."""
    took_s: float


@dataclass(frozen=True)
class Writer:
    """A command that writes a folder. Two inputs take turns in one folder, so that a mixture of their files shows."""

    name: str
    inputs: tuple[tuple[str, ...], tuple[str, ...]]
    document: str
    """The file that says that the others belong together."""
    identity: Callable[[dict[str, Any]], Any]
    """What the document says about the input."""
    finished: Callable[[dict[str, Any]], bool] = lambda _: True
    """Whether the document is of a command that nobody interrupted. Then its files are those of the reference."""

    def words(self, at: int, folder: Path) -> list[str]:
        """Return the command line."""
        return [GAMELANE, *self.inputs[at], "-o", str(folder), "--quiet"]

    def campaign(self, tally: Tally, chance: Random, until: float, place: Path) -> None:
        """Kill it until the time is over."""
        references = [self.reference(at, place / "out") for at in range(len(self.inputs))]
        folder, torn = place / "out", False
        while time.monotonic() < until:
            at = chance.randrange(len(self.inputs))
            before = snapshot(folder)
            ended = Running(self.words(at, folder)).kill(blow(chance, 1.1 * references[at].took_s))
            torn |= ended.blow.hard
            wrong = command_ended(ended, snapshot(folder) == before)
            wrong += self.state(folder, references, torn=torn, had=self.document in before)
            if not ended.blow.hard and (left := set(leftovers(folder)) - set(before)):
                wrong.append(f"left behind: {min(left)}")
            tally.add(kills=1, second_signals=len(ended.blow.signals) - 1)
            tally.lost += [f"{ended.blow}: {text}" for text in wrong]
            if chance.random() < COMPLETED or wrong:
                at = chance.randrange(len(self.inputs))
                tally.lost += [f"{ended.blow}, then again: {text}" for text in self.complete(at, folder, references)]
                tally.add(next_starts=1)
                torn = False

    def reference(self, at: int, folder: Path) -> Reference:
        """Run it once. All files but the document, which names host and cost, depend on the input only."""
        shutil.rmtree(folder, ignore_errors=True)
        began = time.monotonic()
        subprocess.run(self.words(at, folder), check=True, capture_output=True, timeout=240)
        took = time.monotonic() - began
        found = digests(folder)
        identity = self.identity(json.loads((folder / self.document).read_text()))
        same = {name: digest for name, digest in found.items() if name != self.document}
        return Reference(identity, frozenset(found), same, took)

    def complete(self, at: int, folder: Path, references: Sequence[Reference]) -> list[str]:
        """Run it to the end. Return what differs from a run that nothing disturbed."""
        done = subprocess.run(self.words(at, folder), check=False, capture_output=True, text=True, timeout=240)
        if done.returncode:
            return [f"exit code {done.returncode}: {done.stderr.strip()[:200]}"]
        wrong = [f"left behind: {name}" for name in leftovers(folder)]
        found = digests(folder)
        wrong += [f"{name} is missing" for name in sorted(references[at].names - set(found))]
        return wrong + self.state(folder, references, torn=False, had=True)

    def state(self, folder: Path, references: Sequence[Reference], *, torn: bool, had: bool) -> list[str]:
        """Return what is wrong with a folder. After SIGKILL (`torn`) the document may be absent."""
        if damaged := torn_files(folder):
            return damaged
        if not (folder / self.document).exists():
            return [f"{self.document} is gone"] if had and not torn else []
        document = json.loads((folder / self.document).read_text())
        identity = self.identity(document)
        of = next((each for each in references if each.identity == identity), None)
        if of is None:
            return [f"{self.document} is of no input: {identity}"]
        found = digests(folder)
        differ = [name for name, digest in found.items() if of.digests.get(name, digest) != digest]
        wrong = differ if self.finished(document) else []
        wrong += sorted(set(found) - of.names)
        return [f"{self.document} is of one input, and {wrong[0]} of another"] if wrong else []


def torn_files(folder: Path) -> list[str]:
    """Return which files are torn, or not as the manifest lists them. SIGKILL may leave a part of a temporary one."""
    wrong = []
    for path in folder.rglob("*"):
        if PREFIX not in str(path.relative_to(folder)):
            try:
                whole(path)
            except Exception as error:
                wrong.append(f"{path.relative_to(folder)} is not whole: {error!r}"[:300])
    try:
        listed(folder)
    except Exception as error:
        wrong.append(f"not as listed: {error!r}"[:300])
    return wrong


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every finished file of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.suffix in KINDS and PREFIX not in str(path)
    }


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of change of everything in a folder."""
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def command_ended(ended: Ended, unchanged: bool) -> list[str]:
    """Return what is wrong with the way a `gamelane` command ended."""
    wrong = list(ended.wrong)
    if orphans := ended.running.orphans():
        wrong.append(f"still runs: {orphans[0]}")
    said = ended.stderr
    if "bug in gamelane" in said or ("Traceback" in said and not in_start_of_python(said)):
        wrong.append(f"said: {said.strip()[-300:]}")
    by_itself = {-number for number in ended.blow.signals}
    allowed = {DONE, INTERRUPTED, *by_itself}
    if ended.code not in allowed and not in_start_of_python(said):
        wrong.append(f"exit code {ended.code}: {said.strip()[-200:]}")
    elif ended.code in by_itself and not ended.blow.hard and not (unchanged or ended.stdout or SAID.search(said)):
        wrong.append(f"the signal ended it amid its work, exit code {ended.code}")
    elif ended.code == INTERRUPTED and not SAID.search(said):
        wrong.append(f"it was interrupted, and said: {said.strip()[-200:]!r}")
    return wrong


def in_start_of_python(said: str) -> bool:
    """Whether Python was interrupted before it had reached the command (docs/exit-codes.md)."""
    files = re.findall(r'File "([^"]+)"', said)
    own = [file for file in files if "/gamelane/" in file and not file.endswith(("/__init__.py", "/__main__.py"))]
    return "KeyboardInterrupt" in said and not own


def household(*words: str) -> tuple[str, ...]:
    """Return a short run of the shipped household."""
    return ("household", "--set", "duration=1s", *words)


WAN, GAME = str(CAPTURES / "thin-tcp-wan-srv.pcapng.gz"), str(CAPTURES / "openarena-2p-srv-headers.pcapng.gz")

WRITERS = (
    Writer(
        "run -o",
        (
            ("run", *household("--repeat", "3")),
            ("run", *household("--pcap", "--variant", "fifo:gateway.up.queue=fifo")),
        ),
        "manifest.json",
        lambda document: document["command"],
    ),
    Writer(
        "analyze -o",
        (("analyze", WAN, "--shared-paths"), ("analyze", GAME)),
        "analysis.json",
        lambda document: document["captures"][0]["file"],
    ),
    Writer(
        "replay -o",
        (("replay", WAN, "--loss", "1%"), ("replay", WAN, "--rtt", "40ms")),
        "manifest.json",
        lambda document: document["command"],
    ),
    Writer(
        "tune -o",
        (
            ("tune", *household("--trials", "4", "--repeat", "1")),
            ("tune", *household("--trials", "3", "--repeat", "2")),
        ),
        "tune.json",
        lambda document: document["seeds"],
    ),
    Writer(
        "remedies -o",
        (("remedies", "--loss", "2", "--repeat", "1"), ("remedies", "--loss", "1", "--repeat", "2")),
        "remedies.json",
        lambda document: document["seeds"],
    ),
    Writer(
        "reproduce -o",
        (("reproduce", "palazzi-voap", "--repeat", "1"), ("reproduce", "burriss2006", "--repeat", "1")),
        "claims.json",
        lambda document: list(document["papers"]),
        lambda document: all(len(of["claims"]) == of["planned_claims"] for of in document["papers"].values()),
    ),
)

SWEEP = """name = "killed"
base = "household"
repeats = 3
[set]
"duration" = "1s"
[axes]
"gateway.*.queue" = ["fifo", "pie", "codel", "fq_codel"]
"link.rtt" = ["10ms", "40ms"]
"""


def sweep(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill a sweep until it is finished, and then begin another. Finished runs stay, and the table is the same."""
    file = place / "killed.toml"
    file.write_text(SWEEP)
    words = [GAMELANE, "sweep", str(file), "-o"]
    began = time.monotonic()
    folder = place / "out"  # the report has its name
    subprocess.run([*words, str(folder)], check=True, capture_output=True, timeout=240)
    took = time.monotonic() - began
    wanted = digests(folder)
    while time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        kept: set[str] = set()
        code = -1
        while code != DONE and time.monotonic() < until:
            before = snapshot(folder)
            ended = Running([*words, str(folder)]).kill(blow(chance, took))
            code = ended.code
            wrong = command_ended(ended, snapshot(folder) == before)
            if not ended.blow.hard and (left := set(leftovers(folder)) - set(before)):
                wrong.append(f"left behind: {min(left)}")
            found = {done.id for done in journal.read(folder / "journal.jsonl") if done is not None}
            if gone := kept - found:
                wrong.append(f"{len(gone)} finished runs are gone")
            kept |= found
            wrong += torn_files(folder)
            tally.add(kills=1, second_signals=len(ended.blow.signals) - 1)
            tally.lost += [f"{ended.blow}: {text}" for text in wrong]
        if code == DONE:
            tally.add(sweeps_finished=1)
            found_files = digests(folder)
            differ = [name for name, digest in wanted.items() if found_files.get(name) != digest]
            if differ or leftovers(folder):
                tally.lost.append(f"a finished sweep differs in {differ}, and left {leftovers(folder)}")


def certificates(tally: Tally, chance: Random, until: float, place: Path) -> None:
    """Kill `init`, `add`, `renew`, `authority` and `retire`: the folder stays usable, and keys fit certificates."""
    from gamelane import programs  # noqa: PLC0415 - only this subject needs it

    program = str(programs.PROXY.find())
    began = time.monotonic()
    subprocess.run([program, "certificates", str(place / "timed")], check=True, capture_output=True, timeout=60)
    took = time.monotonic() - began
    folder = place / "ca"
    subprocess.run([program, "certificates", str(folder)], check=True, capture_output=True, timeout=60)
    names = ["near", "far"]
    while time.monotonic() < until:
        name = f"end{tally.counts.get('kills', 0)}"
        action = chance.choice(
            [["renew", "near", "far"], ["renew", "near", "far", "--new-key"], ["add", name, "--near"], ["authority"]]
        )
        words = [program, "certificates", action[0], str(folder), *action[1:]]
        ended = Running(words).kill(blow(chance, 2 * took))
        wrong = list(ended.wrong)
        if ended.code not in (DONE, 2, *(-number for number in ended.blow.signals)):
            wrong.append(f"exit code {ended.code}: {ended.stderr.strip()[-200:]}")
        again = [["renew", str(folder), *names], ["retire", str(folder)]] if action[0] == "authority" else []
        if action[0] == "add" and (folder / f"{name}.pem").exists() != (folder / f"{name}.key").exists():
            again.append(["add", str(folder), name, "--near"])
        again.append(["renew", str(folder), "near", "far"])
        for each in again:
            done = subprocess.run(
                [program, "certificates", *each], check=False, capture_output=True, text=True, timeout=60
            )
            # The start of the next command may have completed the files of the killed one; then they are there already.
            complete = each[0] == "add" and "File exists" in done.stderr and not certificate_fits(folder, name)
            if done.returncode and each[0] != "retire" and not complete:
                wrong.append(f"then {each[0]}: exit code {done.returncode}: {done.stderr.strip()[:200]}")
        for end in names:
            wrong += certificate_fits(folder, end)
        wrong += [f"left behind: {path.name}" for path in folder.iterdir() if path.suffix not in (".pem", ".key")]
        for path in folder.glob(f"{name}.*"):
            path.unlink()
        tally.add(kills=1, second_signals=len(ended.blow.signals) - 1)
        tally.lost += [f"{' '.join(action)}, {ended.blow}: {text}" for text in wrong]


def certificate_fits(folder: Path, name: str) -> list[str]:
    """Check by openssl that a certificate is of the authority, and its key belongs to it."""

    def openssl(*words: str | Path) -> str:
        done = subprocess.run(["openssl", *map(str, words)], check=False, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else f"failed: {done.stderr.strip()[-200:]}"

    said = openssl("verify", "-CAfile", folder / "authority.pem", folder / f"{name}.pem")
    if not said.strip().endswith("OK"):
        return [f"{name}.pem: {said}"]
    public = openssl("x509", "-in", folder / f"{name}.pem", "-noout", "-pubkey")
    if public != openssl("pkey", "-in", folder / f"{name}.key", "-pubout"):
        return [f"{name}.key does not belong to {name}.pem"]
    return []
