"""What runs in a guest: plays one case in its working directory. Prints the progress, one line a second."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from gamelane.errors import LabError, ScenarioError, UsageError
from gamelane.guest.case import ERROR, Case
from gamelane.lab.betweens import between
from gamelane.lab.run import Wanted, check, planned_for, play

AT = "gamelane at "
"""Begins a line of progress; seconds of virtual time follow."""


def main() -> None:
    """Play the case in the working directory, and write what was observed, or the error, there."""
    folder = Path.cwd()
    threading.Thread(target=_tick, daemon=True).start()
    try:
        case = Case.read(folder)
        what = between(case.engine, exact=case.exact)
        check(what)
        wanted = Wanted(case.scenario, case.file, "", case.seed, (), (), what)
        planned = planned_for(what, wanted.scenario, wanted.file)
        observed = play(wanted, planned, folder, lambda: False)
        if observed is not None:
            observed.write(folder)
    except (LabError, ScenarioError, UsageError) as error:
        (folder / ERROR).write_text(json.dumps(str(error)), encoding="utf-8")


def _tick() -> None:
    began = time.monotonic()
    while True:
        sys.stdout.write(f"{AT}{time.monotonic() - began:.0f}\n")
        sys.stdout.flush()
        time.sleep(1)


if __name__ == "__main__":
    main()
