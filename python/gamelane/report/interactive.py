"""Adds to a plot what only a page can do: values under the pointer, zoom, and entries of the legend switched off.

Pictures (`plot.images`) and pages are made of the same charts, so a chart knows nothing of it. `page.js` sets the
parameters: `zoom` of plots with the same axis together, `hidden` from the legend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gamelane.plot.panels import Figure, Key

Spec = dict[str, Any]

ZOOM = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}
NEAREST = {
    "name": "near",
    "select": {"type": "point", "on": "pointerover", "clear": "pointerout", "nearest": True},
}
TIME = "t"
"""Name of the field of seconds in every plot over time."""


def interactive(spec: Spec) -> Spec:
    """Return a plot with tooltips, a zoom of its x axis if that has numbers, and the parameter `hidden`."""
    units = spec.get("layer", [spec])
    if not all("mark" in unit for unit in units):
        return spec
    common = {key: value for key, value in spec.items() if key not in ("mark", "encoding", "layer", "data")}
    data = {"data": spec["data"]} if "data" in spec else {}
    layers = [_switched(layer) for unit in units for layer in _layers({**data, **unit})]
    if axis(spec):
        layers[0] = {**layers[0], "params": [ZOOM]}
    return {**common, "params": [{"name": "hidden", "value": []}], "layer": layers}


def axis(spec: Spec) -> str:
    """Return the field of the x axis if it has numbers, else nothing: words cannot be zoomed."""
    axes = (unit.get("encoding", {}).get("x", {}) for unit in spec.get("layer", [spec]))
    return next((str(x["field"]) for x in axes if x.get("type") == "quantitative"), "")


def values(figure: Figure, key: Key) -> list[str]:
    """Return the values in the data of a figure that an entry of its legend stands for."""
    look: dict[str, Any] = {"color": key.colour, "fill": key.colour}
    if key.dash:
        look = {"strokeDash": list(key.dash)}
    elif key.shade != 1:
        look = {"opacity": key.shade}
    found: dict[str, None] = {}
    for spec in (panel.chart.to_dict() for panel in figure.panels):
        for unit in spec.get("layer", [spec]):
            for channel, scale in _scales(unit):
                pairs = zip(scale["domain"], scale["range"], strict=False)
                found |= {str(value): None for value, own in pairs if own == look.get(channel)}
    return list(found)


def _layers(unit: Spec) -> Iterator[Spec]:
    """Return the marks with their tooltip. Over a line lie points that name the nearest value."""
    unit = {
        key: value for key, value in unit.items() if key not in ("height", "width", "config", "$schema", "datasets")
    }
    kind = unit["mark"]["type"] if isinstance(unit["mark"], dict) else unit["mark"]
    named = {"tooltip": list(_named(unit["encoding"]))}
    if kind != "line":
        yield {**unit, "encoding": named | unit["encoding"]}
        return
    yield unit
    seen = {channel: unit["encoding"][channel] for channel in ("x", "y", "color") if channel in unit["encoding"]}
    shown = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    yield {
        **unit,
        "mark": {"type": "point", "filled": True, "size": 50},
        "params": [NEAREST],
        "encoding": {**seen, **named, "opacity": shown},
    }


def _named(encoding: Spec) -> Iterator[Spec]:
    """Return the values to show: what it is, then its place."""
    for channel in ("color", "fill", "x", "y", "y2", "text"):
        of = encoding.get(channel, {})
        if "field" in of and (channel not in ("color", "fill") or of.get("type") == "nominal"):
            guide = of.get("axis") or {}
            number = {"format": ",.4~r"} if of.get("type", "quantitative") == "quantitative" else {}
            title = guide.get("title") or of.get("title") or WORDS.get(of["field"], of["field"])
            yield {"field": of["field"], "type": of.get("type", "quantitative"), "title": title, **number}


def _switched(unit: Spec) -> Spec:
    """Return a layer without the values that the legend switched off."""
    fields = dict.fromkeys(unit["encoding"][channel]["field"] for channel, _ in _scales(unit))
    own = [{"filter": f"indexof(hidden, datum['{field}']) < 0"} for field in fields]
    return {**unit, "transform": [*own, *unit.get("transform", [])]} if own else unit


def _scales(unit: Spec) -> Iterator[tuple[str, Spec]]:
    """Return the channels of a layer that have a look for each value."""
    for channel in ("color", "fill", "strokeDash", "opacity"):
        of = unit.get("encoding", {}).get(channel, {})
        scale = of.get("scale") or {}
        if "field" in of and len(scale.get("domain", [])) == len(scale.get("range", [""])):
            yield channel, scale


WORDS = {"c": "line", "t": "s", "v": "value", "x": "x"}
"""Names of fields for a reader, where the axis has none."""
