"""G.1072 against every number its reference implementation publishes, and against what any opinion must do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamelane.analysis.g1072 import Complexity, Network, Opinion, Video, opinion


def test_the_published_vector_of_the_reference_test() -> None:
    # stootaghaj/ITU-G1072 test/test.py
    found = opinion(Video(50, 60, (1920, 1080)), Network(0, freezing_loss_percent=0.2))
    assert found == Opinion(
        overall=4.580889112437288,
        interaction_delay=4.6229955301830845,
        interaction_loss=4.64,
        video=4.596755274928551,
        unclearness=4.607621778600887,
        fragmentation=4.471200161599724,
        outside=(),
    )


def test_the_published_example_of_the_reference_readme() -> None:
    found = opinion(Video(2, 60, (1920, 1080)), Network(200))
    assert found == Opinion(
        overall=1.703640262361372,
        interaction_delay=3.1691042828686484,
        interaction_loss=4.64,
        video=2.8929607456164215,
        unclearness=3.6660390586801817,
        fragmentation=2.852382320395556,
        outside=(),
    )


@pytest.mark.parametrize(
    ("interaction", "impairments"),
    [
        ("high", (2.25, 11.09, 21.48, 65.70)),
        ("medium", (2.25, 11.09, 21.48, 65.70)),
        ("low", (0.68, 3.76, 8.11, 38.60)),
    ],
)
def test_the_delay_impairments_of_the_reference_sheet(interaction: Complexity, impairments: tuple[float, ...]) -> None:
    # By hand from the formula of ITU-T G.1072; the score is inverted through its own formula.
    for delay, impairment in zip((0, 50, 100, 400), impairments, strict=True):
        rating = 100 - impairment
        score = 1.3 + 0.0334 * rating + 7e-6 * rating * (rating - 60) * (100 - rating)
        found = opinion(Video(10, 60), Network(delay), interaction=interaction)
        assert found.interaction_delay == pytest.approx(score, abs=3e-4)


@given(st.floats(0, 400), st.floats(0, 400), st.sampled_from(["low", "medium", "high"]))
def test_more_delay_is_never_better(one: float, other: float, interaction: Complexity) -> None:
    def score(delay: float) -> float:
        return opinion(Video(5, 30), Network(delay, freezing_loss_percent=1), interaction=interaction).overall

    assert score(max(one, other)) <= score(min(one, other)) + 1e-12


@given(
    st.floats(0, 5000),
    st.floats(0.01, 500),
    st.floats(1, 240),
    st.floats(0, 100),
    st.sampled_from(["low", "medium", "high"]),
)
def test_any_input_has_a_score_on_the_scale(
    delay: float, bitrate: float, rate: float, loss: float, video: Complexity
) -> None:
    for freezing, slicing in ((loss, 0.0), (0.0, loss)):
        found = opinion(Video(bitrate, rate, complexity=video), Network(delay, freezing, slicing))
        assert 1.3 <= found.overall <= 4.64
        assert 1.3 <= found.video <= 4.64


def test_slicing_loss_costs_video_and_freezing_below_16_ms_costs_nothing() -> None:
    video = Video(10, 60)
    base = opinion(video, Network(10))
    assert opinion(video, Network(10, slicing_loss_percent=1)).video < base.video - 0.1
    assert opinion(video, Network(10, freezing_loss_percent=5)) == base
    assert opinion(video, Network(20, freezing_loss_percent=5)).overall < base.overall


def test_what_lies_outside_the_fit_is_named() -> None:
    found = opinion(Video(0.1, 120, (800, 600)), Network(1294, slicing_loss_percent=28))
    assert found.outside == ("delay_ms", "bitrate_mbps", "frame_rate", "resolution", "slicing_loss_percent")


@pytest.mark.parametrize(
    ("video", "network"),
    [
        (Video(5, 60), Network(-1)),
        (Video(5, 60), Network(math.nan)),
        (Video(0, 60), Network(50)),
        (Video(5, 60, (0, 720)), Network(50)),
        (Video(5, 60), Network(50, freezing_loss_percent=1, slicing_loss_percent=1)),
    ],
)
def test_what_makes_no_sense_is_refused(video: Video, network: Network) -> None:
    with pytest.raises(ValueError, match=r"delay|video|losses"):
        opinion(video, network)
