"""`gamelane sweep`: every combination of a sweep file, made once and kept."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from gamelane import host
from gamelane.cli.talk import emit_line, say, stderr, stdout, writable
from gamelane.errors import UsageError
from gamelane.report.sweep.terminal import show
from gamelane.report.sweep.write import write_report
from gamelane.sweep import details, file, plan, records
from gamelane.sweep import execute as running
from gamelane.sweep import folder as store
from gamelane.sweep.axes import Match
from gamelane.sweep.executor import Executor
from gamelane.sweep.local import Local

SCHEMA = 1
FAILED, INTERRUPTED = 1, 130
LINE_EVERY_S = 1.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(sweep)


def sweep(
    file_or_name: Annotated[
        str, typer.Argument(metavar="SWEEP", help="A TOML file, or the name of a shipped sweep.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Keep runs there, and go on with those it holds.")
    ],
    threads: Annotated[
        int | None,
        typer.Option("-j", "--threads", min=1, metavar="N", help="Runs at a time.", show_default="all cores"),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS", help="Make the runs on a Ray cluster; `local` starts one on this machine."
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Take over runs another folder holds already. Repeatable."),
    ] = None,
    part: Annotated[
        str,
        typer.Option(metavar="K/N", help="Make only the K-th of N equal parts; --merge brings them together."),
    ] = "1/1",
    detail: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE,…", help="Keep the time series of these cells for the report. Repeatable."),
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html and figures/.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON a second (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Run every combination of a sweep file. Stopped or killed, the same command goes on where it was."""
    share = _part(part)
    chosen = file.read(file_or_name)
    wanted = [*chosen.details, *(_detail(chosen, text) for text in detail or [])]
    planned = plan.make(chosen)
    executor = _executor(ray, threads)
    folder = writable(out)
    with store.claimed(folder):
        kept = store.begin(folder, planned)
        if kept.damaged:
            say(f"{folder / store.JOURNAL}: {kept.damaged} damaged lines are left out; their runs are made again")
        if kept.rebuilt:
            say(
                f"{folder}: its {len(kept.ids)} runs were made by another build of this version; "
                "begin a new folder if a model changed in between"
            )
        if merge:
            kept = store.merge(folder, merge, planned, kept)
        with _Talk(planned.sweep.name, executor, json=json, quiet=quiet) as talk:
            progress = running.execute(running.todo(planned, share, kept), folder, executor, talk.tell)
        store.finish(folder)
        if not progress.interrupted:
            details.keep(planned, folder, wanted)
        found = records.read(folder)
        page = write_report(found) if report and found.finished else None
    if not json and found.finished:
        show(found, stdout())
    _conclude(progress, folder, page, json=json, quiet=quiet)


def _conclude(progress: running.Progress, folder: Path, page: Path | None, *, json: bool, quiet: bool) -> None:
    if json:
        emit_line(_line("finished", progress) | {"folder": str(folder), "interrupted": progress.interrupted})
    for failed in progress.failed[:5]:
        say(f"failed: run {failed.id}: {failed.why}")
    if progress.interrupted:
        say(f"{progress.done} of {progress.total} runs finished; the same command makes the rest")
        raise typer.Exit(INTERRUPTED)
    if progress.failed:
        say(f"{len(progress.failed)} of {progress.total} runs failed. This is a bug in gamelane; the others are kept.")
        raise typer.Exit(FAILED)
    if not quiet and page is not None:
        say(f"report: {page}")


def _executor(ray: str | None, threads: int | None) -> Executor:
    if ray is None:
        return Local(threads or host.cores())
    from gamelane.sweep.ray import Ray  # noqa: PLC0415 - Ray is an extra, and slow to load

    return Ray(ray)


def _part(text: str) -> running.Part:
    number, _, of = text.partition("/")
    if number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of):
        return running.Part(int(number), int(of))
    raise UsageError(f"--part {text}: this is not K/N\n  allowed: 1/4 to 4/4 for four machines")


def _detail(chosen: file.Sweep, text: str) -> Match:
    values: dict[str, tuple[str, ...]] = {}
    for setting in text.split(","):
        key, _, value = (word.strip() for word in setting.partition("="))
        if key not in chosen.grid.keys or value not in chosen.grid.values(key):
            allowed = ", ".join(chosen.grid.values(key) if key in chosen.grid.keys else chosen.grid.keys)
            raise UsageError(f"--detail {setting}: no cell has this\n  allowed: {allowed}")
        values[key] = (*values.get(key, ()), value)
    return Match(values)


class _Talk:
    """Tells how far it is: a bar on a terminal, lines of JSON where asked for, else nothing."""

    def __init__(self, name: str, executor: Executor, *, json: bool, quiet: bool) -> None:
        self._json = json
        self._last = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"),
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
        """Show it."""
        if self._json and time.monotonic() - self._last >= LINE_EVERY_S:
            self._last = time.monotonic()
            emit_line(_line("progress", progress))
        self._bar.update(
            self._task,
            total=progress.total,
            completed=progress.done,
            rate=f"{progress.rate:.1f} runs/s" if progress.rate else "",
            failed=f"{len(progress.failed)} failed" if progress.failed else "",
            description="finishing what is under way" if progress.interrupted else None,
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
