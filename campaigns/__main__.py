"""Run campaigns one after the other, and write what they did into the ledger and docs/reliability.md."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module

from . import ledger
from .ledger import LackingError, Tally

# Each is a module. Its docstring's first line says what it does; its `run` yields a tally as soon as a subject is done.
CAMPAIGNS = ("clock", "disk", "fuzz", "kills", "mutate", "soak")

Run = Callable[[float, int], Iterator[Tally]]


def main() -> int:
    """Run what the command line names. Finished subjects stay in the ledger, also after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("campaign", nargs="*", help="which; all without a name")
    parser.add_argument("--list", action="store_true", help="say what each does, and end")
    parser.add_argument("--table", action="store_true", help="make the table of docs/reliability.md again, and end")
    parser.add_argument("--seconds", type=float, default=600, help="time for each campaign (default 600)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the random choices of a run")
    options = parser.parse_args()
    if unknown := sorted(set(options.campaign) - set(CAMPAIGNS)):
        parser.error(f"no campaign {unknown[0]!r}\n  allowed: {', '.join(CAMPAIGNS)}")
    if options.list:
        for name in CAMPAIGNS:
            print(f"{name:10} {(import_module(f'campaigns.{name}').__doc__ or '').splitlines()[0]}")
        return 0
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    lost = False
    try:
        for name in [] if options.table else options.campaign or CAMPAIGNS:
            try:
                lost |= one(import_module(f"campaigns.{name}").run, name, options.seconds, seed)
            except LackingError as what:
                print(f"{name} skipped, it needs {what}", file=sys.stderr)
                lost = True
    except KeyboardInterrupt:
        print("stopped; finished subjects are in the ledger", file=sys.stderr)
    ledger.DOCUMENT.write_text(ledger.document(), encoding="utf-8")
    return int(lost)


def one(run: Run, name: str, seconds: float, seed: int) -> bool:
    """Run one campaign, and return whether anything was lost."""
    print(f"{name}: {seconds:.0f} s, --seed {seed}", file=sys.stderr)
    lost = False
    began = time.monotonic()
    for tally in run(seconds, seed):
        tally.seconds = tally.seconds or time.monotonic() - began
        tally.seed = seed
        if not tally.counts and not tally.lost:
            print(f"  {tally.subject}: the time was too short", file=sys.stderr)
            continue
        tally.write()
        done = ", ".join(f"{count:,} {unit}" for unit, count in tally.counts.items())
        print(f"  {tally.subject}: {done}; lost: {'; '.join(tally.lost) or 'nothing'}", file=sys.stderr)
        lost |= bool(tally.lost)
        began = time.monotonic()
    return lost


if __name__ == "__main__":
    sys.exit(main())
