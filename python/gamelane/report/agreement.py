"""Describes agreement between sources in words and table cells, for page and terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gamelane.analysis.stats import Estimate
from gamelane.plot.style import Look, noun, number, variant_looks
from gamelane.records.results import Results
from gamelane.report.agreements import (
    BOUND_MS,
    BOUND_PERCENT,
    QUANTITIES,
    Agreement,
    Compared,
    Order,
    Swap,
    agreements,
)

BOUND = f"{BOUND_PERCENT:g} % or {BOUND_MS:g} ms"


@dataclass(frozen=True)
class Row:
    """A line of the table. `look` is that of its variant."""

    look: Look
    quantity: str
    first: Estimate
    other: Estimate
    difference: str
    percent: str
    within: str


@dataclass(frozen=True)
class Sheet:
    """The comparison of two sources for one flow."""

    title: str
    sentence: str
    first: str
    other: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    """Notes about the order of variants, and about variants that only one source has."""


def sheets(results: Results) -> tuple[Sheet, ...]:
    """Return a table for each pair of sources and each flow; empty unless results are overlaid."""
    looks = _looks(results)
    return tuple(
        Sheet(
            f"Do {of.first} and {of.other} agree on {noun(of.flow)}?",
            sentence(of, looks),
            of.first,
            of.other,
            tuple(_row(row, looks) for row in of.rows),
            (*(_order(order, of, looks) for order in of.orders), *_alone(results, of, looks)),
        )
        for of in agreements(results)
    )


def sentences(results: Results) -> str:
    """Say for each pair of sources whether they agree on the main flow of the report."""
    found = agreements(results)
    return " ".join(sentence(of, _looks(results)) for of in found if of.flow == found[0].flow)


def sentence(of: Agreement, looks: dict[str, Look]) -> str:
    """Say whether two sources agree, and where they differ most if they do not."""
    about = f"on the RTT of {noun(of.flow)}"
    told = [row for row in of.rows if row.within is not None]
    if not told:
        return f"{of.first} and {of.other} cannot be compared {about}: no variant has an RTT in both."
    said = "agree" if of.agrees else "do not agree"
    parts = [f"{of.first} and {of.other} {said} {about}: {_count(len(told) - len(of.outside), len(told))}"]
    if of.outside:
        row = max(of.outside, key=lambda row: abs(row.difference_percent or 0.0))
        parts.append(
            f"the largest difference is in the {QUANTITIES[row.quantity]} of {looks[row.variant].own_label}, "
            f"{number(row.first.mean)} ms in {of.first} and {number(row.other.mean)} ms in {of.other}"
        )
    if of.orders:
        parts.append(_order_as_a_whole(of))
    return f"{'; '.join(parts)}."


def _count(within: int, of: int) -> str:
    share = f"all {of}" if within == of else f"{within} of {of}"
    return f"{share} medians and 95th percentiles are within {BOUND}"


def _order_as_a_whole(of: Agreement) -> str:
    if any(order.contradicts for order in of.orders):
        return "the order of the variants differs"
    if all(order.identical for order in of.orders):
        return "the order of the variants is identical"
    return "only variants that the runs cannot distinguish change places"


def signed(value: float | None) -> str:
    """Write a difference with its sign."""
    if value is None or float(number(value)) == 0:
        return number(value)
    return f"{'+' if value > 0 else MINUS}{number(abs(value))}"


MINUS = "\N{MINUS SIGN}"


def _looks(results: Results) -> dict[str, Look]:
    """Return looks by the names that variants share."""
    looks = variant_looks(results)
    found: dict[str, Look] = {}
    for variant in results.variants:
        found.setdefault(variant.own_name, looks[variant.name])
    return found


def _row(row: Compared, looks: dict[str, Look]) -> Row:
    return Row(
        looks[row.variant],
        QUANTITIES[row.quantity],
        row.first,
        row.other,
        signed(row.difference_ms),
        signed(row.difference_percent),
        {True: "yes", False: "no", None: "n/a"}[row.within],
    )


def _order(order: Order, of: Agreement, looks: dict[str, Look]) -> str:
    labels = ", ".join(looks[name].own_label for name in order.first)
    by = f"Order by the {QUANTITIES[order.quantity]}, lowest first"
    if order.identical:
        return f"{by}, identical: {labels}."
    swaps = (
        f"{looks[swap.variants[0]].own_label} and {looks[swap.variants[1]].own_label} change places, "
        f"{number(swap.apart_ms[0])} ms apart in {of.first} and {number(swap.apart_ms[1])} ms in {of.other}"
        f"{'' if swap.contradicts else ', not distinguished by ' + _doubtful(swap, of)}"
        for swap in order.swaps
    )
    return f"{by}, not identical: {labels} in {of.first}; {'; '.join(swaps)}."


def _alone(results: Results, of: Agreement, looks: dict[str, Look]) -> Iterator[str]:
    names = {
        source: [each.own_name for each in results.variants if each.source == source] for source in (of.first, of.other)
    }
    for source, missing in ((of.first, of.other), (of.other, of.first)):
        alone = [looks[name].own_label for name in names[source] if name not in names[missing]]
        if alone:
            yield f"Only in {source}: {', '.join(alone)}."


def _doubtful(swap: Swap, of: Agreement) -> str:
    unsure = [name for name, told in zip((of.first, of.other), swap.told_apart, strict=True) if not told]
    return f"the runs of {' and '.join(unsure)}"
