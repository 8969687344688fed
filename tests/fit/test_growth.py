"""Growth with the players: estimates against known truths, and how often their intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gamelane.fit import play
from gamelane.fit.capture import Client, Recording
from gamelane.fit.figures import standard_error
from gamelane.fit.growth import MEAN_POWERS, SD_POWERS, Growth, Point
from gamelane.fit.model import Match, fit, growth, parts, to_toml

SECONDS = 120.0


def captured(players: Sequence[int], truth: Callable[[int], float], error: float) -> list[Point]:
    return [Point(n, truth(n), error, SECONDS) for n in players]


def concave(players: int) -> float:
    return 30 + 40 * float(np.sqrt(players))


@pytest.mark.parametrize("error", [0.003, 0.01, 0.05])
@pytest.mark.parametrize("players", [(2, 3, 4), (2, 3, 4, 6, 8)])
def test_less_than_linear_growth_is_not_overshot(players: tuple[int, ...], error: float) -> None:
    """A line through 2, 3 and 4 players is 10 % too high with 8 players, and 32 % with 16."""
    grown = Growth(captured(players, concave, error), MEAN_POWERS)
    line = np.polynomial.Polynomial.fit(players, [concave(n) for n in players], 1)
    for far in (2 * players[-1], 4 * players[-1]):
        off = grown.at(far).value / concave(far) - 1
        of_the_line = line(far) / concave(far) - 1
        assert of_the_line > 0.09
        assert abs(off) < of_the_line / 2
        assert grown.at(far).holds(concave(far))


@pytest.mark.parametrize("power", [0.5, 1.0, 1.25])
def test_exact_captures_of_five_sizes_determine_the_growth(power: float) -> None:
    def truth(players: int) -> float:
        return 40 + 9 * float(np.power(players, power))

    grown = Growth(captured((2, 3, 4, 6, 8), truth, 0.003), MEAN_POWERS)
    powers = grown.powers()
    assert max(powers, key=lambda each: powers[each]) == power
    assert sum(powers.values()) == pytest.approx(1)
    for players in (5, 12, 16):
        assert grown.at(players).value == pytest.approx(truth(players), rel=0.015)


@pytest.mark.parametrize(
    ("players", "asked"),
    [((2, 3, 4), (6, 8)), ((2, 2, 3, 3, 4, 4), (6, 8)), ((2, 4, 6, 8), (5, 12, 16)), ((3, 5), (8,))],
)
@pytest.mark.parametrize("powers", [MEAN_POWERS, SD_POWERS])
def test_about_95_of_100_captures_are_within_the_interval(
    powers: tuple[float, ...], players: tuple[int, ...], asked: tuple[int, ...]
) -> None:
    """Truths differ in power, share and level. Matches of one size differ, and each is sampled for a limited time."""
    rng = np.random.default_rng(sum(players))
    held, widths = [], []
    for _ in range(150):
        power, share, apart, error = rng.uniform(0.5, 1.25), rng.uniform(0.1, 0.9), abs(rng.normal(0, 0.1)), 0.05

        def capture(n: int, of: tuple[float, ...] = (power, share, np.hypot(apart, error))) -> float:
            return float(80 * (1 - of[1] + of[1] * (n / 4) ** of[0]) * np.exp(rng.normal(0, of[2])))

        grown = Growth(captured(players, capture, error), powers)
        for n in asked:
            found = grown.at(n)
            held.append(found.holds(capture(n)))
            widths.append(found.high / found.low)
    assert 0.91 <= np.mean(held) <= 0.985
    # An interval that says nothing would hold as often.
    assert np.median(widths) < 4


def test_the_interval_widens_with_the_distance_and_narrows_with_captures() -> None:
    def width(grown: Growth, players: int) -> float:
        of = grown.at(players)
        assert of.low < of.value < of.high
        return of.high / of.low

    few = Growth(captured((2, 3, 4), concave, 0.05), MEAN_POWERS)
    assert width(few, 3) < width(few, 5) < width(few, 6) < width(few, 8)
    many = Growth(captured((2, 2, 2, 3, 3, 3, 4, 4, 4), concave, 0.05), MEAN_POWERS)
    assert width(many, 8) < width(few, 8)


def test_captures_that_disagree_widen_the_interval() -> None:
    agreeing = Growth(captured((2, 2, 4, 4), concave, 0.02), MEAN_POWERS).at(8)
    points = [Point(n, concave(n) * off, 0.02, SECONDS) for n, off in ((2, 0.8), (2, 1.2), (4, 0.8), (4, 1.2))]
    disagreeing = Growth(points, MEAN_POWERS).at(8)
    assert disagreeing.high / disagreeing.low > 1.5 * agreeing.high / agreeing.low


def test_a_longer_capture_counts_more() -> None:
    def of(seconds: float) -> float:
        points = [Point(2, 60, 0.2, 60), Point(4, 80, 0.2, 60), Point(4, 120, 0.2 * (60 / seconds) ** 0.5, seconds)]
        return Growth(points, MEAN_POWERS).at(4).value

    assert of(6000.0) > of(60.0) + 3


def test_one_number_of_players_shows_no_growth() -> None:
    with pytest.raises(ValueError, match="two numbers of players"):
        Growth(captured((4, 4), concave, 0.05), MEAN_POWERS)


def test_the_standard_error_of_a_mean_is_that_of_many_captures() -> None:
    rng = np.random.default_rng(4)

    def series() -> np.ndarray:
        noise = rng.normal(size=2500)
        x = np.zeros(2500)
        for t in range(1, 2500):
            x[t] = 0.9 * x[t - 1] + noise[t]
        return x[100:]

    many = [series() for _ in range(200)]
    for figure in (np.mean, np.std):
        true = np.std([figure(each) for each in many])
        found = np.mean([standard_error([each], figure) for each in many])
        assert found == pytest.approx(true, rel=0.15)
    # Clients of one capture see the same match: a copy adds no knowledge.
    assert standard_error([many[0], many[0]], np.mean) == pytest.approx(standard_error([many[0]], np.mean))


def match(players: int, seed: int) -> Match:
    """A generated match. The true mean is 40 + 28 n and the standard deviation 12.6 √n bytes (models/quake3.toml)."""
    played = play.play(play.scenario("quake3", players, f"{SECONDS:.0f}s", file="test"), seed)
    return Match(players, (Recording((Client(played.updates, played.commands),), SECONDS, None),))


def test_generated_matches_of_a_known_model_are_within_the_intervals() -> None:
    held = []
    for seed in range(1, 21):
        found = growth([match(n, 100 * seed + n) for n in (2, 3, 4)])
        assert found
        mean, sd = found.mean.at(8), found.sd.at(8)
        assert mean.value == pytest.approx(40 + 28 * 8, rel=0.25)
        assert sd.value == pytest.approx(12.6 * 8**0.5, rel=0.25)
        (real,) = match(8, seed).updates
        held += [mean.holds(real.mean()), sd.holds(real.std())]
    assert np.mean(held) >= 0.9


def test_the_model_plays_what_it_estimates() -> None:
    model = fit([match(n, n) for n in (2, 3, 4)])
    for players, of in model.estimated.items():
        played = play.play_text(to_toml(model, "m", "m"), players, SECONDS, runs=20)
        sizes = np.concatenate([each.updates.payload for each in played])
        assert sizes.mean() == pytest.approx(of.mean.value, rel=0.01)
        assert sizes.std() == pytest.approx(of.sd.value, rel=0.03)


def test_a_match_has_the_shape_of_the_fewest_that_add_up_or_nearly() -> None:
    assert parts([2, 3], 4) == [2, 2]
    assert parts([2, 3], 7) == [3, 2, 2]
    assert parts([2, 3, 4], 10) == [4, 4, 2]
    assert parts([4, 6], 5) == [6]
    assert parts([4], 7) == [4, 4]
    assert parts([3, 8], 1) == [3]
    for captured in ([2, 3], [3, 5], [2, 3, 4, 6, 8]):
        for players in range(8, 40):
            assert sum(parts(captured, players)) == players
