"""A blind trial of collom2016, Table II: conditions in random order, each rated before the next, and none shown.

In the paper one of the two players knew the conditions. Here nobody does: the order is random, the log holds it, and no
screen shows it. The paper does not say whether its delays are one-way or round-trip; here they are added to the RTT,
half in each direction. Losses apply to each direction. Ratings are those of ITU-T P.800: 5 excellent to 1 bad.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from gamelane import whole
from gamelane.errors import UsageError

DELAYS_MS = (0, 10, 25, 50, 100, 150, 200)
LOSSES_PERCENT = (0, 1, 3, 5, 10, 20, 30, 40)
"""Table II."""

SCALE = {5: "excellent", 4: "good", 3: "fair", 2: "poor", 1: "bad"}
SCHEMA = 1


@dataclass(frozen=True, order=True)
class Condition:
    """Delay and loss during one part of a trial."""

    delay_ms: float
    loss_percent: float

    def settings(self) -> list[str]:
        """Return the options of `gamelane-impair set` for this condition."""
        return ["--clear", "--delay", f"{self.delay_ms * 500:g}us", "--loss", f"{self.loss_percent:g}%"]


def _axes() -> list[Condition]:
    delays = [Condition(delay, 0) for delay in DELAYS_MS]
    return delays + [Condition(0, loss) for loss in LOSSES_PERCENT if loss]


def _full() -> list[Condition]:
    return [Condition(delay, loss) for delay in DELAYS_MS for loss in LOSSES_PERCENT]


GRIDS: dict[str, Callable[[], list[Condition]]] = {"axes": _axes, "full": _full}


@dataclass(frozen=True)
class Settings:
    """Options of a trial."""

    grid: str
    repeat: int
    hold_s: int
    seed: int | None


@dataclass(frozen=True)
class Plan:
    """A trial with its random order."""

    grid: str
    repeat: int
    hold_s: int
    seed: int
    order: tuple[Condition, ...]


def draw(settings: Settings) -> Plan:
    """Return a random order: all conditions before any repeats, and none twice in a row."""
    seed = secrets.randbits(32) if settings.seed is None else settings.seed
    stream = random.Random(seed)
    order: list[Condition] = []
    for _ in range(settings.repeat):
        round_of = GRIDS[settings.grid]()
        stream.shuffle(round_of)
        if order and round_of[0] == order[-1]:
            round_of.append(round_of.pop(0))
        order += round_of
    return Plan(settings.grid, settings.repeat, settings.hold_s, seed, tuple(order))


def open_plan(path: Path, settings: Settings) -> Plan:
    """Read the plan of a trial that was started there, or draw and store one. A stored plan cannot be changed."""
    if not path.exists():
        plan = draw(settings)
        whole.replace(path, json.dumps({"schema": SCHEMA, **asdict(plan)}, indent=1) + "\n")
        return plan
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        order = tuple(Condition(**each) for each in held["order"])
        plan = Plan(held["grid"], held["repeat"], held["hold_s"], held["seed"], order)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not the plan of a trial: {error}") from error
    if (plan.grid, plan.repeat) != (settings.grid, settings.repeat) or settings.seed not in (None, plan.seed):
        raise UsageError(
            f"{path}: a trial with --grid {plan.grid} --repeat {plan.repeat} --seed {plan.seed} was started there\n"
            "  hint:    continue it with the same options, or choose another folder or player"
        )
    return plan


def ask_now(question: str) -> str:
    """Ask at the terminal. What was typed before the question is no answer to it."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return input(question)


@dataclass(frozen=True)
class Session:
    """Runs a trial with a player at the terminal."""

    change: Callable[[Condition], None]
    plan: Plan
    log: Path
    check: Callable[[], None] = lambda: None
    ask: Callable[[str], str] = ask_now
    wait: Callable[[float], None] = time.sleep

    def run(self) -> int:
        """Continue after the last rating in the log and return the number of rated conditions. Ctrl-C keeps them."""
        rated = _rated(self.log)
        try:
            for number in range(rated, len(self.plan.order)):
                condition = self.plan.order[number]
                self.change(condition)
                began = time.time()
                self._say(f"\n{number + 1} of {len(self.plan.order)}: play; rating in {self.plan.hold_s} s.")
                self.wait(self.plan.hold_s)
                rating = self._rating()
                self.check()
                entry = {
                    **{"number": number, **asdict(condition)},
                    **{"set_unix_s": began, "rated_unix_s": time.time(), "rating": rating},
                }
                _append(self.log, json.dumps(entry) + "\n")
                rated = number + 1
        except (KeyboardInterrupt, EOFError):
            self._say("\nstopped; the same command continues from here")
        return rated

    def _rating(self) -> int:
        words = ", ".join(f"{value} {word}" for value, word in SCALE.items())
        while True:
            said = self.ask(f"How did it play? {words}: ").strip()
            if said.isdecimal() and int(said) in SCALE:
                return int(said)
            self._say(f"{said!r} is not a rating from 1 to 5")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr)  # noqa: T201 - a dialogue, not a result


def _rated(log: Path) -> int:
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def _append(path: Path, line: str) -> None:
    """Append a line, or nothing of it."""
    with whole.writing(path), path.open("ab") as file:
        before = file.tell()
        try:
            file.write(line.encode())
            file.flush()
        except OSError:
            os.truncate(path, before)
            raise
