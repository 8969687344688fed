"""`gamelane doctor`: checks what works on this machine, and how to get what is missing."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from gamelane import doctor as checks
from gamelane.terminal.talk import emit, stdout


def doctor(json: bool, measure: bool) -> None:
    """Check what works on this machine, and how to get what is missing. Changes nothing."""
    found = checks.examine()
    if measure:
        found += checks.measure()
    if json:
        emit(
            {
                "schema": 1,
                "ok": all(check.ok for check in found if check.needed),
                "checks": [asdict(check) for check in found],
            }
        )
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for check in found:
        mark = Text("ok", style="green") if check.ok else Text("missing" if check.needed else "no", style="yellow")
        remedy = f"{check.detail}; {check.remedy}" if check.remedy and not check.ok else check.detail
        table.add_row(mark, check.name, remedy)
    stdout().print(table)
