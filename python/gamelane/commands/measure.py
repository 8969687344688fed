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
from gamelane.advise.measured import Measured, Plan, Sold
from gamelane.advise.promised import Promised
from gamelane.analysis import bottleneck, line
from gamelane.catalogue import REAL_TIME
from gamelane.errors import ExitCode, LabError, RecordsError, UsageError
from gamelane.foreign import driven, joined
from gamelane.records.results import Flow
from gamelane.report import proof
from gamelane.report.measure import clock, document, show
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
    sold: str | None,
    compare: Path | None,
    imported: Sequence[Path],
    by: str | None,
    out: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Measure, report, and write records if a folder is given. A comparison loads the line as the earlier one did."""
    bought = None if sold is None else Sold.named(sold)
    earlier = None if compare is None else measured.read(compare)
    promised = None if compare is None else promise.read(compare)
    beside = Beside(earlier, promised, bought)
    folder = None if out is None else writable(out)
    options = {
        "--key": key,
        "--duration": duration,
        "--streams": streams,
        "--congestion": congestion,
        "--seed": seed,
        "--plan": sold,
        "--compare": compare,
        "--by": by,
        **{f"--import {place}": file for place, file in enumerate(imported)},
        "-o": out,
    }
    typed = _typed(host, options)
    if imported:
        live_only = {"HOST": host, "--by": by, "--key": key, "--duration": duration, "--streams": streams}
        _refuse("--import", "a measurement, not for files", live_only | {"--congestion": congestion, "--seed": seed})
        with TemporaryDirectory(prefix="gamelane-measure-") as raw:
            _import(imported, Path(raw), {}, typed, folder, beside, json=json, quiet=quiet)
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
        _drive(host, by, plan, typed, folder, beside, json=json, quiet=quiet)
        return
    words = [host, "--seconds", str(plan.seconds), "--streams", str(plan.streams), "--seed", str(plan.seed)]
    words += ["--key", str(key)] if key else []
    words += ["--congestion", plan.congestion] if plan.congestion else []
    with TemporaryDirectory(prefix="gamelane-measure-") as raw, stopping() as stop:
        with Shown(plan.seconds, quiet=quiet) as shown:
            ended = _run([*words, "--output", raw], stop, shown)
        _report(Path(raw), ended, host, typed, folder, beside, json=json, quiet=quiet)
    _leave(ended, "the server's losses and one-way delays")


def _typed(host: str | None, options: dict[str, Any]) -> tuple[str, ...]:
    """Return the command with the options that were given. A repeated one has a number behind its name."""
    words = ["gamelane", "measure", *([host] if host else [])]
    for name, value in options.items():
        if value is not None:
            words += [name.split()[0], str(value)]
    return tuple(words)


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
    typed: tuple[str, ...],
    folder: Path | None,
    beside: Beside,
    *,
    json: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Report the files of other programs; return how the measurement ended, with `more`."""
    ended, host, notes = joined.write(files, raw)
    for note in notes:
        say(f"note: {note}")
    _report(raw, ended | more, host, typed, folder, beside, json=json, quiet=quiet)
    return ended | more


def _drive(
    host: str,
    by: str,
    plan: Plan,
    typed: tuple[str, ...],
    folder: Path | None,
    beside: Beside,
    *,
    json: bool,
    quiet: bool,
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
        ended = _import(others.files, Path(raw), more, typed, folder, beside, json=json, quiet=quiet)
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
class Beside:
    """What a measurement is compared with."""

    earlier: Measured | None
    promised: Promised | None
    sold: Sold | None


def _report(
    raw: Path,
    ended: dict[str, Any],
    host: str,
    typed: tuple[str, ...],
    folder: Path | None,
    beside: Beside,
    *,
    json: bool,
    quiet: bool,
) -> None:
    client, server = raw / "client.rec", raw / "server.rec"
    if not client.stat().st_size and not ended.get("imported"):
        raise RecordsError(f"{host}: no packet was sent, so there is nothing to report")
    known = server.exists() and (ended.get("aligned") or ended["same_clock"] or ended["clocks"] is not None)
    files = [np.fromfile(path, line.RECORD) for path in ((client, server) if known else (client,))]
    spans = [(each["phase"], each["from_s"], each["to_s"]) for each in ended["phases"]]
    found = line.phases(files[0], files[1] if known else None, spans)
    link = bottleneck.link(files[0], files[1], spans) if known else None
    plan = Plan(**ended["plan"]) if ended.get("plan") else None
    of = Measured(
        host,
        found,
        line.bufferbloat_ms(found),
        None,
        plan,
        link,
        stopped=ended["stopped"],
        failed=ended.get("failed"),
        imported=ended.get("imported"),
        clocks=ended["clocks"],
        limit_mbit=ended.get("limit_mbit"),
        sold=beside.sold,
        host_congestion=measured.own_control() if plan else None,
    )
    of = replace(of, grade=line.bufferbloat_letter(of.whole))
    told = document(of, ended, [line.grade(phase) for phase in found], link)
    compared = None if beside.earlier is None else proof.Proof(beside.earlier, beside.promised, of.whole)
    if compared is not None:
        told["compared"] = proof.document(compared)
    if folder is not None:
        text = (raw / "scenario.toml").read_text(encoding="utf-8")
        scenario = _native.Scenario.parse(text, "gamelane measure", _line_of(found))
        played = experiment.Experiment(scenario, "gamelane measure")
        results = live.results(played, client, server if known else None, seed=scenario.seed, command=typed)
        variant = results.only
        caveats = tuple(filter(None, (FOREIGN if ended.get("imported") else LOADS, clock(of))))
        flows = tuple(_told(flow, ended, caveats) for flow in variant.flows)
        results = replace(results, variants=(replace(variant, flows=flows),))
        results.write(folder)
        page = write_report(results, folder, of)
        whole.replace(folder / measured.FILE, whole.document(told))
        if compared is not None:
            page = proof.write_page(folder / "compare", compared)
    with printing():
        if json:
            emit(told)
        else:
            show(of, stdout())
            if compared is not None:
                proof.show(compared, stdout())
    if folder is not None:
        say_where(page, quiet=quiet)
        if link is not None and compared is None and told["grade"] not in FINE and not quiet:
            say(f"next: {shlex.join(['gamelane', 'advise', str(folder)])}")


def _told(flow: Flow, ended: dict[str, Any], caveats: tuple[str, ...]) -> Flow:
    """Return a flow with what is to be said of it. An imported one is none of our models, nor recorded by us."""
    if not ended.get("imported"):
        return replace(flow, caveats=(*flow.caveats, *caveats))
    if flow.name == joined.PROBE:
        return replace(flow, app=REAL_TIME, label=f"packets of {ended['probes']}", caveats=caveats)
    return replace(flow, caveats=caveats)


FINE = ("A+", "A")
"""Grades of lines that need no advice."""
LOADS = "A load's packets are its receiver's reads, not packets of the network; its bytes are payload."
FOREIGN = (
    "Imported from files of other programs, not recorded by gamelane. "
    "A load's packets are parts of its intervals, not of the network."
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
