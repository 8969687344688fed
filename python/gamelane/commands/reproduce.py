"""`gamelane reproduce`: checks the claims of the papers and shows our results beside theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.claims import PAPERS, Claim, Judgement, Kind, Paper, counted, counts
from gamelane.claims.judge import Judged, judge
from gamelane.errors import ExitCode, UsageError, did_you_mean
from gamelane.interrupts import postponed
from gamelane.report.claims import words, write_overview, write_paper
from gamelane.report.papers import figures
from gamelane.terminal.talk import deliver, progress, say, say_where, stdout, writable

OVERVIEW = "claims.html"
COLOURS: dict[Judgement, str] = {
    "reproduced": "green",
    "holds": "green",
    "answered": "green",
    "differs": "red",
    "cannot-tell": "yellow",
}


def reproduce(paper: str, repeat: int, threads: int, json: bool, out: Path | None, quiet: bool) -> None:
    """Check the claims of the papers."""
    papers = _chosen(paper)
    judged: list[Judged] = []
    with postponed() as ctrl_c:
        folder = None if out is None else writable(out)
        for each in papers:
            judged.append(_judged(each, repeat, threads, quiet=quiet))
            ctrl_c.heard |= judged[-1].interrupted  # Ctrl-C while runs go on reaches only them
            if ctrl_c.heard:
                break
    document = {"schema": 2, "repeats": repeat, "papers": {each.paper.name: _document(each) for each in judged}}
    file = folder / "claims.json" if folder else None
    pages = [OVERVIEW, *(f"{name}.html" for name in PAPERS)]
    deliver(document, file, lambda: show(judged, stdout()), json=json, pages=pages)
    if folder is not None:
        say_where(_write(folder, judged, repeat), quiet=quiet)
    if ctrl_c.heard:
        done, planned = sum(len(each.verdicts) for each in judged), sum(len(each.claims) for each in papers)
        say(f"{done} of {planned} claims judged")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)


def _chosen(name: str) -> list[Paper]:
    known = [*PAPERS, "all"]
    if name not in known:
        raise UsageError(f"{name}: unknown paper\n  allowed: {', '.join(known)}{did_you_mean(name, known)}")
    return [Paper.read(each) for each in (PAPERS if name == "all" else [name])]


def _judged(paper: Paper, repeat: int, threads: int, *, quiet: bool) -> Judged:
    with progress(quiet=quiet) as bar:
        task = bar.add_task(paper.name, total=None)
        return judge(paper, repeats=repeat, threads=threads, on_run=lambda: bar.update(task, advance=1))


def _write(folder: Path, judged: list[Judged], repeat: int) -> Path:
    """Write a page for each paper, and one over them if there are several. Return the page to open first."""
    for each in judged:
        page = folder / f"{each.paper.name}.html"
        write_paper(page, each, figures(each), repeat)
    if len(judged) == 1:
        return page
    write_overview(folder / OVERVIEW, judged, repeat)
    return folder / OVERVIEW


def _document(judged: Judged) -> dict[str, Any]:
    return {
        "claims": [
            {
                "id": claim.id,
                "kind": claim.kind,
                "verdict": verdict.verdict,
                "theirs": claim.theirs,
                "criterion": claim.rule,
                "ours": verdict.ours,
                "why": verdict.why,
            }
            for claim, verdict in judged.rows
        ],
        "counts": counts(judged.rows),
        "planned_claims": len(judged.paper.claims),
    }


def show(judged: list[Judged], console: Console) -> None:
    """Print every claim with its verdict."""
    for each in judged:
        console.print(Text(each.paper.title, style="bold"))
        table = _table if console.width >= TABLE_WIDTH else _list
        console.print(table(each))
        _say_counts(counts(each.rows), console)
    if len(judged) > 1:
        console.print(Text(f"\n{len(judged)} papers", style="bold"))
        _say_counts(counts([row for each in judged for row in each.rows]), console)


TABLE_WIDTH = 120
"""Columns of the terminal from which the claims are a table. In fewer, each is a paragraph."""


def _table(judged: Judged) -> Table:
    table = Table("claim", "verdict", "theirs", "ours", "why", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for claim, verdict in judged.rows:
        table.add_row(
            Text(_name(judged, claim)).append(f"\n{claim.kind}, {claim.where}", style="dim"),
            Text(verdict.verdict, style=COLOURS[verdict.verdict]),
            Text(words(claim.theirs)).append(f"\n{claim.rule}", style="dim"),
            words(verdict.ours),
            verdict.why,
        )
    return table


def _list(judged: Judged) -> Table:
    table = Table.grid("", "", padding=(0, 2, 0, 0))
    table.columns[1].overflow = "fold"
    for claim, verdict in judged.rows:
        judgement = Text(verdict.verdict, style=COLOURS[verdict.verdict])
        table.add_row(judgement, Text(f"{_name(judged, claim)} ({claim.kind}), {claim.where}", style="bold"))
        lines = {"theirs": claim.theirs, "agrees if": claim.rule, "ours": verdict.ours, "why": verdict.why}
        for word, text in lines.items():
            if said := words(text):
                table.add_row(Text(f"  {word}", style="dim"), said)
    return table


def _name(judged: Judged, claim: Claim) -> str:
    return claim.id.removeprefix(f"{judged.paper.name}.")


def _say_counts(numbers: Mapping[Kind, Mapping[Judgement, int]], console: Console) -> None:
    """Print a line of counts for each kind of claim, results first."""
    table = Table.grid("", "", padding=(0, 2, 0, 0))
    for kind, of in numbers.items():
        table.add_row(Text(kind, style="bold" if kind == "result" else ""), counted(of))
    console.print(table)
