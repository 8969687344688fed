"""The simulator beside a real kernel: runs the cases of matrix.toml, and says which figures agree.

usage: python -m bench.agreement [--page] [--least SHARE] [WORD[,WORD] ...]

Each argument keeps the cases that have one of its words: `fifo-100,pie mix`. Every figure is printed. `--page` writes
docs/linux.md, too. With `--least 0.92` the exit code is 1 if less agrees. Finished runs are kept in target/agreement,
so a second call continues.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from bench.agreement import page, work
from bench.agreement.matrix import HERE, Case, cases
from bench.agreement.results import Outcome, lines, share

PLACE = HERE.parents[1] / "target" / "agreement"


def main() -> None:
    """Run the chosen cases and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.agreement")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    chosen = cases(given.words)
    if not chosen:
        parser.error(f"no case has these words: {' '.join(given.words)}")
    outcomes = run(chosen)
    print("\n".join(lines(outcomes)))
    found = share(outcomes)
    print(f"{found.agree} of {found.total} figures agree: {found.agree / max(found.total, 1):.1%}")
    if given.page:
        page.write(outcomes)
    if found.agree < given.least * max(found.total, 1):
        sys.exit(f"that is less than {given.least:.0%}")


def run(chosen: Sequence[Case]) -> list[Outcome]:
    """Run the cases side by side, one on each core."""
    context, cores = multiprocessing.get_context("spawn"), len(os.sched_getaffinity(0))
    numbers = context.Queue()
    for core in range(cores):
        numbers.put(core)
    found: dict[str, Outcome] = {}
    began = time.monotonic()
    with ProcessPoolExecutor(cores, mp_context=context, initializer=work.on_core, initargs=(numbers,)) as pool:
        futures = {pool.submit(work.run, case, PLACE): case for case in chosen}
        for done, future in enumerate(as_completed(futures), 1):
            case = futures[future]
            found[case.name] = Outcome(case, *future.result())
            left_s = (time.monotonic() - began) / done * (len(chosen) - done)
            said = f"{done} of {len(chosen)} cases, {left_s / 60:.0f} min left"
            print(f"{said}\r" if sys.stderr.isatty() else f"{said}\n", end="", file=sys.stderr, flush=True)
    return [found[case.name] for case in chosen]


if __name__ == "__main__":
    main()
