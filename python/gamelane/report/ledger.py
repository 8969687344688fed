"""The claims of a paper as a page of the documentation: `docs/claims/ledger`. `make claims` writes the pages."""

from __future__ import annotations

from textwrap import wrap

from gamelane.claims import KINDS, Claim, Kind, Verdict, counted, counts
from gamelane.claims.judge import Judged
from gamelane.report.claims import words


def page(judged: Judged, repeats: int) -> str:
    """Return the page in Markdown: counts, then a table for each kind, with long values and reasons below it."""
    name = judged.paper.name
    numbers = counts(judged.rows)
    lines = [
        f"# {name}: every claim",
        "",
        f"`make claims` writes this page from `gamelane reproduce {name} --repeat {repeats}`."
        f" [{name}.md](../{name}.md) explains the results.",
        "",
        "| kind | what it is | verdicts |",
        "| --- | --- | --- |",
        *(f"| {kind} | {KINDS[kind]} | {counted(of)} |" for kind, of in numbers.items()),
    ]
    for kind in numbers:
        lines += _section(kind, [(claim, verdict) for claim, verdict in judged.rows if claim.kind == kind], name)
    return "\n".join(lines) + "\n"


def _section(kind: Kind, rows: list[tuple[Claim, Verdict]], paper: str) -> list[str]:
    lines = [
        "",
        f"## {kind.capitalize()}",
        "",
        "| claim | what | theirs | agrees if | ours | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    below: list[str] = []
    for claim, verdict in rows:
        short = claim.id.removeprefix(f"{paper}.")
        ours = words(verdict.ours)
        cells = (
            f"`{short}`",
            f"{claim.metric} ({claim.where})",
            words(claim.theirs),
            claim.rule,
            "below" if len(ours) > LONGEST else ours,
            verdict.verdict.replace("-", " "),
        )
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
        said = [*([f"ours: {ours}"] if len(ours) > LONGEST else []), *([verdict.why] if verdict.why else [])]
        if said:
            below += wrap(f"- `{short}`: {'. '.join(said)}.", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [*lines, "", *below] if below else lines


LONGEST = 80
"""Characters of our value that fit into a cell. A longer one stands below the table."""
WIDTH = 150


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
