"""Writes the headline of a report from its numbers."""

from __future__ import annotations

from gamelane.analysis.stats import Estimate
from gamelane.catalogue import MMO
from gamelane.plot.style import noun, number, variant_looks
from gamelane.records.results import GATEWAY, Flow, Results
from gamelane.report.tables import focus, summary_table


def headline(results: Results) -> str:
    """Compare the worst and the best variant by the highest RTT of the main flow.

    A game over TCP is compared by its 99.9 % delivery delay, which losses determine. Overlaid results are tested for
    agreement instead.
    """
    if results.sources:
        from gamelane.report.agreement import sentences  # noqa: PLC0415 - one engine alone is compared with nothing

        if said := sentences(results):
            return said
    flow = focus(results)[0]
    if flow.app == MMO:
        return _late_messages(results, flow)
    looks = variant_looks(results)
    table = summary_table(results, flow)
    keys = [column.key for column in table.columns]
    if results.engine == GATEWAY:
        up, down = (table.rows[0].cells[keys.index(f"{way}.queue_delay_ms.p99")].mean for way in ("up", "down"))
        waits = f"at most {number(up)} ms upstream and {number(down)} ms downstream"
        return f"99 % of the packets of {flow.name} wait {waits}."
    peaks = {row.variant.name: row.cells[keys.index("rtt_ms.max")] for row in table.rows}
    known = {name: peak for name, peak in peaks.items() if peak.mean is not None}
    if not known:
        losses = {row.variant.name: row.cells[keys.index("loss")] for row in table.rows}
        lost = max(losses.values(), key=lambda loss: -1.0 if loss.mean is None else loss.mean)
        return f"No packet of {flow.name} was answered; {'at worst ' if len(losses) > 1 else ''}{_loss(lost)}."
    worst = max(known, key=lambda name: known[name].mean or 0.0)
    best = min(known, key=lambda name: known[name].mean or 0.0)
    if worst == best:
        row = next(row for row in table.rows if row.variant.name == worst)
        median, loss = (row.cells[keys.index(key)] for key in ("rtt_ms.p50", "loss"))
        where = f"Behind {looks[worst].label} the" if results.engine == "sim" else "The"
        return (
            f"{where} RTT of {noun(flow)} is {number(median.mean)} ms at the median "
            f"and at most {number(known[worst].mean)} ms; {_loss(loss)}.{_runs(results)}"
        )
    if number(known[worst].mean) == number(known[best].mean):
        return f"The highest RTT of {noun(flow)} is {number(known[worst].mean)} ms with each of them.{_runs(results)}"
    return (
        f"The highest RTT of {noun(flow)} is {number(known[worst].mean)} ms with {looks[worst].label} "
        f"and {number(known[best].mean)} ms with {looks[best].label}.{_runs(results)}"
    )


def _late_messages(results: Results, flow: Flow) -> str:
    looks = variant_looks(results)
    table = summary_table(results, flow)
    tail, middle = (
        {
            row.variant.name: row.cells[[column.key for column in table.columns].index(f"delivery_ms.{key}")]
            for row in table.rows
        }
        for key in ("p999", "p50")
    )
    known = {name: cell for name, cell in tail.items() if cell.mean is not None}
    if not known:
        return f"No message of {flow.name} was delivered."
    worst = max(known, key=lambda name: known[name].mean or 0.0)
    best = min(known, key=lambda name: known[name].mean or 0.0)
    if worst == best:
        return (
            f"One message of {noun(flow)} in a thousand takes more than {number(known[worst].mean)} ms to its player. "
            f"The median is {number(middle[worst].mean)} ms.{_runs(results)}"
        )
    return (
        f"One message of {noun(flow)} in a thousand takes more than {number(known[worst].mean)} ms with"
        f" {looks[worst].label}"
        f" and more than {number(known[best].mean)} ms with {looks[best].label}.{_runs(results)}"
    )


def _loss(loss: Estimate) -> str:
    if loss.mean is None:
        return "how many of its packets are lost is unknown"
    if loss.mean == 0:
        return "none of its packets are lost"
    return f"{number(loss.mean)} % of its packets are lost"


def _runs(results: Results) -> str:
    runs = max(len(variant.runs) for variant in results.variants)
    return f" (Mean of {runs} runs.)" if runs > 1 else ""
