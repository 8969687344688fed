"""`gamelane run`: runs a scenario or variants of it; prints a table or JSON, writes records and a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path

import click

from gamelane import _native, experiment, interrupts, whole
from gamelane.commands import household
from gamelane.commands.engines import SIM, engines, real
from gamelane.commands.variants import variants
from gamelane.errors import ExitCode, Interrupted, OutputError, UsageError
from gamelane.experiment import Experiment, Hooks
from gamelane.records.results import ALONE, Results
from gamelane.runner import Job
from gamelane.terminal.talk import emit, printing, progress, say, say_where, stdout, writable


def run(
    scenario: str | None,
    settings: Sequence[str],
    plan: Sequence[str],
    with_: Sequence[str],
    policy: Sequence[str],
    router: Sequence[str],
    compare: str | None,
    named: Sequence[str],
    repeat: int,
    seed: int | None,
    threads: int,
    engine: str,
    vm: bool,
    show: bool,
    write: Path | None,
    json: bool,
    out: Path | None,
    pcap: bool,
    quiet: bool,
) -> None:
    """Run a scenario and print a table of delay, loss and throughput."""
    named_engines = engines(engine)
    if vm and named_engines == [SIM]:
        raise UsageError("--vm is for real engines; the simulator needs no guest\n  hint:    add --engine kernel")
    if pcap and out is None:
        raise UsageError("--pcap needs a folder\n  hint:    add -o DIR")
    seeded = [*settings, *([] if seed is None else [f"seed={seed}"])]
    chosen = household.chosen(scenario, seeded, plan=plan, with_=with_, policy=policy, router=router)
    if show:
        stdout().out(chosen.scenario.show(), highlight=False, end="")
        return
    if write is not None:
        keep(chosen.scenario.show(), write, quiet=quiet)
    compared = variants(chosen, compare, named)
    folder = None if out is None else writable(out)
    several = len(named_engines) > 1
    tables = folder is not None or several  # several engines are overlaid, table by table
    if tables:
        import_module("gamelane.records.store")  # loads slowly, and in `finish` Ctrl-C would wait for it
    failed: list[OutputError] = []

    def execute_one(name: str) -> Results:
        place = writable(folder / name) if folder is not None and several else folder
        captures = place if pcap else None
        if name == SIM:
            hooks = _hooks(captures, failed.append)
        else:
            hosts = real(name, chosen, captures, vm=vm, threads=threads, tell=None if quiet else say)
            hooks = Hooks(command=command(), engine=hosts)
        hooks = hooks if tables else replace(hooks, keep="summary")
        return execute(chosen, compared, repeat, threads, hooks, quiet=quiet)

    ran = finish([partial(execute_one, name) for name in named_engines], folder, several=several)
    ran.failed = ran.failed or next(iter(failed), None)
    deliver(ran, folder, json=json, quiet=quiet)


def _hooks(pcap: Path | None, on_error: Callable[[OutputError], None]) -> Hooks:
    if pcap is None:
        return Hooks(command=command())
    return Hooks(keep="packets", command=command(), on_run=_pcap_writer(pcap, on_error))


@dataclass
class Ran:
    """Results of the engines that ran, and the folders of their records.

    `stopped` by Ctrl-C; `failed` if a folder could not be written.
    """

    results: list[Results] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    stopped: bool = False
    failed: OutputError | None = None


def finish(engines: Iterable[Callable[[], Results]], folder: Path | None, *, several: bool = False) -> Ran:
    """Run, and write records, after Ctrl-C those of the finished runs. With `several` engines, each has a folder."""
    ran = Ran()
    with interrupts.postponed() as ctrl_c:
        try:
            for execute_one in engines:
                ran.results.append(execute_one())
        except Interrupted as stopped:
            if stopped.finished < stopped.planned:  # Ctrl-C may come while the last run ends
                say(f"{stopped.finished} of {stopped.planned} runs finished")
            ran.results += [] if stopped.results is None else [stopped.results]
            ctrl_c.heard = True
        try:
            if folder is not None:
                from gamelane.records.store import forget_report  # noqa: PLC0415 - Polars loads slowly

                ran.folders = [folder / results.engine if several else folder for results in ran.results]
                for results, place in zip(ran.results, ran.folders, strict=True):
                    results.write(place)
                forget_report(folder)
        except OutputError as error:
            ran.failed = error
    ran.stopped = ctrl_c.heard
    return ran


def deliver(
    ran: Ran, folder: Path | None, *, json: bool, quiet: bool, tell: Callable[[Results], None] | None = None
) -> None:
    """Print the results, and write the report if a folder is given. `tell` prints instead of the usual table."""
    if not ran.results:
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    results = _overlaid(ran.results)
    with printing():
        if tell is not None:
            tell(results)
        else:
            _print(results, json=json)
    if ran.failed is not None:
        raise ran.failed
    if folder is None:
        if ran.stopped:
            raise click.exceptions.Exit(ExitCode.INTERRUPTED)
        say_where(None, "" if json else "-o DIR adds a report with plots, and records", quiet=quiet)
        return
    page = None
    if not ran.stopped:
        with suppress(KeyboardInterrupt):
            page = _page(results, folder)
    if page is None:
        again = " ".join(map(str, ran.folders)) + (f" -o {folder}" if len(ran.folders) > 1 else "")
        say(f"records: {folder}\n  hint:    `gamelane report {again}` draws the report")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    say_where(page, "", quiet=quiet)


def _print(results: Results, *, json: bool) -> None:
    if json:
        from gamelane.report.document import document  # noqa: PLC0415 - only one of both is needed

        emit(document(results))
    else:
        from gamelane.report.terminal import show  # noqa: PLC0415 - Rich loads slowly

        show(results, stdout())


def _overlaid(results: Sequence[Results]) -> Results:
    if len(results) == 1:
        return results[0]
    from gamelane.records.overlaid import overlay  # noqa: PLC0415 - Polars loads slowly

    return overlay(results)


def _page(results: Results, folder: Path) -> Path:
    from gamelane.report.write import write_report  # noqa: PLC0415 - Altair loads slowly

    return write_report(results, folder)


def keep(text: str, file: Path, *, quiet: bool) -> None:
    """Write a scenario to a file that does not exist yet."""
    if file.is_dir():
        raise UsageError(f"--write {file}: this names no file, but a folder")
    if file.exists():
        raise UsageError(f"--write {file}: this file exists\n  hint:    choose another name, or remove the file")
    with whole.file(file) as partial:
        partial.write_text(text, encoding="utf-8")
    if not quiet:
        say(f"scenario: {file}")


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


def _pcap_writer(folder: Path, on_error: Callable[[OutputError], None]) -> Callable[[Job, _native.Run], None]:
    """Return a hook that writes what both sides of the gateway and the servers saw. After an error the runs go on."""

    def write(job: Job, finished: _native.Run) -> None:
        name = f"seed{job.seed}" if job.variant == ALONE else f"{job.variant}-seed{job.seed}"
        try:
            for side in ("lan", "wan", "server"):
                with whole.file(folder / f"{name.replace('/', '_')}-{side}.pcapng") as path:
                    finished.write_pcapng(str(path), side)
        except OutputError as error:
            on_error(error)

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
