"""The whole way: captures in, a model out, and the model played against the captures."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.fit import capture, goodness, play
from gamelane.fit.goodness import Prediction
from gamelane.fit.model import FittedModel, Match, fit, gather, growth, to_toml

Floats = npt.NDArray[np.float64]

ROOT = Path(__file__).parents[2]
CAPTURES = [
    ROOT / "tests/captures" / name
    for name in (
        "openarena-2p-srv-headers.pcapng.gz",
        "openarena-3p-srv-headers.pcapng.gz",
        "openarena-4p-srv.pcapng.gz",
    )
]


@pytest.fixture(scope="module")
def matches() -> list[Match]:
    return gather([(players, capture.read(path)) for players, path in zip((2, 3, 4), CAPTURES, strict=True)])


@pytest.fixture(scope="module")
def model(matches: list[Match]) -> FittedModel:
    return fit(matches)


@pytest.fixture(scope="module")
def larger() -> list[Match]:
    """Matches of the same game, map and settings with more players."""
    counts = (6, 8, 9, 12, 16)
    names = [ROOT / f"tests/captures/openarena-{players}p-srv-headers.pcapng.gz" for players in counts]
    return gather([(players, capture.read(path)) for players, path in zip(counts, names, strict=True)])


@pytest.fixture(scope="module")
def predictions(matches: list[Match]) -> list[Prediction]:
    return goodness.predict(matches)


def test_what_is_read_is_what_the_captures_readme_says(matches: list[Match]) -> None:
    expected = {2: (2400, 66.7, 26.9, 3634, 53.2), 3: (2399, 67.8, 28.9, 3629, 53.0), 4: (2399, 86.6, 39.4, 3627, 54.8)}
    for match in matches:
        (client,) = match.clients
        updates, mean, sd, commands, command_mean = expected[match.players]
        assert (len(client.updates.payload), len(client.commands.payload)) == (updates, commands)
        assert client.updates.payload.mean() == pytest.approx(mean, abs=0.05)
        assert client.updates.payload.std() == pytest.approx(sd, abs=0.05)
        assert client.commands.payload.mean() == pytest.approx(command_mean, abs=0.05)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_each_captured_match_is_reproduced_within_5_per_cent(
    matches: list[Match], model: FittedModel, index: int
) -> None:
    found = goodness.compare(model, matches[index])
    assert set(found.errors) == {"mean_bytes", "sd_bytes", "tick_ms", "lag_one"}
    assert all(abs(error) < 0.05 for error in found.errors.values()), found.errors
    assert found.ks < 0.03
    assert found.wasserstein_bytes < 1.0


def test_a_number_of_players_left_out_is_estimated_from_the_others(predictions: list[Prediction]) -> None:
    assert [each.of.players for each in predictions] == [2, 3, 4]
    assert [each.captured for each in predictions] == [(3, 4), (2, 4), (2, 3)]
    assert [each.sum for each in predictions] == [(3,), (4,), (2, 2)]
    for each in predictions:
        real, played = each.of.measured, each.of.modelled
        assert each.mean.holds(real.mean_bytes)
        assert each.sd.holds(real.sd_bytes)
        # Bounds at the smallest payload move the played figures a little.
        assert played.mean_bytes == pytest.approx(each.mean.value, rel=0.02)
        assert played.sd_bytes == pytest.approx(each.sd.value, rel=0.05)
        assert each.causes[0].startswith("mean: the growth gives ")
        assert "which contains the captured" in each.causes[0]
        assert each.causes[1].startswith("standard deviation: the growth gives ")
    assert predictions[2].causes[2].startswith("lag-1 correlation: the model has 0.43")


def test_too_few_captures_leave_none_out(matches: list[Match]) -> None:
    assert goodness.predict(matches[:2]) == []


def test_larger_matches_are_within_the_intervals_of_a_fit_to_small_ones(
    matches: list[Match], larger: list[Match]
) -> None:
    """Regression: a sum of independent smaller matches had a deviation 23 % too low with 12 players."""
    found = growth(matches)
    assert found
    for match in larger:
        sizes = np.concatenate(match.updates)
        assert found.mean.at(match.players).holds(sizes.mean())
        assert found.sd.at(match.players).holds(sizes.std())


def straight(x: Sequence[float] | Floats, y: Sequence[float] | Floats, at: float) -> float:
    return float(np.polyval(np.polyfit(x, y, 1), at))


def test_the_growth_predicts_a_number_of_players_left_out_better_than_a_line_or_a_power_law(
    matches: list[Match], larger: list[Match]
) -> None:
    """The choice of the growth: no curve that is chosen beforehand has a smaller error, mean and deviation together."""
    every = [*matches, *larger]
    off: dict[str, list[float]] = defaultdict(list)
    held = 0
    for real in every:
        others = [match for match in every if match is not real]
        found = growth(others)
        assert found
        n = [match.players for match in others]
        for grown, figure in ((found.mean, np.mean), (found.sd, np.std)):
            values = [float(figure(match.updates[0])) for match in others]
            measured = float(figure(real.updates[0]))
            held += grown.at(real.players).holds(measured)
            guesses = {
                "growth": grown.at(real.players).value,
                "line": straight(n, values, real.players),
                "root": straight(np.sqrt(n), values, real.players**0.5),
                "power law": float(np.exp(straight(np.log(n), np.log(values), np.log(real.players)))),
            }
            for name, guess in guesses.items():
                off[name].append(float(np.log(guess / measured)))
    rms = {name: np.sqrt(np.mean(np.square(errors))) for name, errors in off.items()}
    assert min(rms, key=lambda name: rms[name]) == "growth", rms
    assert rms["growth"] < 0.12
    assert held >= 15


def test_captures_of_one_number_of_players_are_pooled_and_count_each(matches: list[Match]) -> None:
    (two,), (three,) = matches[0].captures, matches[1].captures
    once, twice = (gather([(2, two), (4, three), *again]) for again in ([], [(4, three)]))
    assert [len(match.captures) for match in twice] == [1, 2]
    assert [len(match.points(np.mean)) for match in twice] == [1, 2]
    wide, narrow = growth(once), growth(twice)
    assert wide
    assert narrow
    assert narrow.mean.at(8).high / narrow.mean.at(8).low < wide.mean.at(8).high / wide.mean.at(8).low


def test_the_shipped_model_is_this_fit(model: FittedModel) -> None:
    shipped = (ROOT / "models/openarena.toml").read_text(encoding="utf-8")
    again = to_toml(model, "openarena", "OpenArena")
    strip = re.compile(r"-?\d+(?:\.\d+)?")
    assert strip.sub("#", again) == strip.sub("#", shipped)
    numbers = [[float(text) for text in strip.findall(toml)] for toml in (again, shipped)]
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-4)


def test_nothing_that_names_anybody_is_in_the_model(model: FittedModel) -> None:
    text = to_toml(model, "openarena", "OpenArena")
    assert not re.search(r"\d+\.\d+\.\d+\.\d+|27960|player1|pcap|openarena-", text)
    assert set(tomllib.loads(text)) == {"name", "title", "players", "notes", "server", "client", "source"}


def test_a_model_fits_what_it_generates(tmp_path: Path) -> None:
    """Known truth: sizes, tick and memory out of a generated capture are those of the model that made it."""
    ready = play.scenario("openarena", 4, "600s", file="test")
    path = tmp_path / "made.pcapng"
    made = play.play(ready, 3, path)
    recording = capture.read(path)
    (client,) = recording.clients
    assert client.updates.payload.tolist() == made.updates.payload.tolist()
    assert client.commands.payload.tolist() == made.commands.payload.tolist()
    (match,) = gather([(4, recording)])
    again = fit([match])
    assert again.tick.tick_ms == pytest.approx(50.0, rel=1e-4)
    assert again.tick.jitter_sd_ms == pytest.approx(0.0806, rel=0.05)
    assert again.matches[4].phi == pytest.approx(0.958, abs=0.02)
    assert again.matches[4].theta == pytest.approx(-0.663, abs=0.06)
    assert again.pace.median_ms == pytest.approx(33.0, abs=0.05)
    assert again.offered == [4]


def test_a_simulation_is_sent_what_generate_writes() -> None:
    """One generator: the same scenario and seed make the same packets with a network and without."""
    ready = play.scenario("quake3", 4, "20s", file="test")
    alone = play.play(ready, 7)
    summary = _native.run(ready, 7).summary_json()
    assert f'"sent":{len(alone.updates.payload)}' in summary.replace(" ", "")


def test_a_title_of_any_letters_is_a_title(model: FittedModel) -> None:
    title = 'A "game"\\ of\nlines'
    assert tomllib.loads(to_toml(model, "x", title))["title"] == title


def test_servers_of_different_pace_are_not_one_game(matches: list[Match]) -> None:
    (client,) = matches[0].clients
    slower = capture.Stream(client.updates.t_s * 1.3, client.updates.payload)
    other = Match(5, (capture.Recording((capture.Client(slower, client.commands),), 160.0, None),))
    with pytest.raises(UsageError, match=r"a tick of 50.0 ms with 3 players, of 65.0 ms with 5"):
        fit([matches[1], other])
