"""`gamelane measure`: measures the line to another host, idle and loaded."""

from __future__ import annotations

import json as texts
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from gamelane import _native, experiment, live, programs, quantity, whole
from gamelane.advise import household, measured
from gamelane.advise import promised as promise
from gamelane.advise.measured import Measured
from gamelane.advise.promised import Promised
from gamelane.analysis import bottleneck, line
from gamelane.errors import ExitCode, LabError, RecordsError, UsageError
from gamelane.foreign import joined
from gamelane.report import proof
from gamelane.report.measure import document, show
from gamelane.report.sparkline import sparkline
from gamelane.report.write import write_report
from gamelane.terminal.stopping import Stop, stopping
from gamelane.terminal.talk import emit, printing, say, say_where, stdout, writable

SHORTEST, LONGEST = 8, 600
"""Allowed lengths in seconds, as `gamelane-traffic measure` has them."""


def measure(
    host: str | None,
    key: Path | None,
    duration: str | None,
    streams: int | None,
    congestion: str | None,
    seed: int | None,
    compare: Path | None,
    imported: Sequence[Path],
    out: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Measure, report, and write records if a folder is given. A comparison loads the line as the earlier one did."""
    earlier = None if compare is None else measured.read(compare)
    promised = None if compare is None else promise.read(compare)
    before = Before(earlier, promised) if earlier else None
    folder = None if out is None else writable(out)
    if imported:
        live_only = {"HOST": host, "--key": key, "--duration": duration, "--streams": streams}
        given = [name for name, value in (live_only | {"--congestion": congestion, "--seed": seed}).items() if value]
        if given:
            raise UsageError(f"--import: {given[0]} is for a measurement, not for files\n  hint:    leave out one")
        _import(imported, folder, before, json=json, quiet=quiet)
        return
    if host is None:
        raise UsageError("measure: no HOST\n  allowed: a host that runs `gamelane serve`, or --import FILE")
    usual = earlier.plan if earlier and earlier.plan else household.USUAL
    seconds = usual.seconds if duration is None else quantity.parse(duration, "s")
    if seconds is None or not SHORTEST <= seconds <= LONGEST:
        raise UsageError(f"--duration {duration}: not a length of a measurement\n  allowed: {SHORTEST}s to {LONGEST}s")
    words = [host, "--seconds", str(math.ceil(seconds)), "--streams", str(streams or usual.streams)]
    words += ["--seed", str(usual.seed if seed is None else seed)]
    words += ["--key", str(key)] if key else []
    words += ["--congestion", congestion or usual.congestion] if congestion or usual.congestion else []
    with TemporaryDirectory(prefix="gamelane-measure-") as raw, stopping() as stop:
        ended = _run([*words, "--output", raw], stop, quiet=quiet)
        _report(Path(raw), ended, host, folder, before, json=json, quiet=quiet)
    if ended["stopped"]:
        say(f"stopped early: phases {', '.join(each['phase'] for each in ended['phases'])} were measured")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    if ended.get("failed"):  # The program has said why.
        kept = [each["phase"] for each in ended["phases"]]
        missing = [name for name in line.PHASES if name not in kept]
        say(f"kept: {', '.join(kept)}; missing: {', '.join(missing)}, the server's losses and one-way delays")
        raise click.exceptions.Exit(ExitCode.PEER)


def _import(files: Sequence[Path], folder: Path | None, before: Before | None, *, json: bool, quiet: bool) -> None:
    with TemporaryDirectory(prefix="gamelane-measure-") as raw:
        ended, host, notes = joined.write(files, Path(raw))
        for note in notes:
            say(f"note: {note}")
        _report(Path(raw), ended, host, folder, before, json=json, quiet=quiet)


def _run(words: Sequence[str], stop: Stop, *, quiet: bool) -> dict[str, Any]:
    """Run the program, show its progress on a terminal, and return its last line."""
    program = [str(programs.TRAFFIC.find()), "measure", *words]
    shows = not quiet and sys.stderr.isatty()
    trips: list[float] = []
    last: dict[str, Any] = {}
    told = False
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for text in child.stdout:
            before, last = last, texts.loads(text)
            if stop.asked and not told:
                child.send_signal(signal.SIGTERM)
                told = True
            if shows and "t_s" in last:
                trips.append(last["rtt_ms"])
                sys.stderr.write("\r" + _progress(before, last, trips) + "\x1b[K")
                sys.stderr.flush()
    if shows and trips:
        sys.stderr.write("\r\x1b[K")
    if child.returncode < 0:
        raise LabError(f"gamelane-traffic was ended by {signal.Signals(-child.returncode).name}")
    if child.returncode != 0 and not last.get("failed"):  # The program has said why.
        raise click.exceptions.Exit(child.returncode)
    return last


def _progress(before: dict[str, Any], now: dict[str, Any], trips: list[float]) -> str:
    """Return a line of less than 80 columns: time, phase, rates, and the newest round trips."""
    passed = now["t_s"] - before.get("t_s", 0.0) or 1.0
    up, down = (8e-6 * (now[key] - before.get(key, 0)) / passed for key in ("up_bytes", "down_bytes"))
    newest = trips[-20:]
    drawn = sparkline(newest, 1, max(*newest, 1.0), ascii_only=not (sys.stderr.encoding or "").startswith("utf"))
    rates = f"up {up:6.1f} down {down:6.1f} Mbit/s"
    return f"{now['t_s']:4.0f} s {now['phase']:4} {rates}  rtt {now['rtt_ms']:6.1f} ms {drawn}"


@dataclass(frozen=True)
class Before:
    """What a measurement is compared with."""

    measured: Measured
    promised: Promised | None


def _report(
    raw: Path, ended: dict[str, Any], host: str, folder: Path | None, before: Before | None, *, json: bool, quiet: bool
) -> None:
    client, server = raw / "client.rec", raw / "server.rec"
    if not client.stat().st_size and not ended.get("imported"):
        raise RecordsError(f"{host}: no packet was sent, so there is nothing to report")
    known = server.exists() and (ended.get("aligned") or ended["same_clock"] or ended["clocks"] is not None)
    files = [np.fromfile(path, line.RECORD) for path in ((client, server) if known else (client,))]
    spans = [(each["phase"], each["from_s"], each["to_s"]) for each in ended["phases"]]
    found = line.phases(files[0], files[1] if known else None, spans)
    grades = [line.grade(phase) for phase in found]
    link = bottleneck.link(files[0], files[1], spans) if known else None
    told = document(host, ended, found, grades, link)
    compared = None if before is None else proof.Proof(before.measured, before.promised, found)
    if compared is not None:
        told["compared"] = proof.document(compared)
    clock = CLOCK.format(ended["clocks"]["uncertainty_ms"]) if ended["clocks"] else ""
    if folder is not None:
        text = (raw / "scenario.toml").read_text(encoding="utf-8")
        scenario = _native.Scenario.parse(text, "gamelane measure", _line_of(found))
        played = experiment.Experiment(scenario, "gamelane measure")
        command = ("gamelane", "measure", host)
        results = live.results(played, client, server if known else None, seed=scenario.seed, command=command)
        loads = FOREIGN if ended.get("imported") else LOADS
        caveats = (loads, clock) if clock else (loads,)
        variant = results.only
        flows = tuple(replace(flow, caveats=(*flow.caveats, *caveats)) for flow in variant.flows)
        results = replace(results, variants=(replace(variant, flows=flows),))
        results.write(folder)
        page = write_report(results, folder)
        whole.replace(folder / measured.FILE, whole.document(told))
        if compared is not None:
            page = proof.write_page(folder / "compare", compared)
    with printing():
        if json:
            emit(told)
        else:
            show(found, grades, clock, stdout())
            if compared is not None:
                proof.show(compared, stdout())
    if folder is not None:
        say_where(page, quiet=quiet)


LOADS = "A load's packets are its receiver's reads, not packets of the network; its bytes are payload."
FOREIGN = "Imported from files of other programs. A load's packets are parts of its intervals, not of the network."
CLOCK = (
    "The clocks of the two ends differ. One-way delays may be wrong by up to {:.2f} ms, half of the least round trip."
)


def _line_of(found: Sequence[line.Phase]) -> list[tuple[str, str]]:
    """Return the link as it was measured, as keys of the scenario. What is unknown keeps its placeholder."""
    keys = []
    for way, name in (("up", "up"), ("down", "down")):
        rate = next((getattr(phase, way).mbps for phase in found if phase.name == name), None)
        if rate:
            keys.append((f"link.{way}", f"{max(round(1000 * rate), 1)}kbit"))
    idle = next((phase.rtt_ms for phase in found if phase.name == "idle"), None)
    if idle:
        keys.append(("link.rtt", f"{round(1000 * idle['p50'])}us"))
    return keys
