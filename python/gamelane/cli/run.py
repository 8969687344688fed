"""`gamelane run`: one scenario, or variants of it; table, JSON, records, report."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gamelane import _native, experiment, host
from gamelane.cli.engines import LAB, engines, lab
from gamelane.cli.talk import emit, progress, say, stdout, writable
from gamelane.cli.variants import overrides, variants
from gamelane.errors import Interrupted, OutputError, UsageError
from gamelane.experiment import Experiment, Hooks
from gamelane.records import overlay
from gamelane.records.results import ALONE, Results
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.report.write import write_report
from gamelane.runner import Job


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    scenario: Annotated[
        str, typer.Argument(help="A TOML file, or the name of a shipped scenario.", show_default=False)
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. link.up=2mbit. Repeatable."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="KEY=A,B,…", help="One variant per value, e.g. 'gateway.*.queue=fifo,pie,fq_codel'."),
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME:KEY=VALUE,…",
            help="A variant of its own, or more keys for one of --compare: 'fifo:gateway.*.limit=100p'. Repeatable.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs, with seeds counting up; intervals need 2.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="First seed.", show_default="the scenario's")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at a time.", show_default="all cores")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="sim: simulate; lab: real hosts in namespaces, in real time (docs/lab.md); sim,lab: both, in one "
            "report. `gamelane doctor` says what they need.",
        ),
    ] = "sim",
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write records, report.html and figures/ there."),
    ] = None,
    pcap: Annotated[
        bool,
        typer.Option(
            "--pcap", help="With -o: write what passed both sides of the gateway, and the servers, as pcapng."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Run a scenario: table on the terminal; with -o an HTML report, figures and records."""
    named_engines = engines(engine)
    if pcap and out is None:
        raise UsageError("--pcap needs a folder to write to\n  hint:    add -o DIR")
    chosen = _load(scenario, overrides(settings or []), seed)
    compared = variants(compare, named or [])
    folder = None if out is None else writable(out)
    ran: list[Results] = []
    try:
        for name in named_engines:
            place = folder if folder is None or len(named_engines) == 1 else writable(folder / name)
            hooks = _hooks(name, chosen, place if pcap else None, quiet=quiet)
            ran.append(execute(chosen, compared, repeat, threads or host.cores(), hooks, quiet=quiet))
    except Interrupted as stopped:
        say(f"{stopped.finished} of {stopped.planned} runs finished")
        ran += [] if stopped.results is None else [stopped.results]
        if ran:
            _deliver_all(ran, json=json, folder=folder, quiet=quiet, several=len(named_engines) > 1)
        raise typer.Exit(130) from None
    _deliver_all(ran, json=json, folder=folder, quiet=quiet, several=len(named_engines) > 1)


def _hooks(engine: str, chosen: Experiment, pcap: Path | None, *, quiet: bool) -> Hooks:
    if engine == LAB:
        return Hooks(command=command(), engine=lab(chosen, pcap, quiet=quiet))
    return Hooks(packets=pcap is not None, command=command(), on_run=_pcap_writer(pcap) if pcap else None)


def _deliver_all(ran: list[Results], *, json: bool, folder: Path | None, quiet: bool, several: bool) -> None:
    """Of several engines, records go to a folder each and one report lays them over one another."""
    if not several:
        deliver(ran[0], json=json, folder=folder, quiet=quiet)
        return
    if folder is not None:
        for results in ran:
            results.write(folder / results.engine)
    whole = overlay(ran) if len(ran) > 1 else ran[0]
    _tell(whole, None if folder is None else write_report(whole, folder), json=json, quiet=quiet)


def deliver(results: Results, *, json: bool, folder: Path | None, quiet: bool) -> None:
    """Print what was found, and write it if a folder was given."""
    if folder is not None:
        results.write(folder)
    _tell(results, None if folder is None else write_report(results, folder), json=json, quiet=quiet)


def _tell(results: Results, page: Path | None, *, json: bool, quiet: bool) -> None:
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    if quiet:
        return
    if page is not None:
        say(f"report: {page}")
    elif not json:
        say("-o DIR adds a report with plots, and the records")


def _load(scenario: str, settings: dict[str, str], seed: int | None) -> Experiment:
    chosen = experiment.load(scenario)
    if seed is not None:
        settings = {**settings, "seed": str(seed)}
    return chosen.with_(settings) if settings else chosen


def execute(
    chosen: Experiment, compared: dict[str, dict[str, str]], repeat: int, threads: int, hooks: Hooks, *, quiet: bool
) -> Results:
    """Run it, or its variants, with a progress bar."""
    total = repeat * max(len(compared), 1)
    with progress(quiet=quiet or hooks.engine is not None) as bar:
        task = bar.add_task(f"{chosen.scenario.name}", total=total)
        hooks = replace(hooks, on_done=lambda done: bar.update(task, completed=done))
        if compared:
            return experiment.compare(chosen, compared, seeds=repeat, threads=threads, hooks=hooks)
        return chosen.run(seeds=repeat, threads=threads, hooks=hooks)


def keep(stopped: Interrupted, *, json: bool, folder: Path | None, quiet: bool) -> None:
    """Deliver what had finished when somebody stopped it."""
    say(f"{stopped.finished} of {stopped.planned} runs finished")
    if stopped.results is not None:
        deliver(stopped.results, json=json, folder=folder, quiet=quiet)


def _pcap_writer(folder: Path):  # type: ignore[no-untyped-def]
    def write(job: Job, finished: _native.Run) -> None:
        name = f"seed{job.seed}" if job.variant == ALONE else f"{job.variant}-seed{job.seed}"
        for side in ("lan", "wan", "server"):
            path = folder / f"{name.replace('/', '_')}-{side}.pcapng"
            try:
                finished.write_pcapng(str(path), side)
            except OSError as error:
                raise OutputError(str(error)) from error

    return write


def command() -> tuple[str, ...]:
    """Return what was typed, without where the results go: that does not change them."""
    words, kept, skip = sys.argv[1:], [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "--output"):
            skip = True
        elif word not in ("--json", "--quiet", "-q") and not word.startswith(("--output=", "-o")):
            kept.append(word)
    return (os.path.basename(sys.argv[0]) or "gamelane", *kept)  # noqa: PTH119 - a word, not a path
