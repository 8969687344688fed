"""The figures of the papers are drawn from the runs, with the numbers that the paper gives."""

from __future__ import annotations

import pytest

from gamelane.claims import PAPERS, Paper
from gamelane.claims.judge import Judged
from gamelane.report.papers import figures

from .short import evidence

DRAWN = {
    "collom2016": [f"fig{number}" for number in range(4, 26)],
    "griwodz2006": ["fig1a", "fig1b", "fig1c", "fig2", "fig3", "fig4", "fig5"],
    "palazzi-voap": ["fig2", "fig3"],
    "burriss2006": ["tables"],
    "but2006": ["fig3", "fig4", "fig5"],
}


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_is_drawn(name: str) -> None:
    drawn = figures(Judged(Paper.read(name), (), evidence=evidence(name)))
    assert [figure.name for figure in drawn] == [f"{name}-{number}" for number in DRAWN[name]]
    for figure in drawn:
        assert "<svg" in figure.svg
        assert "better" in figure.caption


def test_the_papers_numbers_are_points_of_the_figure() -> None:
    drawn = {
        figure.name: figure for figure in figures(Judged(Paper.read("collom2016"), (), evidence=evidence("collom2016")))
    }
    assert "paper: peak 570 ms" in drawn["collom2016-fig7"].svg
    assert "paper" not in drawn["collom2016-fig8"].svg
