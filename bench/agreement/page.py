"""Writes the tables and the plot of docs/linux.md."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import altair as alt
import vl_convert
from bench.agreement.matrix import HERE
from bench.agreement.results import Outcome, Share, cause_of, causes, every, share

from gamelane.plot.images import VEGA_LITE

DOCS = HERE.parents[1] / "docs"
PAGE, PLOT = DOCS / "linux.md", DOCS / "img" / "linux.svg"
PANELS = {"ms": "Times", "Mbit/s": "Goodput", "%": "Loss"}
AGREES, DIFFERS = ("agrees", "#4477aa"), ("differs", "#cc3311")
BBR_AT = "40"
"""Round trip of the cases in the table about BBR."""
LEAST = 0.01
"""Smaller values stand at the edge of the plot."""


def write(outcomes: Sequence[Outcome]) -> None:
    """Replace what is between the marks of the page, and the plot."""
    text = PAGE.read_text(encoding="utf-8")
    parts = {"shares": _shares, "figures": _figures, "bbr": _bbr, "misses": _misses}
    for mark, made in ((mark, part(outcomes)) for mark, part in parts.items()):
        before, begin, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not begin or not end:
            raise SystemExit(f"{PAGE}: no place `<!-- {mark} -->` … `<!-- end -->`")
        text = f"{before}{begin}{made}\n{end}{after}"
    PAGE.write_text(text, encoding="utf-8")
    PLOT.write_text(plot(outcomes), encoding="utf-8")


def _shares(outcomes: Sequence[Outcome]) -> str:
    """Return the headline, the share by queue and load, and that of games over TCP by remedy and loss."""
    whole, ran = share(outcomes), [one for one in outcomes if one.figures and one.case.compared]
    said = [f"**{whole.agree} of {whole.total} figures agree: {whole.agree / whole.total:.1%}**, in {len(ran)} cases."]
    for down, across, unit in (("queue", "load", ""), ("remedy", "loss", " % loss")):
        if own := [outcome for outcome in ran if down in outcome.case.words]:
            said += ["", *_table(own, down, across, unit)]
    if refused := dict.fromkeys(outcome.case.words.get("queue", "") for outcome in outcomes if outcome.refused):
        said += ["", f"Not run, because this kernel does not have them: {', '.join(refused)}."]
    return "\n".join(said)


def _table(outcomes: Sequence[Outcome], down: str, across: str, unit: str) -> Iterator[str]:
    """Yield the lines of a table of shares."""
    columns = list(dict.fromkeys(outcome.case.words[across] for outcome in outcomes))
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        block, word = outcome.case.block, outcome.case.words[down]
        rows[word if block in ("households", "thin") else f"{word}, {block}"].append(outcome)
    yield f"| {down} | {' | '.join(f'{column}{unit}' for column in columns)} | all |"
    yield f"| --- |{' --- |' * (len(columns) + 1)}"
    for name, own in (*rows.items(), ("all", outcomes)):
        cells = [share([one for one in own if one.case.words[across] == column]) for column in columns]
        yield f"| {name} | {' | '.join(map(str, cells))} | {share(own)} |"


def _figures(outcomes: Sequence[Outcome]) -> str:
    """Return the share by figure, rate and round trip."""
    rows: dict[str, list[bool]] = defaultdict(list)
    for _, figure in every(outcomes):
        rows[figure.what].append(figure.agrees)
    for axis, unit in {"rate": "Mbit/s", "rtt": "ms"}.items():
        for case, figure in every(outcomes):
            if axis in case.words:
                rows[f"{case.words[axis]} {unit}"].append(figure.agrees)
    lines = [f"| {name} | {Share.of(found)} | {len(found)} |" for name, found in rows.items()]
    return "\n".join(["| | agree | of |", "| --- | --- | --- |", *lines])


def _bbr(outcomes: Sequence[Outcome]) -> str:
    """Return what the game sees on Linux beside BBR, and beside CUBIC."""
    found = {(one.case.block, one.case.words.get("tcp", ""), *_place(one)): _of_game(one) for one in outcomes}
    lines = ["| queue | load | RTT p95, CUBIC | BBR | loss, CUBIC | BBR |", "| --- | --- | --- | --- | --- | --- |"]
    for one in outcomes:
        (queue, _, load, rtt), plain = _place(one), ("households", "cubic", *_place(one))
        if (one.case.block, rtt) != ("bbr", BBR_AT) or plain not in found:
            continue
        (rtt_ms, loss), (bbr_rtt_ms, bbr_loss) = found[plain], _of_game(one)
        lines.append(f"| {queue} | {load} | {rtt_ms:.0f} ms | {bbr_rtt_ms:.0f} ms | {loss:.1f} % | {bbr_loss:.1f} % |")
    return "\n".join(lines)


def _place(outcome: Outcome) -> tuple[str, ...]:
    return tuple(outcome.case.words.get(axis, "") for axis in ("queue", "rate", "load", "rtt"))


def _of_game(outcome: Outcome) -> tuple[float, float]:
    """Return the round trip (p95) and the loss of the game's packets on Linux, in the direction that lost more."""
    own = {figure.what: figure.means[0] for figure in outcome.figures if figure.flow == "game"}
    return own.get("RTT p95", math.nan), max(own.get(f"loss {way}", math.nan) for way in ("up", "down"))


def _misses(outcomes: Sequence[Outcome]) -> str:
    """Return how many misses each cause has."""
    known = causes()
    found = Counter(cause_of(case, figure, known) for case, figure in every(outcomes) if not figure.agrees)
    rows = [f"| {count} | {text} |" for text, count in found.most_common()]
    return "\n".join(["| misses | cause |", "| --- | --- |", *rows])


def plot(outcomes: Sequence[Outcome]) -> str:
    """Draw every figure: kernel across, simulator up; on the line both are equal."""
    units = dict.fromkeys(figure.unit for _, figure in every(outcomes))
    drawn = alt.hconcat(*(_panel(outcomes, unit) for unit in PANELS if unit in units), background="#ffffff")
    made: str = vl_convert.vegalite_to_svg(drawn.to_dict(), vl_version=VEGA_LITE)
    return made


def _panel(outcomes: Sequence[Outcome], unit: str) -> alt.LayerChart | alt.FacetChart:
    means = [
        (figure.agrees, *(max(mean, LEAST) for mean in figure.means))
        for _, figure in every(outcomes)
        if figure.unit == unit and figure.kernel and figure.sim
    ]
    points = [
        {"kernel": kernel, "simulator": sim, "agrees": (AGREES if agrees else DIFFERS)[0]}
        for agrees, kernel, sim in means
    ]
    values = [mean for _, kernel, sim in means for mean in (kernel, sim)]
    ends = [min(values), max(values)]
    scale = alt.Scale(type="log", domain=ends)
    across = alt.X("kernel:Q", scale=scale, title=f"Linux, {unit}")
    up = alt.Y("simulator:Q", scale=scale, title=f"simulator, {unit}")
    colours = alt.Scale(domain=[AGREES[0], DIFFERS[0]], range=[AGREES[1], DIFFERS[1]])
    equal = alt.Chart(alt.InlineData(values=[{"kernel": end, "simulator": end} for end in ends]))
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(size=14, filled=True, opacity=0.6)
    return alt.layer(
        equal.mark_line(color="#888888", strokeWidth=1).encode(across, up),
        marks.encode(across, up, alt.Color("agrees:N", title=None, scale=colours)),
    ).properties(width=230, height=230, title=PANELS[unit])
