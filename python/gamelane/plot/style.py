"""Labels, colours and number formats of variants and flows, the same in every output.

A colour is a name that starts with `$`. Each theme of a page has its own shade of it (see `THEMES`), with a contrast of
3:1 with the page. Colour-blind readers can distinguish the colours (`tests/report/test_colours.py`). Queues without
flow isolation are warm, flow queues are blue, class queues are green.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gamelane import catalogue
from gamelane.analysis.stats import Estimate
from gamelane.records.results import Flow, Results, Variant

SHADES_OF_QUEUES = {
    "nothing": ("$orange", "$pink", "$ochre", "$rust"),
    "flows": ("$blue", "$steel", "$violet"),
    "classes": ("$green", "$olive", "$pine"),
}
"""Colours of queues by what they isolate, in the order of the catalogue."""
OTHERS = (
    "$blue",
    "$orange",
    "$green",
    "$pink",
    "$ochre",
    "$steel",
    "$violet",
    "$rust",
    "$olive",
    "$pine",
    "$ink",
    "$muted",
)
APPS = {"game": "$ink", "call": "$pink", "transfer": "$steel", "video": "$ochre", "web": "$violet"}
"""Colours of applications by group."""
DIRECTIONS = {"up": "$green", "down": "$muted"}
DASHES = ((1, 0), (6, 4), (1.5, 2.5), (8, 3, 1.5, 3))
"""Lines of overlaid sources in their order: solid, dashed, dotted, dash-dotted."""
SHADES = (1.0, 0.45, 0.3, 0.2)
"""Opacity of the areas of overlaid sources, in their order."""

THEMES = {
    "light": {"$ink": "#1d2329", "$muted": "#626c76", "$grid": "#e6e9ec", "$paper": "#ffffff"}
    | {"$orange": "#d55e00", "$pink": "#c36c98", "$ochre": "#94733d", "$rust": "#8d3117"}
    | {"$blue": "#0072b2", "$steel": "#154976", "$violet": "#8a66e8"}
    | {"$green": "#009e73", "$olive": "#719320", "$pine": "#2a674d"},
    "dark": {"$ink": "#e8ebee", "$muted": "#8f9aa5", "$grid": "#2c343b", "$paper": "#14181c"}
    | {"$orange": "#e06e1d", "$pink": "#f984ba", "$ochre": "#edc148", "$rust": "#b5503c"}
    | {"$blue": "#2f96d6", "$steel": "#93cff9", "$violet": "#6266d6"}
    | {"$green": "#25c18f", "$olive": "#b2cb60", "$pine": "#478b66"},
}

CONFIG: dict[str, Any] = {
    "background": "$paper",
    "font": "Inter, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "$grid",
        "gridColor": "$grid",
        "labelColor": "$muted",
        "labelFontSize": 11,
        "tickColor": "$grid",
        "tickSize": 4,
        "titleColor": "$muted",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
    "axisX": {"grid": False, "tickCount": 6, "titleAnchor": "end", "titlePadding": 2},
    "axisY": {"domain": False, "ticks": False, "tickCount": 4, "labelPadding": 6}
    | {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": -28, "titleY": -9},
    "title": {"anchor": "start", "color": "$ink", "fontSize": 13, "fontWeight": 600, "offset": 14},
}
"""Vega-Lite configuration of every plot: light axes, with the unit above the y axis instead of along it."""


@dataclass(frozen=True)
class Look:
    """Label and colour of a variant, and its limit or changed keys as a second line.

    Overlaid variants have one colour, with a line style and shade for each source.
    """

    own_label: str
    colour: str
    detail: str
    source: str = ""
    place: int = 0
    """Position of the source, from 0."""

    @property
    def label(self) -> str:
        """Label with the source, if there are several."""
        return f"{self.own_label} ({self.source})" if self.source else self.own_label

    @property
    def dash(self) -> tuple[float, ...]:
        """Return the dash pattern in pixels: drawn, left out, and so on."""
        return DASHES[self.place]

    @property
    def shade(self) -> float:
        """Return the opacity of an area."""
        return SHADES[self.place]


def _queue_colours() -> dict[str, str]:
    left = {group: itertools.cycle(shades) for group, shades in SHADES_OF_QUEUES.items()}
    return {word: next(left[queue.isolates]) for word, queue in catalogue.QUEUES.items()}


QUEUES = {word: (catalogue.QUEUES[word].label, colour) for word, colour in _queue_colours().items()}
"""Label and colour of every queue."""


def variant_looks(results: Results) -> dict[str, Look]:
    """Label each variant by its queue if the variants are queues, else by its name."""
    if results.sources:
        return _overlaid_looks(results)
    queues = [_queues(variant) for variant in results.variants]
    apart = len({up for up, _ in queues}) == len(queues) and all(up in QUEUES for up, _ in queues)
    named = all(variant.name in QUEUES and "policy" not in variant.overrides for variant in results.variants)
    if results.engine == "live":  # live packets did not pass through the scenario's queues
        return {variant.name: Look(REAL, OTHERS[0], "") for variant in results.variants}
    looks = {}
    for position, (variant, queue) in enumerate(zip(results.variants, queues, strict=True)):
        if apart and (named or len(queues) == 1):
            looks[variant.name] = Look(_queue_label(queue), QUEUES[queue[0]][1], _limit(variant))
        else:
            changes = ", ".join(f"{key} = {value}" for key, value in variant.overrides.items())
            looks[variant.name] = Look(variant.name, OTHERS[position % len(OTHERS)], changes)
    return looks


def _overlaid_looks(results: Results) -> dict[str, Look]:
    own: dict[str, Variant] = {}
    for variant in results.variants:
        own.setdefault(variant.own_name, replace(variant, name=variant.own_name))
    looks = variant_looks(replace(results, engine="", variants=tuple(own.values()), sources=()))
    places = {source.name: place for place, source in enumerate(results.sources)}
    return {
        variant.name: replace(
            looks[variant.own_name],
            source=variant.source,
            place=places[variant.source],
            **({"own_label": REAL} if results.engine_of(variant) == "live" else {}),
        )
        for variant in results.variants
    }


REAL = "real packets"


def flow_colours(flows: Sequence[Flow]) -> dict[str, str]:
    """Return a colour per flow, by application. Further flows of one application take the remaining colours."""
    colours: dict[str, str] = {}
    for flow in flows:
        own = APPS.get(catalogue.group(flow.app), "$muted")
        if own in colours.values():
            own = next((colour for colour in OTHERS if colour not in colours.values()), "$muted")
        colours[flow.name] = own
    return colours


def noun(flow: Flow) -> str:
    """Name a flow within a sentence."""
    if flow.name == flow.app:
        return f"the {flow.app}"
    return f"the game {flow.name}" if flow.app == "game" else flow.name


def number(value: float | None) -> str:
    """Write three significant digits, or a whole number, never an exponent."""
    if value is None:
        return "n/a"
    size = abs(value)
    if size == 0:
        return "0"
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def half_width(of: Estimate) -> str:
    """Return the half-width with the decimals of its mean; empty if one run gives no interval."""
    if of.ci95 is None or of.mean is None:
        return ""
    decimals = len(number(of.mean).partition(".")[2])
    return f"{of.ci95:.{decimals}f}"


def _queue_label(queue: tuple[str, str]) -> str:
    up, down = (QUEUES.get(name, (name, ""))[0] for name in queue)
    return up if up == down else f"{up} up, {down} down"


def _queues(variant: Variant) -> tuple[str, str]:
    return _both_ways(variant, "queue")


def _limit(variant: Variant) -> str:
    up, down = _both_ways(variant, "limit")
    if up == down:
        return f"limit {up}" if up else ""
    return "limit " + ", ".join(f"{limit} {way}" for limit, way in ((up, "up"), (down, "down")) if limit)


def _both_ways(variant: Variant, key: str) -> tuple[str, str]:
    """Return a key of the queues where packets wait. Upstream of an unshaped cable modem that is the modem's."""
    scenario = tomllib.loads(variant.toml)
    gateway = scenario.get("gateway", {})
    in_modem = scenario.get("link", {}).get("kind") == "docsis" and not _shapes_up(gateway)
    up, down = (str(gateway.get(queue, {}).get(key, "")) for queue in ("modem" if in_modem else "up", "down"))
    return up, down


def _shapes_up(gateway: Mapping[str, Any]) -> bool:
    shape = gateway.get("shape")
    return bool(shape.get("up") if isinstance(shape, Mapping) else shape)
