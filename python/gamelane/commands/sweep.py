"""`gamelane sweep`: runs every combination of a sweep file and keeps the results in a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from gamelane.errors import ExitCode, UsageError
from gamelane.report.sweep.terminal import show
from gamelane.sweep import details, file, plan, records
from gamelane.sweep import execute as running
from gamelane.sweep import folder as store
from gamelane.sweep.axes import Match
from gamelane.sweep.executor import Executor
from gamelane.sweep.local import Local
from gamelane.terminal.talk import emit_line, say, say_where, stderr, stdout, writable

SCHEMA = 1
LINE_EVERY_S = 1.0


def sweep(
    file_or_name: str,
    out: Path,
    threads: int,
    ray: str | None,
    merge: Sequence[Path],
    part: str,
    detail: Sequence[str],
    report: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Run every combination of a sweep file."""
    share = _part(part)
    chosen = file.read(file_or_name)
    wanted = [*chosen.details, *(_detail(chosen, text) for text in detail)]
    planned = plan.make(chosen)
    executor = _executor(ray, threads)
    folder = writable(out)
    kept = store.begin(folder, planned)
    if kept.damaged:
        say(f"{folder / store.JOURNAL}: {kept.damaged} damaged lines were skipped; their runs are repeated")
    if kept.rebuilt:
        say(
            f"{folder}: its {len(kept.ids)} runs are from another build of this version. "
            "Use a new folder if a model has changed since"
        )
    if merge:
        kept = store.merge(folder, merge, planned, kept)
    with _Talk(planned.sweep.name, executor, json=json, quiet=quiet) as talk:
        progress = running.execute(running.todo(planned, share, kept), folder, executor, talk.tell)
    store.finish(folder)
    if not progress.interrupted:
        details.keep(planned, folder, wanted)
    found = records.read(folder)
    page = _page(found) if report and found.finished else None
    if not json and found.finished:
        show(found, stdout())
    _conclude(progress, folder, page, json=json, quiet=quiet)


def _page(found: records.SweepRecords) -> Path:
    from gamelane.report.sweep.write import write_report  # noqa: PLC0415 - Altair loads slowly

    return write_report(found)


def _conclude(progress: running.Progress, folder: Path, page: Path | None, *, json: bool, quiet: bool) -> None:
    if json:
        emit_line(_line("finished", progress) | {"folder": str(folder), "interrupted": progress.interrupted})
    for failed in progress.failed[:5]:
        say(f"failed: run {failed.id}: {failed.why}")
    if progress.interrupted:
        say(f"{progress.done} of {progress.total} runs finished; run the same command again for the rest")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    if progress.failed:
        say(
            f"{len(progress.failed)} of {progress.total} runs failed, which is a bug in gamelane. "
            "The other runs are kept."
        )
        raise click.exceptions.Exit(ExitCode.FAILED)
    say_where(page, quiet=quiet)


def _executor(ray: str | None, threads: int) -> Executor:
    if ray is None:
        return Local(threads)
    from gamelane.sweep.ray import Ray  # noqa: PLC0415 - Ray is optional and loads slowly

    return Ray(ray)


def _part(text: str) -> running.Part:
    number, _, of = text.partition("/")
    if number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of):
        return running.Part(int(number), int(of))
    raise UsageError(
        f"--part {text}: not K/N with K from 1 to N\n  allowed: for example 1/4, 2/4, 3/4 and 4/4 on four machines"
    )


def _detail(chosen: file.Sweep, text: str) -> Match:
    values: dict[str, tuple[str, ...]] = {}
    for setting in text.split(","):
        key, _, value = (word.strip() for word in setting.partition("="))
        if key not in chosen.grid.keys or value not in chosen.grid.values(key):
            allowed = ", ".join(chosen.grid.values(key) if key in chosen.grid.keys else chosen.grid.keys)
            raise UsageError(f"--detail {setting}: no combination of the sweep has this value\n  allowed: {allowed}")
        values[key] = (*values.get(key, ()), value)
    return Match(values)


class _Talk:
    """Shows progress: a bar on a terminal, lines of JSON with --json, else nothing."""

    def __init__(self, name: str, executor: Executor, *, json: bool, quiet: bool) -> None:
        self._json = json
        self._last = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failed]}", style="red"),
            console=stderr(),
            transient=True,
            disable=quiet or json or not stderr().is_terminal,
        )
        self._task: TaskID = self._bar.add_task(f"{name}, {executor.describe()}", total=None, rate="", failed="")

    def __enter__(self) -> _Talk:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def tell(self, progress: running.Progress) -> None:
        """Show the progress."""
        if self._json and time.monotonic() - self._last >= LINE_EVERY_S:
            self._last = time.monotonic()
            emit_line(_line("progress", progress))
        self._bar.update(
            self._task,
            total=progress.total,
            completed=progress.done,
            rate=f"{progress.rate:.1f} runs/s" if progress.rate else "",
            failed=f"{len(progress.failed)} failed" if progress.failed else "",
            description="finishing the current runs" if progress.interrupted else None,
        )


def _line(event: str, progress: running.Progress) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "event": event,
        "done": progress.done,
        "total": progress.total,
        "kept": progress.kept,
        "failed": len(progress.failed),
        "elapsed_s": round(progress.elapsed_s, 3),
        "cpu_s": round(progress.cpu_seconds, 3),
        "runs_per_s": None if progress.rate is None else round(progress.rate, 3),
        "eta_s": None if progress.eta_s is None else round(progress.eta_s, 1),
    }
