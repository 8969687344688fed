"""The whole way: captures in, a model out, and the model played against the captures."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from gamelane import _native
from gamelane.errors import UsageError
from gamelane.fit import capture, goodness, play
from gamelane.fit.goodness import Prediction
from gamelane.fit.model import FittedModel, Match, fit, gather, line, plays, to_toml

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
def prediction(matches: list[Match]) -> Prediction:
    (only,) = goodness.predict(matches)
    return only


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


def test_the_two_point_construction_is_put_to_the_test(matches: list[Match], prediction: Prediction) -> None:
    two, three, four = (match.mean for match in matches)
    assert prediction.captured == (2, 3)
    assert prediction.of.parts == (2, 2)
    assert prediction.fixed == pytest.approx(3 * two - 2 * three)
    assert prediction.per_player == pytest.approx(three - two)
    assert prediction.line_mean == pytest.approx(2 * three - two)
    # It fails: by a fifth in the mean. Bounds at the smallest payload lift the mean a little above the line's.
    assert prediction.of.measured.mean_bytes == pytest.approx(four)
    assert -0.22 < prediction.of.errors["mean_bytes"] < -0.17
    assert -0.33 < prediction.of.errors["lag_one"] < -0.22
    assert prediction.of.ks > 0.15
    assert prediction.causes[0].startswith("mean: the model adds -1 times that of 2 players and +2 times")
    assert prediction.causes[1].startswith("lag-1 correlation:")


def test_the_sum_of_matches_has_the_distribution_of_their_convolution(matches: list[Match]) -> None:
    """The papers' way to more players, worked out instead of drawn."""
    model = fit(matches[:2])
    played = np.concatenate(
        [each.updates.payload for each in play.play_text(to_toml(model, "m", "m"), 4, 120.0, runs=100)]
    )
    (sizes,) = matches[0].updates
    counts = np.bincount(sizes.astype(int)) / len(sizes)
    convolved = np.convolve(counts, counts)
    moved = np.clip(np.arange(len(convolved)) - model.fixed, model.smallest, None)
    for x in range(20, 160, 10):
        assert (played <= x).mean() == pytest.approx(convolved[moved <= x + 0.5].sum(), abs=0.03)


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
    assert set(tomllib.loads(text)) == {"name", "title", "players", "provenance", "notes", "server", "client"}


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
    assert plays(again) == [4, 8]


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
    other = Match(5, (capture.Client(slower, client.commands),), 160.0)
    with pytest.raises(UsageError, match=r"a tick of 50.0 ms with 3 players, of 65.0 ms with 5"):
        fit([matches[1], other])


def test_a_line_through_one_two_and_three_points() -> None:
    assert line([4], [80.0]) == (0.0, 20.0)
    assert line([2, 3], [66.0, 70.0]) == pytest.approx((58.0, 4.0))
    assert line([2, 3, 4], [60.0, 75.0, 84.0]) == pytest.approx((37.0, 12.0))
