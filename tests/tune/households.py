"""Random households, and the best setting of an exhaustive grid for each."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from gamelane.tune.choose import Trial, signed
from gamelane.tune.objective import Aim
from gamelane.tune.parameters import ACKS, QUEUE, SHAPE, Settings, Space
from gamelane.tune.search import Runner

OTHERS = (
    'app = "bulk"\ndirection = "up"\ntcp = { congestion = "cubic" }',
    'app = "bulk"\ndirection = "down"\ntcp = { congestion = "cubic" }',
    'app = "bulk"\ndirection = "down"\ntcp = { congestion = "newreno", receive_window = "256KiB" }',
    'app = "udp"\ndirection = "up"\nsize = "1200B"\nrate = "{third}kbit"',
    'app = "dash"\nrates = ["500kbit", "1mbit", "3mbit"]\nchunk = "2s"',
    'app = "web"\nsize = "600KiB"\nevery = "3s"',
)


def text(seed: int) -> str:
    """Return a scenario: a link, a FIFO of some length, one to three games and calls, one to four other flows."""
    chance = random.Random(seed)
    up = round(10 ** chance.uniform(2.8, 4.2))
    down = round(up * chance.uniform(1.5, 10))
    found = [
        f'name = "household-{seed}"',
        'duration = "10s"',
        'warmup = "2s"',
        "[link]",
        f'kind = "{chance.choice(["wired", "docsis"])}"',
        f'up = "{up}kbit"',
        f'down = "{down}kbit"',
        f'rtt = "{chance.randint(8, 60)}ms"',
        "[gateway]",
        f'up = {{ queue = "fifo", limit = "{chance.choice([50, 100, 250, 1000])}p" }}',
        f'down = {{ queue = "fifo", limit = "{chance.choice([100, 250, 1000])}p" }}',
    ]
    games = chance.sample(["quake3", "hlcs", "hl2dm", "voip"], chance.randint(1, 3))
    for name in games:
        app = 'app = "voip"' if name == "voip" else f'app = "game"\nmodel = "{name}"'
        found += ["[[flow]]", f'name = "{name}"', app]
    for index, of in enumerate(chance.sample(OTHERS, chance.randint(1, 4))):
        found += ["[[flow]]", f'name = "other-{index}"', of.replace("{third}", str(up // 3))]
    return "\n".join(found) + "\n"


def grid(space: Space) -> list[Settings]:
    """Return every combination of queue, handling of ACKs and shaped rate that the space has."""
    found = []
    for queue, shape in itertools.product(space.values(QUEUE), space.values(SHAPE)):
        beside = {QUEUE: queue, SHAPE: shape}
        acks = [each.values for each in space.parameters if each.key == ACKS and each.applies(beside)]
        for setting in [{}, *({ACKS: value} for of in acks for value in of if value != "plain")]:
            found.append({**beside, **space.required(beside), **setting})
    return found


def best_of_grid(runner: Runner, aim: Aim, prefers: Callable[[Settings], bool]) -> Trial | None:
    """Return the setting of the grid that is best in the first goal among those that meet the bounds.

    As in a search, preferred ones go before all others.
    """
    settings = grid(runner.space)
    trials = [Trial(number, *of) for number, of in enumerate(zip(settings, runner.rows(settings), strict=True))]
    allowed = [trial for trial in trials if not trial.breaks(aim)]
    preferred = [trial for trial in allowed if prefers(trial.settings)]
    return min(preferred or allowed, key=lambda trial: signed(trial, aim), default=None)
