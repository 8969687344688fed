"""Writes the tables and the plot of docs/linux.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import vl_convert

from bench.agreement.matrix import HERE
from bench.agreement.results import Outcome, cause_of, causes, every, share

DOCS = HERE.parents[1] / "docs"
PAGE, PLOT = DOCS / "linux.md", DOCS / "img" / "linux.svg"
NAMES = {"RTT": "ms", "transfer": "ms", "loss": "%", "goodput": "Mbit/s"}
LEAST = 0.01
"""Smaller values stand at the edge of the plot."""


def write(outcomes: Sequence[Outcome]) -> None:
    """Replace what is between the marks of the page, and the plot."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, made in {"shares": _shares(outcomes), "figures": _figures(outcomes), "misses": _misses(outcomes)}.items():
        pattern = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE}: no place `<!-- {mark} -->` … `<!-- end -->`")
    PAGE.write_text(text, encoding="utf-8")
    PLOT.write_text(plot(outcomes), encoding="utf-8")


def _shares(outcomes: Sequence[Outcome]) -> str:
    """Return the headline, and the share by queue and load."""
    all_of, ran = share(outcomes), [outcome for outcome in outcomes if outcome.figures]
    said = [f"**{all_of.agree} of {all_of.total} figures agree: {all_of.agree / all_of.total:.1%}**, in {len(ran)} cases."]
    loads = _words(ran, "load")
    said += ["", f"| queue | {' | '.join(loads)} | all |", f"| --- |{' --- |' * (len(loads) + 1)}"]
    for block in dict.fromkeys(outcome.case.block for outcome in ran):
        own = [outcome for outcome in ran if outcome.case.block == block]
        for queue in _words(own, "queue"):
            of = [outcome for outcome in own if outcome.case.words["queue"] == queue]
            cells = [str(share([one for one in of if one.case.words["load"] == load])) for load in loads]
            name = queue if block == "households" else f"{queue}, {block}"
            said.append(f"| {name} | {' | '.join(cells)} | {share(of)} |")
    cells = [str(share([one for one in ran if one.case.words["load"] == load])) for load in loads]
    said.append(f"| all | {' | '.join(cells)} | {all_of} |")
    refused = dict.fromkeys(outcome.case.words["queue"] for outcome in outcomes if outcome.refused)
    if refused:
        said += ["", f"Not run, because this kernel does not have them: {', '.join(refused)}."]
    return "\n".join(said)


def _figures(outcomes: Sequence[Outcome]) -> str:
    """Return the share by figure, rate and round trip."""
    rows = {}
    for what in dict.fromkeys(figure.what for _, figure in every(outcomes)):
        rows[what] = share(outcomes, lambda _, figure, what=what: figure.what == what)
    for axis, unit in {"rate": "Mbit/s", "rtt": "ms"}.items():
        for word in _words(outcomes, axis):
            rows[f"{word} {unit}"] = share(outcomes, lambda case, _, axis=axis, word=word: case.words[axis] == word)
    return "\n".join(["| | agree | of |", "| --- | --- | --- |", *(f"| {k} | {v} | {v.total} |" for k, v in rows.items())])


def _misses(outcomes: Sequence[Outcome]) -> str:
    """Return how many misses each cause has."""
    known = causes()
    found = Counter(cause_of(case, figure, known) for case, figure in every(outcomes) if not figure.agrees)
    rows = [f"| {count} | {text} |" for text, count in found.most_common()]
    return "\n".join(["| misses | cause |", "| --- | --- |", *rows])


def _words(outcomes: Sequence[Outcome], axis: str) -> list[str]:
    return list(dict.fromkeys(outcome.case.words[axis] for outcome in outcomes))


def plot(outcomes: Sequence[Outcome]) -> str:
    """Draw every figure: kernel across, simulator up; on the line both are equal."""
    panels = []
    for title, unit in {"Round trips and transfers": "ms", "Goodput": "Mbit/s", "Loss": "%"}.items():
        points = [
            {
                "kernel": max(figure.means[0], LEAST),
                "simulator": max(figure.means[1], LEAST),
                "agrees": "agrees" if figure.agrees else "differs",
            }
            for _, figure in every(outcomes)
            if figure.unit == unit
        ]
        ends = [min(point[side] for point in points for side in ("kernel", "simulator")),
                max(point[side] for point in points for side in ("kernel", "simulator"))]
        scale = alt.Scale(type="log", domain=ends)
        line = alt.Chart(alt.Data(values=[{"kernel": end, "simulator": end} for end in ends])).mark_line(
            color="#888888", strokeWidth=1
        )
        marks = alt.Chart(alt.Data(values=points)).mark_point(size=14, filled=True, opacity=0.6)
        colours = alt.Color(
            "agrees:N", title=None, scale=alt.Scale(domain=["agrees", "differs"], range=["#4477aa", "#cc3311"])
        )
        across = alt.X("kernel:Q", scale=scale, title=f"Linux, {unit}")
        up = alt.Y("simulator:Q", scale=scale, title=f"simulator, {unit}")
        panels.append((line.encode(across, up) + marks.encode(across, up, colours)).properties(width=230, height=230, title=title))
    drawn = alt.hconcat(*panels, background="#ffffff")
    made: str = vl_convert.vegalite_to_svg(drawn.to_dict(), vl_version="6.4")
    return made
