"""`gamelane run`: runs a scenario or variants of it; prints a table or JSON, writes records and a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from gamelane import _native, experiment
from gamelane.cli import options
from gamelane.cli.engines import LAB, engines, lab
from gamelane.cli.guard import INTERRUPTED
from gamelane.cli.talk import emit, progress, say, say_where, stdout, writable
from gamelane.cli.variants import overrides, variants
from gamelane.errors import Interrupted, OutputError, UsageError
from gamelane.experiment import Experiment, Hooks
from gamelane.records import overlay
from gamelane.records.results import ALONE, Results
from gamelane.report.document import document
from gamelane.report.terminal import show
from gamelane.runner import Job


@click.command()
@options.scenario
@options.settings
@options.compare("gateway.*.queue=fifo,pie,fq_codel")
@options.variant
@options.repeat(1, "Number of runs of each variant; seeds count up. Confidence intervals need at least 2.")
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", show_default="the scenario's", help="Seed of the first run."
)
@options.threads
@click.option(
    "--engine",
    metavar="ENGINE",
    default="sim",
    help="sim simulates. lab runs real hosts in network namespaces, in real time (docs/lab.md). sim,lab runs both and "
    "compares them in one report. `gamelane doctor` shows what each needs.",
)
@options.json
@options.output("Write records, report.html and figures/ to this folder.")
@click.option(
    "--pcap", is_flag=True, help="With -o: write pcapng captures of both sides of the gateway and of the servers."
)
@options.quiet
def run(
    scenario: str,
    settings: Sequence[str],
    compare: str | None,
    named: Sequence[str],
    repeat: int,
    seed: int | None,
    threads: int,
    engine: str,
    json: bool,
    out: Path | None,
    pcap: bool,
    quiet: bool,
) -> None:
    """Run a scenario and print a table of delay, loss and throughput.

    With -o, also write an HTML report, figures and records.
    """
    named_engines = engines(engine)
    if pcap and out is None:
        raise UsageError("--pcap needs a folder\n  hint:    add -o DIR")
    chosen = _load(scenario, overrides(settings), seed)
    compared = variants(compare, named)
    folder = None if out is None else writable(out)
    ran: list[Results] = []
    try:
        for name in named_engines:
            place = folder if folder is None or len(named_engines) == 1 else writable(folder / name)
            hooks = _hooks(name, chosen, place if pcap else None, quiet=quiet)
            ran.append(execute(chosen, compared, repeat, threads, hooks, quiet=quiet))
    except Interrupted as stopped:
        say(f"{stopped.finished} of {stopped.planned} runs finished")
        ran += [] if stopped.results is None else [stopped.results]
        if ran:
            _deliver_all(ran, json=json, folder=folder, quiet=quiet, several=len(named_engines) > 1)
        raise click.exceptions.Exit(INTERRUPTED) from None
    _deliver_all(ran, json=json, folder=folder, quiet=quiet, several=len(named_engines) > 1)


def _hooks(engine: str, chosen: Experiment, pcap: Path | None, *, quiet: bool) -> Hooks:
    if engine == LAB:
        return Hooks(command=command(), engine=lab(chosen, pcap, quiet=quiet))
    return Hooks(packets=pcap is not None, command=command(), on_run=_pcap_writer(pcap) if pcap else None)


def _deliver_all(ran: list[Results], *, json: bool, folder: Path | None, quiet: bool, several: bool) -> None:
    """With several engines, write the records of each to its own folder, and one report that overlays them."""
    if not several:
        deliver(ran[0], json=json, folder=folder, quiet=quiet)
        return
    if folder is not None:
        for results in ran:
            results.write(folder / results.engine)
    whole = overlay(ran) if len(ran) > 1 else ran[0]
    _tell(whole, None if folder is None else _page(whole, folder), json=json, quiet=quiet)


def deliver(results: Results, *, json: bool, folder: Path | None, quiet: bool) -> None:
    """Print the results; write records and report if a folder is given."""
    if folder is not None:
        results.write(folder)
    _tell(results, None if folder is None else _page(results, folder), json=json, quiet=quiet)


def _tell(results: Results, page: Path | None, *, json: bool, quiet: bool) -> None:
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    say_where(page, "" if json else "-o DIR adds a report with plots, and records", quiet=quiet)


def _page(results: Results, folder: Path) -> Path:
    from gamelane.report.write import write_report  # noqa: PLC0415 - Altair loads slowly

    return write_report(results, folder)


def _load(scenario: str, settings: dict[str, str], seed: int | None) -> Experiment:
    chosen = experiment.load(scenario)
    if seed is not None:
        settings = {**settings, "seed": str(seed)}
    return chosen.with_(settings) if settings else chosen


def execute(
    chosen: Experiment, compared: dict[str, dict[str, str]], repeat: int, threads: int, hooks: Hooks, *, quiet: bool
) -> Results:
    """Run the scenario, or its variants, with a progress bar."""
    total = repeat * max(len(compared), 1)
    with progress(quiet=quiet or hooks.engine is not None) as bar:
        task = bar.add_task(f"{chosen.scenario.name}", total=total)
        hooks = replace(hooks, on_done=lambda done: bar.update(task, completed=done))
        if compared:
            return experiment.compare(chosen, compared, seeds=repeat, threads=threads, hooks=hooks)
        return chosen.run(seeds=repeat, threads=threads, hooks=hooks)


def keep(stopped: Interrupted, *, json: bool, folder: Path | None, quiet: bool) -> None:
    """Deliver the runs that finished before Ctrl-C."""
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
    """Return the words of the command line, without the options that only say where or how results are shown."""
    words, kept, skip = sys.argv[1:], [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "--output"):
            skip = True
        elif word not in ("--json", "--quiet", "-q") and not word.startswith(("--output=", "-o")):
            kept.append(word)
    return (os.path.basename(sys.argv[0]) or "gamelane", *kept)  # noqa: PTH119 - a word, not a path
