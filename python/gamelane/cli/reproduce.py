"""`gamelane reproduce`: the papers' claims, ours beside theirs."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane import host
from gamelane.claims import PAPERS, Paper, counts
from gamelane.claims.judge import Judged, judge
from gamelane.cli.talk import emit, progress, say, stdout, writable
from gamelane.errors import OutputError, UsageError, did_you_mean
from gamelane.report.claims import words, write_claims

COLOURS = {"reproduced": "green", "differs": "red", "cannot-tell": "yellow"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="[PAPER|all]", help="Which paper's claims to check.")] = "all",
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each variant, with seeds counting up.")] = 5,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at a time.", show_default="all cores")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write claims.html and claims.json there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Check the claims of the papers: reproduced, differs or cannot tell, and why."""
    papers = _chosen(paper)
    folder = None if out is None else writable(out)
    judged: list[Judged] = []
    for each in papers:
        judged.append(_judged(each, repeat, threads or host.cores(), quiet=quiet))
        if judged[-1].interrupted:
            break
    document = {"schema": 1, "repeats": repeat, "papers": {each.paper.name: _document(each) for each in judged}}
    if folder is not None:
        _write(folder, document, judged, repeat)
    if json:
        emit(document)
    else:
        _show(judged, stdout())
    if folder is not None and not quiet:
        say(f"report: {folder / 'claims.html'}")
    if judged[-1].interrupted:
        done, planned = sum(len(each.verdicts) for each in judged), sum(len(each.claims) for each in papers)
        say(f"{done} of {planned} claims judged")
        raise typer.Exit(130)


def _chosen(name: str) -> list[Paper]:
    known = [*PAPERS, "all"]
    if name not in known:
        raise UsageError(f"{name}: no claims of such a paper\n  allowed: {', '.join(known)}{did_you_mean(name, known)}")
    return [Paper.read(each) for each in (PAPERS if name == "all" else [name])]


def _judged(paper: Paper, repeat: int, threads: int, *, quiet: bool) -> Judged:
    with progress(quiet=quiet) as bar:
        task = bar.add_task(paper.name, total=None)
        return judge(paper, repeats=repeat, threads=threads, on_run=lambda: bar.update(task, advance=1))


def _document(judged: Judged) -> dict[str, Any]:
    return {
        "claims": [asdict(verdict) for verdict in judged.verdicts],
        "counts": counts(judged.verdicts),
        "planned_claims": len(judged.paper.claims),
    }


def _write(folder: Path, document: dict[str, Any], judged: list[Judged], repeat: int) -> None:
    try:
        text = dumps(document, indent=2, ensure_ascii=False) + "\n"
        (folder / "claims.json").write_text(text, encoding="utf-8")
        write_claims(folder / "claims.html", judged, repeat)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error


def _show(judged: list[Judged], console: Console) -> None:
    for each in judged:
        table = Table(
            "claim", "where", "verdict", "theirs", "ours", "why", box=None, pad_edge=False, padding=(0, 2, 0, 0)
        )
        for claim, verdict in each.rows:
            table.add_row(
                claim.id.removeprefix(f"{each.paper.name}."),
                claim.where,
                Text(verdict.verdict, style=COLOURS[verdict.verdict]),
                words(verdict.theirs),
                words(verdict.ours),
                verdict.why,
            )
        console.print(Text(each.paper.title, style="bold"))
        console.print(table)
        console.print(_counted(each))
    if len(judged) > 1:
        console.print()
        for each in judged:
            console.print(f"{each.paper.name}: {_counted(each)}")


def _counted(judged: Judged) -> str:
    return ", ".join(f"{count} {judgement}" for judgement, count in counts(judged.verdicts).items())
