"""Tests whether engines agree on the RTT of a game, variant by variant, from overlaid results.

Values are means over runs. Two values agree if they differ by at most 3 ms or 10 % of the first source's value,
whichever is more: the bound that gamelane's lab was built to meet against the simulator. The comparison also covers the
order of the variants, because a choice between queues depends on it. Variants that differ by less than the runs do may
change places between any two sources, for example two simulations with different seeds. That is reported, but it is no
disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from gamelane.analysis.stats import Estimate, estimate, paired
from gamelane.records.results import Flow, Results, Variant
from gamelane.report.tables import focus

BOUND_MS = 3.0
BOUND_PERCENT = 10.0

QUANTITIES = {"p50": "median", "p95": "95th percentile"}
"""Quantities of the RTT: their key in the records, and their name in sentences."""

Values = Mapping[int, float | None]
"""Values of one variant, by seed."""


@dataclass(frozen=True)
class Compared:
    """One quantity of one variant in two sources, in ms."""

    variant: str
    """Name of the variant without its source."""
    quantity: str
    """A key of `QUANTITIES`."""
    first: Estimate
    other: Estimate

    @property
    def difference_ms(self) -> float | None:
        """Difference: the other source minus the first; None if one of them has no RTT."""
        if self.first.mean is None or self.other.mean is None:
            return None
        return self.other.mean - self.first.mean

    @property
    def difference_percent(self) -> float | None:
        """Difference in percent of the first source's value."""
        if self.difference_ms is None or not self.first.mean:
            return None
        return 100 * self.difference_ms / self.first.mean

    @property
    def within(self) -> bool | None:
        """Return whether the difference is within the bound; None if it is unknown."""
        if self.difference_ms is None or self.first.mean is None:
            return None
        return abs(self.difference_ms) <= bound_ms(self.first.mean)


def bound_ms(of_ms: float) -> float:
    """Return how far a value may be from this one."""
    return max(BOUND_MS, of_ms * BOUND_PERCENT / 100)


@dataclass(frozen=True)
class Swap:
    """Two variants that the sources order differently, with their distance in each source in ms."""

    variants: tuple[str, str]
    """The first name is the variant that is lower in the first source."""
    apart_ms: tuple[float, float]
    told_apart: tuple[bool, bool]
    """For each source, whether the 95 % interval of the difference over seeds excludes zero. With one run: whether the
    difference exceeds the bound.
    """

    @property
    def contradicts(self) -> bool:
        """Return whether both sources are sure of their order."""
        return all(self.told_apart)


@dataclass(frozen=True)
class Order:
    """Variants from the lowest to the highest RTT in both sources."""

    quantity: str
    first: tuple[str, ...]
    other: tuple[str, ...]
    swaps: tuple[Swap, ...]

    @property
    def identical(self) -> bool:
        """Return whether both orders are the same."""
        return not self.swaps

    @property
    def contradicts(self) -> bool:
        """Return whether variants change places although both sources distinguish them."""
        return any(swap.contradicts for swap in self.swaps)


@dataclass(frozen=True)
class Agreement:
    """The comparison of two sources for one flow."""

    flow: Flow
    first: str
    other: str
    rows: tuple[Compared, ...]
    orders: tuple[Order, ...]
    """One order per quantity; none if there are fewer than two variants."""

    @property
    def outside(self) -> tuple[Compared, ...]:
        """Return the rows outside the bound."""
        return tuple(row for row in self.rows if row.within is False)

    @property
    def agrees(self) -> bool:
        """Return whether all known values are within the bound and no order contradicts the other."""
        told = [row.within for row in self.rows if row.within is not None]
        return bool(told) and all(told) and not any(order.contradicts for order in self.orders)


def agreements(results: Results) -> tuple[Agreement, ...]:
    """Compare every further source with the first, for each main flow; empty unless results are overlaid."""
    if not results.sources:
        return ()
    first, *others = (source.name for source in results.sources)
    found = (_agreement(results, flow, first, other) for other in others for flow in focus(results))
    return tuple(agreement for agreement in found if agreement.rows)


def document(found: Sequence[Agreement]) -> dict[str, Any]:
    """Return `agreement` of the JSON output (docs/json-schema.md)."""
    return {
        "bound": {"ms": BOUND_MS, "percent": BOUND_PERCENT},
        "agree": all(agreement.agrees for agreement in found) if found else None,
        "pairs": [
            {
                "flow": agreement.flow.name,
                "sources": [agreement.first, agreement.other],
                "agree": agreement.agrees,
                "rows": [_row(row) for row in agreement.rows],
                "order": {f"rtt_ms.{order.quantity}": _order(order) for order in agreement.orders},
            }
            for agreement in found
        ],
    }


def _row(row: Compared) -> dict[str, Any]:
    return {
        "variant": row.variant,
        "quantity": f"rtt_ms.{row.quantity}",
        "values": [row.first.as_json(), row.other.as_json()],
        "difference_ms": row.difference_ms,
        "difference_percent": row.difference_percent,
        "within": row.within,
    }


def _order(order: Order) -> dict[str, Any]:
    return {
        "identical": order.identical,
        "contradicts": order.contradicts,
        "lowest_first": [list(order.first), list(order.other)],
        "swaps": [
            {"variants": list(swap.variants), "apart_ms": list(swap.apart_ms), "told_apart": list(swap.told_apart)}
            for swap in order.swaps
        ],
    }


def _agreement(results: Results, flow: Flow, first: str, other: str) -> Agreement:
    own, others = (
        {variant.own_name: variant for variant in results.variants if variant.source == source}
        for source in (first, other)
    )
    rows, orders = [], []
    for quantity in QUANTITIES:
        values = {
            name: (_values(own[name], flow, quantity), _values(others[name], flow, quantity))
            for name in own
            if name in others
        }
        found = [Compared(name, quantity, *map(_estimate, both)) for name, both in values.items()]
        rows += [row for row in found if row.first.mean is not None or row.other.mean is not None]
        orders.append(_ordered(quantity, {row.variant: values[row.variant] for row in found if row.within is not None}))
    rows.sort(key=lambda row: list(own).index(row.variant))
    return Agreement(flow, first, other, tuple(rows), tuple(order for order in orders if len(order.first) > 1))


def _values(variant: Variant, flow: Flow, quantity: str) -> Values:
    runs = ((run.seed, run.summary["flows"].get(flow.name)) for run in variant.runs)
    return {seed: None if of is None else of["rtt_ms"][quantity] for seed, of in runs}


def _estimate(values: Values) -> Estimate:
    return estimate(list(values.values()))


def _ordered(quantity: str, values: Mapping[str, tuple[Values, Values]]) -> Order:
    means = {name: tuple(_estimate(of).mean or 0.0 for of in both) for name, both in values.items()}
    first, other = (tuple(sorted(means, key=lambda name: means[name][place])) for place in (0, 1))
    swaps = []
    for low, high in combinations(first, 2):
        apart = [means[high][place] - means[low][place] for place in (0, 1)]
        if apart[1] < 0:
            told = [_told_apart(values[low][place], values[high][place]) for place in (0, 1)]
            swaps.append(Swap((low, high), (apart[0], -apart[1]), (told[0], told[1])))
    return Order(quantity, first, other, tuple(swaps))


def _told_apart(low: Values, high: Values) -> bool:
    difference = paired(low, high)
    if difference.pairs > 1:
        return difference.clear
    own, other = (_estimate(of).mean or 0.0 for of in (low, high))
    return abs(own - other) > bound_ms(min(own, other))
