"""The ledger of the campaigns and the table made of it."""

from __future__ import annotations

from pathlib import Path

from campaigns import ledger
from campaigns.ledger import Tally


def test_the_table_in_the_document_is_of_the_ledger_that_is_stored() -> None:
    said = ledger.DOCUMENT.read_text(encoding="utf-8")
    assert said == ledger.document(), "make it again: .venv/bin/python -m campaigns --table"


def test_runs_of_one_subject_are_one_row_and_an_open_loss_stays_in_it(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    first = Tally("kills", "`run`", seconds=1800)
    first.add(kills=3, files_checked=20)
    second = Tally("kills", "`run`", lost=["report.html is cut"], mended="report: written whole", seconds=1800)
    second.add(kills=4)
    third = Tally("kills", "`sweep`", lost=["2 finished runs"])
    for tally in (first, second, third):
        tally.write(file)
    assert ledger.table(ledger.read(file)).splitlines()[2:] == [
        "| kills | `run` | 7 kills, 20 files checked | 60 | nothing (1 found and mended) |",
        "| kills | `sweep` |  | 0 | 2 finished runs |",
    ]
