"""The table on terminals of any width: labels and numbers stay whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gamelane import Results
from gamelane.report.terminal import show


@pytest.mark.parametrize(("width", "intervals"), [(200, True), (80, True), (60, False)])
def test_nothing_is_cut(queues: Results, width: int, intervals: bool) -> None:
    text = io.StringIO()
    show(queues, Console(file=text, width=width))
    assert "…" not in text.getvalue()
    row = next(line for line in text.getvalue().splitlines() if line.startswith("FQ-CoDel "))
    assert (" ± " in row) == intervals
    assert len(row.replace(" ± ", "±").split()) == 7  # the label, four round trips, loss, goodput
