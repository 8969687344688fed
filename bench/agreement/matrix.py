"""Reads the cases of matrix.toml. The keys of a block, besides those of `Case`, are its axes."""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SETTINGS = ("name", "file", "runs", "engines")
"""Keys of a block that are no axes."""


@dataclass(frozen=True)
class Case:
    """A combination of words, and the keys of the scenario that they set."""

    block: str
    scenario: Path
    words: Mapping[str, str]
    keys: Mapping[str, str]
    seeds: Mapping[str, int]
    """Number of runs by engine that has the case."""
    spread_s: float = 0.0
    """Each flow starts up to this much later than the scenario says."""

    @property
    def compared(self) -> bool:
        """Whether both engines have it."""
        return len(self.seeds) > 1

    @property
    def name(self) -> str:
        """Block and words: `households pie 12/1 mix 40 cubic`."""
        return " ".join((self.block, *self.words.values()))

    def keys_of(self, seed: int) -> dict[str, str]:
        """Return the keys of the scenario with the starts that `seed` draws. They are the same on every engine."""
        drawn = random.Random(seed)
        later = {
            f"flow.{flow['name']}.start": f"{_ms(flow['start']) + drawn.uniform(0, 1e3 * self.spread_s):.0f}ms"
            for flow in tomllib.loads(self.scenario.read_text(encoding="utf-8"))["flow"]
            if "start" in flow
        }
        return {**self.keys, **later}


def cases(words: Sequence[str], path: Path = HERE / "matrix.toml") -> list[Case]:
    """Return the cases that have one of the words of every argument; `fifo-100,pie mix` is two arguments."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    asked = [set(word.split(",")) for word in words]
    every = [case for block in read["block"] for case in _cases(read, block)]
    return [case for case in every if all(one & {case.block, *case.words.values()} for one in asked)]


def _cases(read: Mapping[str, Any], block: Mapping[str, Any]) -> list[Case]:
    flows = dict.fromkeys(flow for load in read["load"].values() for flow in load)
    found = []
    axes = [key for key in block if key not in SETTINGS]
    for words in itertools.product(*(block[axis] for axis in axes)):
        chosen = dict(zip(axes, words, strict=True))
        keys: dict[str, str] = {}
        for axis, word in chosen.items():
            if axis == "load":
                keys |= {f"flow.{flow}.enabled": str(flow in read["load"][word]).lower() for flow in flows}
            else:
                keys |= read[axis][word]
        runs = read["runs"]
        seeds = {"sim": runs["sim"], "kernel": block.get("runs") or runs["kernel"][chosen["load"]]}
        seeds = {engine: seeds[engine] for engine in block.get("engines", seeds)}
        found.append(Case(block["name"], HERE / block["file"], chosen, keys, seeds, runs["spread_s"]))
    return found


def _ms(duration: str) -> float:
    return 1e3 * float(duration.removesuffix("s"))
