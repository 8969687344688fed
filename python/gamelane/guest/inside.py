"""What runs in a guest: one case, with its folder as working directory. Prints the progress, one line a second."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from gamelane.errors import LabError, ScenarioError, UsageError
from gamelane.guest.case import ERROR, PCAP, Case, write_finished
from gamelane.lab.betweens import between
from gamelane.lab.run import Wanted, check, run

AT = "gamelane at "
"""Begins a line of progress; seconds of virtual time follow."""


def main() -> None:
    """Run the case in the working directory, and write its results or the error there."""
    folder = Path.cwd()
    threading.Thread(target=_tick, daemon=True).start()
    try:
        case = Case.read(folder)
        what = between(case.engine, exact=True)
        check(what)
        wanted = Wanted(case.scenario, case.file, case.variant, case.seed, case.variants, case.flows, what)
        done = run(wanted, stopped=lambda: False, pcap=folder / PCAP if case.pcap else None)
        if done is not None:
            write_finished(done, folder)
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
