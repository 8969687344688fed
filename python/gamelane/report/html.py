"""The report as one page that opens without a network: plots, their data and the code that draws them are inside.

The page is `page.html` with `page.css` and `page.js`; this file only gathers what they need.
"""

from __future__ import annotations

import functools
import json
import shlex
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from gamelane import _native
from gamelane.analysis.tables import focus, neighbours_table, summary_table
from gamelane.records.results import Results
from gamelane.report.figures import figures
from gamelane.report.headline import headline
from gamelane.report.images import VEGA_LITE
from gamelane.report.panels import Figure
from gamelane.report.style import CONFIG, THEMES, flow_colours, half_width, noun, number, variant_looks

HERE = Path(__file__).parent


def page(results: Results, drawn: list[Figure] | None = None) -> str:
    """Return the page."""
    drawn = figures(results) if drawn is None else drawn
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    environment.filters["half_width"] = half_width
    environment.filters["noun"] = noun
    environment.filters["css"] = css_colour
    return environment.get_template("page.html").render(
        results=results,
        headline=headline(results),
        looks=variant_looks(results),
        colours=flow_colours(results.flows),
        tables=[(flow, summary_table(results, flow), neighbours_table(results, flow)) for flow in focus(results)],
        figures=drawn,
        runs=max(len(variant.runs) for variant in results.variants),
        command=command(results),
        version=_native.version(),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        plots=plots(drawn),
        **scripts(),
    )


def plots(drawn: list[Figure]) -> Markup:
    """Figures as the JSON that `page.js` draws."""
    return Markup(script_json({"config": CONFIG, "themes": THEMES, "panels": panels(drawn)}))


def scripts() -> dict[str, Markup]:
    """The plotting library, and what draws with it."""
    return {
        "script": Markup((HERE / "page.js").read_text(encoding="utf-8")),
        "library": Markup(library()),
    }


def command(results: Results) -> str:
    """Return what to type to get these records again."""
    if results.command:
        return shlex.join(results.command)
    seeds = [run.seed for run in results.variants[0].runs]
    return f"gamelane run {shlex.quote(results.file)} --seed {seeds[0]} --repeat {len(seeds)}"


def panels(drawn: list[Figure]) -> dict[str, Any]:
    """Vega-Lite specifications by the name of the place on the page."""
    return {
        f"{figure.name}-{index}": _without_schema(panel.chart.properties(width="container").to_dict())
        for figure in drawn
        for index, panel in enumerate(figure.panels)
    }


def _without_schema(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def css_colour(colour: str) -> str:
    """Write a colour for CSS, where the theme's are variables."""
    return f"var(--{colour.removeprefix('$')})" if colour.startswith("$") else colour


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, from the package that also makes the pictures."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    return bundle.replace("</script", "<\\/script")
