"""Figure 5 of the paper: the distribution of the game's queueing delay upstream, one run an arm.

python -m gamelane.claims.but2006.figure docs/img/but2006-fig5.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert

from gamelane import _native, experiment, whole
from gamelane.claims.but2006.arms import FIFO, GAME, PRIORITY
from gamelane.claims.evidence import Arm, columns
from gamelane.plot.images import VEGA_LITE, WIDTH, themed
from gamelane.plot.style import CONFIG

ARMS = {"FIFO": FIFO, "priority": PRIORITY}
COLOURS = ["$orange", "$blue"]
POINTS = 201


def write(path: Path) -> None:
    """Run the arms and write the figure as SVG."""
    rows = [row for name, arm in ARMS.items() for row in _curve(name, arm)]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True)
        .encode(
            x=alt.X("ms:Q", title="queueing delay upstream, ms", scale=alt.Scale(type="log", domain=[1, 2000])),
            y=alt.Y("share:Q", title="share of the game's packets that arrived"),
            color=alt.Color("arm:N", title=None, scale=alt.Scale(domain=list(ARMS), range=COLOURS)),
        )
        .properties(width=2 * WIDTH, height=WIDTH, title="but2006, figure 5")
    )
    spec = themed({**chart.to_dict(), "config": CONFIG}, "light")
    whole.replace(path, vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))


def _curve(name: str, arm: Arm) -> list[dict[str, float | str]]:
    scenario = experiment.load("but2006").scenario.with_overrides(list(arm.overrides))
    table = columns(_native.run(scenario, scenario.seed), "delay")
    mine = (table["flow"] == GAME) & (table["direction"] == "up") & (table["t_s"] > scenario.warmup_s)
    shares = np.linspace(0, 1, POINTS)
    delays = np.quantile(table["queue_delay_ms"][mine], shares)
    return [
        {"arm": name, "ms": float(delay), "share": float(share)} for delay, share in zip(delays, shares, strict=True)
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
