"""Contrast of text and lines with the page, as WCAG 2.2 counts it (1.4.3 and 1.4.11)."""

from __future__ import annotations

import pytest

from gamelane.plot import style
from gamelane.report import capture_games, capture_plots, tune_figure

TEXT, LINE = 4.5, 3.0
LINES = {
    *(colour for shades in style.SHADES_OF_QUEUES.values() for colour in shades),
    *style.OTHERS,
    *style.APPS.values(),
    *style.DIRECTIONS.values(),
    *tune_figure.COLOURS.values(),
    *(colour for _, colour in capture_games.CAUSES),
    capture_plots.LAG,
}


@pytest.mark.parametrize("theme", style.THEMES)
def test_colours_stand_out_from_the_page(theme: str) -> None:
    colours = style.THEMES[theme]
    assert {name for name in LINES if _contrast(colours.get(name, name), colours["$paper"]) < LINE} == set()
    assert {name for name in ("$ink", "$muted") if _contrast(colours[name], colours["$paper"]) < TEXT} == set()


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
