"""docs/today.md is made of the runs that this version would make."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.today.page import IDENTITY, identity

from gamelane import _native, experiment

PAGE = Path(__file__).parents[2] / "docs" / "today.md"


def test_the_page_of_today_is_not_stale() -> None:
    """Households, plans, policies, models, the seeds and the version make the identity of the runs."""
    said = PAGE.read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert said == IDENTITY.format(identity()), "run `python -m bench.today`, and read what the page says now"


def test_the_page_has_a_number_of_today() -> None:
    """The engines change too: one cell of the page is simulated again."""
    chosen = experiment.load("family", {"policy": "cake"})
    results = chosen.run(seeds=3)
    late = results.summary["flows"]["cs2"]["rtt_ms"]["p99"]["mean"]
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `cake` |"))
    assert float(row.split("|")[2].strip(" *▲✖")) == pytest.approx(late, abs=0.06)


def test_every_household_has_a_sentence_to_remember_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    households = [each for each in _native.presets() if each["word"] == "household"]
    assert households
    for household in households:
        assert household["remember"]
        assert f"**Remember:** {household['remember']}" in page
