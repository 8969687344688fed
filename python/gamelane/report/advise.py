"""Presents an advice: text for the terminal, JSON and a page."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gamelane.advise import household
from gamelane.advise.advice import Advice
from gamelane.advise.measured import Measured
from gamelane.analysis.bottleneck import Lane, Range
from gamelane.analysis.line import Phase
from gamelane.analysis.metrics import metrics
from gamelane.catalogue import INTERACTIVE
from gamelane.plot.style import number
from gamelane.report import tune
from gamelane.report.phase_figure import Series, figure
from gamelane.report.sheets import Heading, Sheet, searched, write
from gamelane.tune.choose import Trial

SCHEMA = 1
LOADED = ("up", "down", "both")
AGAIN = "To measure with CUBIC: "
AFTER = "after"
"""Folder of the measurement that proves an advice (docs/fix-my-line.md)."""


def headline(advice: Advice) -> str:
    """Return the recommendation in sentences."""
    if advice.found is None:
        added = number(advice.measured.bufferbloat_ms)
        return f"Leave the gateway as it is: load adds {added} ms to the game's round trip."
    if advice.settings is None or advice.has_household:
        return tune.recommendation(advice.found)
    before, after = (worst_ms(phases) for phases in (advice.measured.phases, advice.expected))
    change = f": the game's round trip under load (95 %) {number(before)} → {number(after)} ms"
    return " ".join([f"Set {tune.words(advice.settings)}{change}.", *tune.caveats(advice.found)])


def caveat(advice: Advice) -> list[str]:
    """Return why the promise may be missed, and what to do, in sentences; none if nothing is known or promised."""
    control = advice.measured.control
    if advice.found is None or household.is_simulated(control):
        return []
    again = measuring(advice.measured, "--congestion", "cubic", "-o", "with-cubic")
    return [
        f"The loads' TCP congestion control is {control}, which the simulator does not have: it took CUBIC.",
        "So the line may miss these figures by more than usual.",
        f"{AGAIN}{again}",
    ]


def measuring(measured: Measured, *words: str) -> str:
    """Return the command that measures a line again, with more words. Beyond loopback it needs the key."""
    programs = ",".join(sorted({each["program"] for each in measured.imported or ()}, reverse=True))
    if programs and measured.plan is None:
        return shlex.join(["gamelane", "measure", "--import", "FILE", *words])
    how = ["--by", programs] if programs else [] if _is_loopback(measured.host) else ["--key", "key"]
    return shlex.join(["gamelane", "measure", measured.host, *how, *words])


def _is_loopback(host: str) -> bool:
    """Return whether HOST, HOST:PORT or [HOST]:PORT is this computer."""
    name = host.removeprefix("[").partition("]")[0] if host.startswith("[") else host
    name = name.partition(":")[0] if name.count(":") == 1 else name
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def worst_ms(phases: Sequence[Phase]) -> float | None:
    """Return the largest 95th percentile of the game's round trip in a phase with load."""
    return max((phase.rtt_ms["p95"] for phase in phases if phase.name in LOADED and phase.rtt_ms), default=None)


def sentences(advice: Advice) -> list[str]:
    """Return what is known of the line."""
    link = advice.link
    said = [f"Round trip of the idle line: {_range(link.rtt_ms)} ms."]
    for name, lane in (("Up", link.up), ("Down", link.down)):
        said += [f"{name}: {' '.join(_lane(lane))}"]
    if (bytes_ := household.framing(link)) or link.framing_bytes:
        found = f"{_range(link.framing_bytes)} B" if link.framing_bytes else f"not found; {bytes_} B is assumed"
        said += [f"Framing of each packet: {found}. The shaper's rates count it, those above do not."]
    return said


def _lane(lane: Lane) -> list[str]:
    rate = _range(lane.rate_bps, 1e-6)
    said = [f"{rate} Mbit/s." if lane.rate_bps.high else f"at least {number(lane.rate_bps.value / 1e6)} Mbit/s."]
    if lane.wanders:
        low, high = min(lane.windows_bps) / 1e6, max(lane.windows_bps) / 1e6
        said.append(f"The rate wanders between {number(low)} and {number(high)} Mbit/s.")
    held = lane.buffer_bytes
    if lane.buffer_ms is None or held is None:
        said.append("The load made no queue.")
    elif lane.filled == "dropped":
        size = f"{number(lane.buffer_packets)} packets" if lane.buffer_packets else f"{number(held.value / 1e3)} kB"
        said.append(f"Its buffer holds {_range(lane.buffer_ms)} ms ({size}) and then drops.")
    else:
        said.append(f"Its buffer holds at least {number(lane.buffer_ms.value)} ms; the load did not fill it.")
    if lane.loss.low > 0:
        said.append(f"Without load {_range(lane.loss, 100)} % of the packets are lost.")
    return said


def _range(of: Range, factor: float = 1.0) -> str:
    if of.high is None:
        return f"at least {number(of.value * factor)}"
    low, high = of.low * factor, of.high * factor
    is_wide = f"{low:.3g}" != f"{high:.3g}"
    return number(of.value * factor) + (f" ({number(low)} to {number(high)})" if is_wide else "")


def document(advice: Advice) -> dict[str, Any]:
    """Return the JSON of `gamelane advise` (docs/json-schema.md)."""
    return {
        "schema": SCHEMA,
        "host": advice.measured.host,
        "recommendation": headline(advice),
        "caveat": " ".join(caveat(advice)) or None,
        "settings": advice.settings,
        "link": asdict(advice.link),
        "today": [asdict(phase) for phase in advice.today],
        "expected": [asdict(phase) for phase in advice.expected],
        "flows": flows(advice),
        "search": None if advice.found is None else tune.document(advice.found, dict(advice.recipes)),
    }


FIGURES = {"p50({}.rtt)": "ms", "p95({}.rtt)": "ms", "{}.loss": "%", "{}.goodput": "Mbit/s"}
"""Metrics of a flow in the table of flows, with the unit they are shown in."""


def flows(advice: Advice) -> list[dict[str, Any]]:
    """Return the means of `FIGURES` for each flow before and after, in their units; None for a flow without one."""
    if advice.found is None:
        return []
    before = advice.found.before
    after = advice.found.best or before
    known = metrics(before.rows[0])

    def means(flow: str, trial: Trial) -> dict[str, float | None]:
        wanted = {name: known.get(name.format(flow)) for name in FIGURES}
        return {name.format(flow): tune.shown(metric, trial) for name, metric in wanted.items() if metric}

    described = advice.scenario.flows()
    return [
        {"flow": flow["name"], "app": flow["app"]}
        | {when: means(flow["name"], trial) for when, trial in (("before", before), ("after", after))}
        for flow in sorted(described, key=lambda flow: flow["app"] not in INTERACTIVE)
    ]


def flows_sheet(advice: Advice) -> Sheet:
    """Return a table of the flows, today and with the recommended setting."""
    columns = ("RTT p50", "RTT p95", "lost", "goodput")
    headings = [Heading("flow")]
    for title, unit in zip(columns, FIGURES.values(), strict=True):
        headings += [Heading(title, unit), Heading("after", unit)]
    rows = []
    for each in flows(advice):
        names = [name.format(each["flow"]) for name in FIGURES]
        pairs = ((each[when].get(name) for when in ("before", "after")) for name in names)
        rows.append((each["flow"], *(number(value) for pair in pairs for value in pair)))
    return Sheet(
        "Who uses the line",
        tuple(headings),
        tuple(rows),
        "Simulated: today, and after the change. Means over the seeds.",
    )


def _expected(advice: Advice) -> list[Sheet]:
    """Return the tables of what to expect: of the measurement, and of a household."""
    is_known = advice.has_household and advice.found is not None
    return [phases_sheet("What to expect", named(advice)), *([flows_sheet(advice)] if is_known else [])]


def show(advice: Advice, lines: Sequence[str], folder: Path, console: Console) -> None:
    """Print the recommendation, the line, what to expect, and the lines that put it into effect."""
    console.print(Text(headline(advice), style="bold"))
    for sentence in caveat(advice):
        console.print(Text(sentence), soft_wrap=AGAIN in sentence)
    console.print()
    for sentence in sentences(advice):
        console.print(sentence, highlight=False)
    console.print()
    for sheet in _expected(advice):
        print_sheet(sheet, console)
    if not lines:
        return
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.print()
    console.print(Text("Then prove it:", style="bold"))
    console.print(Text(measuring(advice.measured, "--compare", str(folder), "-o", AFTER)), soft_wrap=True)


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print a table as text. A name stands only in the first of its rows."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in sheet.headings:
        title = f"{heading.text}\n{heading.unit}" if heading.unit else heading.text
        table.add_column(title, justify="left" if heading is sheet.headings[0] else "right", no_wrap=True)
    above = ""
    for name, *cells in sheet.rows:
        table.add_row("" if name == above else name, *cells)
        above = name
    console.print(table)
    console.print()


def named(advice: Advice) -> list[Series]:
    """Return what was measured, the same from simulation, and what to expect."""
    named = {"measured": advice.measured.phases, "simulated": advice.today, "expected": advice.expected}
    return [Series(name, phases) for name, phases in named.items() if phases]


def phases_sheet(title: str, series: Sequence[Series]) -> Sheet:
    """Return a table of the phases, one row for each and each series."""
    headings = (
        Heading("phase"),
        Heading("series"),
        Heading("RTT p50", "ms"),
        Heading("p95", "ms"),
        Heading("lost", "%"),
        Heading("up", "Mbit/s"),
        Heading("down", "Mbit/s"),
    )
    rows = []
    for name in dict.fromkeys(phase.name for each in series for phase in each.phases):
        for each in series:
            phase = next((phase for phase in each.phases if phase.name == name), None)
            if phase is not None:
                rtt = phase.rtt_ms or {}
                rates = (phase.up.mbps, phase.down.mbps)
                figures = (rtt.get("p50"), rtt.get("p95"), phase.loss_percent, *rates)
                rows.append((name, each.name, *map(number, figures)))
    caption = "Round trip of the game, packets of game and call that were lost, and payload of the TCP load."
    return Sheet(title, headings, tuple(rows), caption)


RANGES = (
    "In brackets: of the round trip, the 5th to the 95th percentile on the idle line. Of a rate and of losses, the "
    "95 % interval. Of a buffer, from the 95th percentile of the waits to one packet more than the longest."
)


def write_page(folder: Path, advice: Advice, lines: Sequence[str]) -> Path:
    """Write `report.html` and `figures/` of an advice; return the page."""
    rows = tuple((name, text) for name, text in (sentence.split(": ", 1) for sentence in sentences(advice)))
    sheets = (
        *_expected(advice),
        Sheet("The line", (Heading("what"), Heading("found")), rows, RANGES, is_text=True),
        *(() if advice.found is None else searched(advice.found)),
    )
    return write(
        folder,
        [figure(named(advice))],
        made_by="gamelane advise",
        title=f"Advice for the line to {advice.measured.host}",
        headline=" ".join([headline(advice), *caveat(advice)]),
        sheets=sheets,
        commands=lines,
    )
