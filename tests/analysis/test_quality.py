"""G-model, E-model and thresholds against values worked out by hand, and their monotony."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamelane.analysis import quality
from gamelane.analysis.quality import G711, G711_PLC, G729A, e_model_rating, e_model_score, g_model


@pytest.mark.parametrize(("ping", "jitter", "score"), [(50, 0, 3.81), (50, 5, 3.346), (0, 60, 1.27), (0, 0, 4.37)])
def test_the_g_model_has_the_values_of_the_sheet(ping: float, jitter: float, score: float) -> None:
    # X = 5.2, 10.2, 60 and 0, by hand from the cubic of Wattimena et al.
    assert g_model(ping, jitter) == pytest.approx(score, abs=0.0055)


def test_the_g_model_ends_at_exactly_one() -> None:
    # -5.87 + 13.9 - 11.4 + 4.37 = 1.00
    assert g_model(0, 100) == pytest.approx(1.0, abs=1e-12)
    assert g_model(1e6, 1e6) == pytest.approx(1.0, abs=1e-12)


def test_ten_milliseconds_of_jitter_cost_as_much_as_96_of_ping() -> None:
    assert g_model(96.2, 0) == pytest.approx(g_model(0, 10), abs=0.001)


@given(st.floats(0, 1000), st.floats(0, 200), st.floats(0, 100))
def test_more_ping_or_jitter_is_never_better(ping: float, jitter: float, more: float) -> None:
    assert g_model(ping + more, jitter) <= g_model(ping, jitter)
    assert g_model(ping, jitter + more) <= g_model(ping, jitter)


@pytest.mark.parametrize(
    ("rating", "score"), [(93.2, 4.409), (0, 1.0), (60, 3.1), (100, 4.5), (-5, 1.0), (140, 4.5), (3, 1.0)]
)
def test_ratings_become_the_scores_of_g107(rating: float, score: float) -> None:
    # R = 93.2: 1 + 3.262 + 93.2 * 33.2 * 6.8 * 7e-6 = 4.4093
    assert e_model_score(rating) == pytest.approx(score, abs=5e-4)


def test_a_call_by_hand() -> None:
    # 200 ms: 4.8 + 0.11 * 22.7 = 7.297; 2 % on G.711 with concealment: 95 * 2 / 27.1 = 7.011
    assert e_model_rating(200, 2, G711_PLC) == pytest.approx(93.2 - 7.297 - 7.0111, abs=1e-3)
    # Without concealment 95 * 2 / 6.3 = 30.159; in bursts of twice the length 95 * 2 / 5.3 = 35.849
    assert e_model_rating(0, 2, G711) == pytest.approx(93.2 - 30.1587, abs=1e-3)
    assert e_model_rating(0, 2, G711, burst_ratio=2) == pytest.approx(93.2 - 35.8491, abs=1e-3)
    assert e_model_rating(0, 0, G729A) == pytest.approx(82.2)


@given(st.floats(0, 2000), st.floats(0, 99), st.floats(0, 1))
def test_more_delay_or_loss_is_never_a_better_call(delay: float, loss: float, more: float) -> None:
    base = e_model_rating(delay, loss, G711_PLC)
    assert e_model_rating(delay + 100 * more, loss, G711_PLC) <= base
    assert e_model_rating(delay, loss + more, G711_PLC) <= base
    assert 1 <= e_model_score(base) <= 4.5


def test_what_makes_no_sense_is_refused() -> None:
    for wrong in ((-1.0, 0.0), (math.nan, 0.0), (0.0, 101.0)):
        with pytest.raises(ValueError, match="delay"):
            e_model_rating(*wrong, G711)
    with pytest.raises(ValueError, match="ping"):
        g_model(-1, 0)


def test_grades_are_the_worst_of_three() -> None:
    assert quality.grade(rtt_ms=40, loss_percent=0, jitter_p95_ms=2) == "good"
    assert quality.grade(rtt_ms=40, loss_percent=0, jitter_p95_ms=12) == "playable"
    assert quality.grade(rtt_ms=120, loss_percent=0.5, jitter_p95_ms=2) == "degraded"
    assert quality.grade(rtt_ms=40, loss_percent=28, jitter_p95_ms=2) == "unplayable"
    assert quality.grade(rtt_ms=40, loss_percent=0, jitter_p95_ms=900) == "degraded"
    assert quality.grade(rtt_ms=math.nan, loss_percent=0, jitter_p95_ms=2) == "unplayable"


def test_thresholds_passed_are_named() -> None:
    found = quality.exceeded("Quake III", rtt_ms=120, loss_percent=28)
    assert [(threshold.quantity, threshold.limit) for threshold in found] == [
        ("rtt_ms", 50),
        ("loss_percent", 10),
    ]
    assert quality.exceeded("chess", rtt_ms=1e9) == ()
