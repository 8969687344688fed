"""The claims of a paper as a page of the documentation: `docs/claims/ledger`. `make claims` writes the pages."""

from __future__ import annotations

from gamelane.claims import KINDS, Claim, Kind, Verdict, counted, counts
from gamelane.claims.judge import Judged
from gamelane.report.claims import words


def page(judged: Judged, repeats: int) -> str:
    """Return the page in Markdown: counts, then each kind of claim as a table, with the reasons below it."""
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
    reasons = []
    for claim, verdict in rows:
        short = claim.id.removeprefix(f"{paper}.")
        cells = (
            f"`{short}`",
            f"{claim.metric} ({claim.where})",
            words(claim.theirs),
            claim.rule,
            words(verdict.ours),
            verdict.verdict.replace("-", " "),
        )
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
        if verdict.why:
            reasons.append(f"- `{short}`: {verdict.why}.")
    return [*lines, "", *reasons] if reasons else lines


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
