"""Renders pages that open offline: style, plots, their data and the plotting library are inside.

Templates extend `base.html` and show figures with `figures.html`.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
import platformdirs
import vl_convert
from markupsafe import Markup, escape

from gamelane import _native, whole
from gamelane.plot import images
from gamelane.plot.images import VEGA_LITE
from gamelane.plot.panels import Figure, Panel
from gamelane.plot.style import CONFIG, THEMES, half_width, noun, number
from gamelane.report.interactive import axis, interactive, values
from gamelane.report.outline import outlined

HERE = Path(__file__).parent
ON_A_PAGE = {"background": "transparent"}
"""Configuration that a page has and a picture has not."""


def render(template: str, drawn: Sequence[Figure], *, styles: Sequence[str] = (), **values: Any) -> str:
    """Fill a template of this folder. `styles` are style sheets in addition to `page.css`."""
    return (
        environment()
        .get_template(template)
        .render(
            figures=drawn,
            version=_native.version(),
            style=Markup("".join([_themes(), *(text(name) for name in ("page.css", *styles))])),
            plots=Markup(script_json({"config": CONFIG | ON_A_PAGE, "themes": THEMES, "panels": panels(drawn)})),
            picture=picture,
            script=Markup(text("values.js") + text("page.js")),
            library=Markup(library()),
            **values,
        )
    )


def write(page: Path, text: str, drawn: Sequence[Figure]) -> Path:
    """Write a page together with its figures as pictures, beside it; return the page."""
    with whole.Together(page.parent, page.name, stale=("figures/*.png", "figures/*.svg")) as files:
        images.draw(drawn, files, "figures/")
        with files.file(page.name) as partial:
            partial.write_text(text, encoding="utf-8")
    return page


@functools.cache
def environment() -> jinja2.Environment:
    """Return the template environment with the shared filters."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"number": number, "half_width": half_width, "noun": noun, "css": css_colour, "commands": commands}
    made.filters |= {"outlined": outlined, "axis": _axis}
    made.globals["colours"] = colours
    made.globals["values"] = lambda figure, key: json.dumps(found) if (found := values(figure, key)) else ""
    return made


def _axis(panel: Panel) -> str:
    return axis(panel.chart.to_dict())


def commands(sentence: str) -> Markup:
    """Return a sentence in which text between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(sentence))))


def text(name: str) -> str:
    """Return the text of a file of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def panels(drawn: Sequence[Figure]) -> dict[str, Any]:
    """Return Vega-Lite specifications by the name of their place on the page."""
    return {
        f"{figure.name}-{index}": interactive(_without_schema(panel.chart.properties(width="container").to_dict()))
        for figure in drawn
        for index, panel in enumerate(figure.panels)
    }


def _without_schema(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def picture(figure: Figure) -> Markup:
    """Return a figure for readers without scripts. Names within it are made unique on the page."""
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", figure.svg)
    svg = re.sub(r'(id="|url\(#)', rf"\g<1>{figure.name}-", svg)
    name = escape(figure.title)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1))


def still(spec: dict[str, Any], words: str) -> Markup:
    """Return plots over time for readers without scripts. A flow may have thousands of marks, so it is no SVG."""
    png = base64.b64encode(images.png(spec)).decode()
    return Markup('<img class="still" alt="{}" src="data:image/png;base64,{}">').format(words, png)


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def colours(theme: str) -> str:
    """Return the colours of a theme as variables of CSS."""
    return " ".join(f"--{name.removeprefix('$')}: {value};" for name, value in THEMES[theme].items())


def _themes() -> str:
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {colours('dark')} }} }}"
    return f":root {{ {colours('light')} }}\n{dark}\n"


def css_colour(colour: str) -> str:
    """Return a colour for CSS, where the colours of the theme are variables."""
    return f"var(--{colour.removeprefix('$')})" if colour.startswith("$") else colour


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and vega-embed in one script, from the package that also makes the pictures.

    It takes two seconds to make, in which Ctrl-C waits, so it is made once for all reports of a user.
    """
    name = f"vega-{VEGA_LITE}-{metadata.version('vl-convert-python')}.js"
    kept = platformdirs.user_cache_path("gamelane") / name
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    bundle = bundle.replace("</script", "<\\/script")
    with suppress(OSError):  # no home, or no room
        kept.parent.mkdir(parents=True, exist_ok=True)
        whole.replace(kept, bundle)
    return bundle
