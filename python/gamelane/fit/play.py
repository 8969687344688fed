"""Plays a model with gamelane's traffic generator and no network, which is what a simulation receives."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from gamelane import _native
from gamelane.fit.capture import Stream

Floats = npt.NDArray[np.float64]

SCENARIO = """
name = "traffic"
duration = "{duration}"
[link]
down = "1gbit"
up = "1gbit"
rtt = "0ms"
[[flow]]
name = "game"
app = "game"
model = {model}
"""


@dataclass(frozen=True)
class Played:
    """Generated traffic of one client."""

    updates: Stream
    commands: Stream


def scenario(model: str, players: int | None, duration: str, *, file: str) -> _native.Scenario:
    """Return a scenario with a shipped model, or with a model file relative to `file`."""
    overrides = [("flow.game.players", str(players))] if players is not None else []
    text = SCENARIO.format(duration=duration, model=dumps(model))
    return _native.Scenario.parse(text, file, overrides)


def play(scenario: _native.Scenario, seed: int, path: Path | None = None) -> Played:
    """Generate traffic; also write it as a capture if a path is given."""
    sent = _native.generate(scenario, seed, path=None if path is None else str(path))
    t_s = sent["t_ns"].astype(np.float64) / 1e9
    payload = sent["payload"].astype(np.float64)
    down = ~sent["up"]
    return Played(Stream(t_s[down], payload[down]), Stream(t_s[~down], payload[~down]))


def play_text(toml: str, players: int, seconds: float, runs: int) -> list[Played]:
    """Play the text of a model with seeds 1 to `runs`."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "model.toml").write_text(toml, encoding="utf-8")
        ready = scenario(
            "model.toml", players, f"{max(1, round(seconds * 1000))}ms", file=str(Path(folder) / "fit.toml")
        )
        return [play(ready, seed) for seed in range(1, runs + 1)]
