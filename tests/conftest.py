"""What several tests share: a household short enough to run often, and its results."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import gamelane
from gamelane import Experiment, Results
from tests.real_time import repeat

ROOT = Path(__file__).parents[1]

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist set it; commands print as wide as into a pipe

HOUSEHOLD = """
name = "short"
question = "Does </script> in a question do harm?"
duration = "6s"
warmup = "1s"
seed = 7

[link]
down = "12mbit"
up = "1mbit"
rtt = "40ms"

[gateway]
up = { queue = "fifo", limit = "100p" }
down = { queue = "fifo", limit = "100p" }

[[flow]]
name = "quake3"
app = "game"
model = "quake3"
players = 4

[[flow]]
name = "upload"
app = "bulk"
direction = "up"
start = "2s"
"""


Repeat = Callable[[Callable[[], None]], None]


@pytest.fixture
def up_to_three_times(record_property: Callable[[str, object], None]) -> Repeat:
    """Repeat a measurement whose `in_time` failed. `tests/progress.py` says so. Every other assertion fails at once."""
    return lambda measure: repeat(measure, lambda why: record_property("measured again", why))


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "short.toml"
    path.write_text(HOUSEHOLD, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def short(household: Path) -> Experiment:
    return gamelane.load(household)


@pytest.fixture(scope="session")
def alone(short: Experiment) -> Results:
    return short.run(seeds=3)


@pytest.fixture(scope="session")
def queues(short: Experiment) -> Results:
    both = {name: {"gateway.*.queue": name} for name in ("fifo", "fq_codel")}
    return gamelane.compare(short, both, seeds=2)
