"""Settings of what a paper leaves open: each is another scenario, and the page shows the verdicts that it moves."""

from __future__ import annotations

import pytest

from gamelane.claims import Claim, Verdict
from gamelane.claims.collom2016.arms import paper
from gamelane.claims.evidence import PLAIN
from gamelane.claims.settings import Setting, Settings, Under, page

from .test_pinned import LEDGER

PAPERS = ("collom2016", "but2006", "burriss2006")


@pytest.mark.parametrize("name", PAPERS)
def test_every_setting_changes_the_scenario(name: str) -> None:
    first, *others = Settings.read(name).settings
    assert first == Setting(first.name)
    arms = [paper("fifo"), paper("pie")] if name == "collom2016" else [PLAIN]
    hashes = {
        tuple(Under(name, each, repeats=1, threads=1).scenario(arm).hash for arm in arms) for each in (first, *others)
    }
    assert len(hashes) == 1 + len(others)


def test_a_limit_replaces_that_of_the_arms() -> None:
    under = Under("collom2016", Setting("bytes", limits={"100p": "150000B"}), repeats=1, threads=1)
    limits = [under.document(paper(queue))["gateway"]["up"]["limit"] for queue in ("fifo", "pie")]
    assert limits == ["150000B", "1000p"]


@pytest.mark.parametrize("name", PAPERS)
def test_the_page_has_the_settings_of_the_file(name: str) -> None:
    """If this fails, run `scripts/claims.py --settings PAPER`."""
    text = (LEDGER / f"{name}-settings.md").read_text(encoding="utf-8")
    for number, setting in enumerate(Settings.read(name).settings):
        assert f"| {number} | {setting.name} | {setting.keys} |" in text


def test_the_page_shows_what_moves() -> None:
    first, second = (Claim(f"paper.{name}", "", "result", "", "", "") for name in ("a", "b"))
    rows = [
        (
            Setting("as it is"),
            [(first, Verdict(first.id, "reproduced", "", "")), (second, Verdict(second.id, "differs", "", ""))],
        ),
        (
            Setting("other", {"link.rtt": "1ms"}),
            [(first, Verdict(first.id, "cannot-tell", "", "")), (second, Verdict(second.id, "differs", "", ""))],
        ),
    ]
    text = page("paper", rows, 5)
    assert "| 1 | other | `link.rtt=1ms` | 1 differs, 1 cannot tell |" in text
    assert "| `a` | + | ? |" in text
    assert "| `b` |" not in text
    assert "1 of 2 verdicts move. Of the others 0 agree and 1 differ" in text
