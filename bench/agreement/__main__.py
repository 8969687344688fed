"""The simulator beside a real kernel: runs the cases of matrix.toml, and says which figures agree.

usage: python -m bench.agreement [WORD[,WORD] ...]

Each argument keeps the cases that have one of its words: `fifo-100,pie mix`. Finished runs are kept in
target/agreement, so a second call continues.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from bench.agreement import work
from bench.agreement.figures import Figure
from bench.agreement.matrix import AXES, HERE, Case, cases

PLACE = HERE.parents[1] / "target" / "agreement"


def main(words: list[str]) -> None:
    """Run the chosen cases and print the figures."""
    chosen = cases(words)
    found: dict[str, list[Figure]] = {}
    refused: dict[str, str] = {}
    context, cores = multiprocessing.get_context("spawn"), len(os.sched_getaffinity(0))
    numbers = context.Queue()
    for core in range(cores):
        numbers.put(core)
    began = time.monotonic()
    with ProcessPoolExecutor(cores, mp_context=context, initializer=work.on_core, initargs=(numbers,)) as pool:
        futures = {pool.submit(work.run, case, PLACE): case for case in chosen}
        for done, future in enumerate(as_completed(futures), 1):
            case = futures[future]
            found[case.name], why = future.result()
            if why:
                refused[case.name] = why
            left_s = (time.monotonic() - began) / done * (len(chosen) - done)
            print(f"{done} of {len(chosen)} cases, {left_s / 60:.0f} min left\r", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    show(chosen, found, refused)


def show(chosen: Iterable[Case], found: dict[str, list[Figure]], refused: dict[str, str]) -> None:
    """Print every figure, and the share that agrees, by word."""
    agree: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for case in chosen:
        if why := refused.get(case.name):
            print(f"not run: {case.name}: {why.splitlines()[0]}")
        for figure in found[case.name]:
            kernel, sim = figure.means
            mark = "yes" if figure.agrees else "no"
            spread = " ".join(f"{value:.4g}" for value in figure.kernel)
            wide = f"{min(figure.sim):.4g}..{max(figure.sim):.4g}"
            print(
                f"{mark:3} {case.name:42} {figure.flow:7} {figure.what:12} {figure.unit:6} kernel {kernel:9.3f} sim"
                f" {sim:9.3f}  [{spread}] [{wide}]"
            )
            words = [f"{axis} {case.words[axis]}" for axis in AXES]
            for word in ("all", f"block {case.block}", *words, f"figure {figure.what}", f"flow {figure.flow}"):
                every[word] += 1
                agree[word] += figure.agrees
    for word, total in every.items():
        print(f"{word:24} {agree[word]:5} of {total:5}  {agree[word] / total:.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
