"""`gamelane measure`: measures the line to another host, idle and loaded."""

from __future__ import annotations

import json as texts
import math
import shlex
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from gamelane import _native, experiment, live, programs, quantity, whole
from gamelane.advise import household, measured
from gamelane.advise import promised as promise
from gamelane.advise.measured import Measured, Plan
from gamelane.advise.promised import Promised
from gamelane.analysis import bottleneck, line
from gamelane.errors import ExitCode, LabError, RecordsError, UsageError
from gamelane.foreign import driven, joined
from gamelane.report import proof
from gamelane.report.measure import document, show
from gamelane.report.write import write_report
from gamelane.terminal.measuring import Shown
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
    by: str | None,
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
        live_only = {"HOST": host, "--by": by, "--key": key, "--duration": duration, "--streams": streams}
        _refuse("--import", "a measurement, not for files", live_only | {"--congestion": congestion, "--seed": seed})
        with TemporaryDirectory(prefix="gamelane-measure-") as raw:
            _import(imported, Path(raw), {}, folder, before, json=json, quiet=quiet)
        return
    if host is None:
        raise UsageError("measure: no HOST\n  allowed: a host that runs `gamelane serve`, or --import FILE")
    usual = earlier.plan if earlier and earlier.plan else household.USUAL
    seconds = usual.seconds if duration is None else quantity.parse(duration, "s")
    shortest = driven.SHORTEST_S if by else SHORTEST
    if seconds is None or not shortest <= seconds <= LONGEST:
        given = f"--duration {duration}" if duration else f"{compare}: a measurement of {seconds:g} s"
        hint = "" if duration else "\n  hint:    --duration chooses another length"
        raise UsageError(f"{given}: not a length of a measurement\n  allowed: {shortest}s to {LONGEST}s{hint}")
    plan = Plan(
        math.ceil(seconds),
        streams or usual.streams,
        congestion or usual.congestion,
        usual.seed if seed is None else seed,
    )
    if by:
        _refuse("--by", "`gamelane serve`", {"--key": key, "--seed": seed})
        _drive(host, by, plan, folder, before, json=json, quiet=quiet)
        return
    words = [host, "--seconds", str(plan.seconds), "--streams", str(plan.streams), "--seed", str(plan.seed)]
    words += ["--key", str(key)] if key else []
    words += ["--congestion", plan.congestion] if plan.congestion else []
    with TemporaryDirectory(prefix="gamelane-measure-") as raw, stopping() as stop:
        with Shown(plan.seconds, quiet=quiet) as shown:
            ended = _run([*words, "--output", raw], stop, shown)
        _report(Path(raw), ended, host, folder, before, json=json, quiet=quiet)
    _leave(ended, "the server's losses and one-way delays")


def _leave(ended: dict[str, Any], also_missing: str = "") -> None:
    """Exit with the code of a measurement that ended early. The program has said why it failed."""
    kept = [each["phase"] for each in ended["phases"]]
    if ended["stopped"]:
        say(f"stopped early: phases {', '.join(kept)} were measured")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    if ended.get("failed"):
        missing = [name for name in line.PHASES if name not in kept]
        say(f"kept: {', '.join(kept)}; missing: {', '.join([*missing, also_missing] if also_missing else missing)}")
        raise click.exceptions.Exit(ExitCode.PEER)


def _refuse(option: str, purpose: str, others: dict[str, Any]) -> None:
    """Refuse an option beside one that excludes it."""
    for name, value in others.items():
        if value is not None:
            raise UsageError(f"{option}: {name} is for {purpose}\n  hint:    leave out one")


def _import(
    files: Sequence[Path],
    raw: Path,
    more: dict[str, Any],
    folder: Path | None,
    before: Before | None,
    *,
    json: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Report the files of other programs; return how the measurement ended, with `more`."""
    ended, host, notes = joined.write(files, raw)
    for note in notes:
        say(f"note: {note}")
    _report(raw, ended | more, host, folder, before, json=json, quiet=quiet)
    return ended | more


def _drive(
    host: str, by: str, plan: Plan, folder: Path | None, before: Before | None, *, json: bool, quiet: bool
) -> None:
    """Measure by other programs."""
    with TemporaryDirectory(prefix="gamelane-measure-") as raw, stopping() as stop:
        with Shown(plan.seconds, quiet=quiet) as shown:

            def on_progress(t_s: float, phase: str, rtt_ms: float) -> None:
                shown.show({"t_s": t_s, "phase": phase, "rtt_ms": rtt_ms})

            others = driven.Driven(host, driven.ports(by), plan, Path(raw), lambda: stop.asked, on_progress)
            others.run()
        if others.failed:
            say(f"error: {host}: {others.failed}")
        if not others.files:
            raise click.exceptions.Exit(ExitCode.INTERRUPTED if stop.asked else ExitCode.PEER)
        more = {"stopped": stop.asked, "failed": others.failed, "plan": asdict(plan)}
        ended = _import(others.files, Path(raw), more, folder, before, json=json, quiet=quiet)
    _leave(ended)


def _run(words: Sequence[str], stop: Stop, shown: Shown) -> dict[str, Any]:
    """Run the program, show its progress on a terminal, and return its last line."""
    program = [str(programs.TRAFFIC.find()), "measure", *words]
    last: dict[str, Any] = {}
    told = False
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for text in child.stdout:
            last = texts.loads(text)
            if stop.asked and not told:
                child.send_signal(signal.SIGTERM)
                told = True
            if "t_s" in last:
                shown.show(last)
    if child.returncode < 0:
        raise LabError(f"gamelane-traffic was ended by {signal.Signals(-child.returncode).name}")
    if child.returncode != 0 and not last.get("failed"):  # The program has said why.
        raise click.exceptions.Exit(child.returncode)
    return last


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
        if link is not None and compared is None and told["grade"] not in FINE and not quiet:
            say(f"next: {shlex.join(['gamelane', 'advise', str(folder)])}")


FINE = ("A+", "A")
"""Grades of lines that need no advice."""
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
