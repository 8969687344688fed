"""Describes a fit as a document, with the caveats that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gamelane.fit.goodness import RUNS, Fit, Prediction
from gamelane.fit.model import FittedModel, Match, plays

SCHEMA = 1

TESTED = (("mean_bytes", "mean"), ("sd_bytes", "standard deviation"), ("lag_one", "lag-1 correlation"))


def document(
    file: str, model: FittedModel, fits: Sequence[Fit], predictions: Sequence[Prediction], said: Sequence[str]
) -> dict[str, Any]:
    """Return the document of `--json`: counts, sizes and times, but no names."""
    return {
        "schema": SCHEMA,
        "model": {
            "file": file,
            "provenance": "capture",
            "fixed_bytes": model.fixed,
            "per_player_bytes": model.per_player,
            "tick": asdict(model.tick),
            "client": {
                "interval_ms": {"median": model.pace.median_ms},
                "stalls": model.pace.stalls,
                "longest_gap_ms": model.pace.longest_gap_ms,
            },
        },
        "captured_players": model.captured,
        "offered_players": plays(model),
        "runs": RUNS,
        "matches": [_fit(each) for each in fits],
        "predictions": [_prediction(each) for each in predictions],
        "caveats": list(said),
    }


def caveats(
    model: FittedModel, matches: Sequence[Match], predictions: Sequence[Prediction], damaged: Sequence[str]
) -> list[str]:
    """Return the caveats that belong to every figure of the fit."""
    captured = _listed(model.captured)
    offered = plays(model)
    sums = [players for players in offered if players not in model.captured]
    said = list(damaged)
    if sums:
        tested = "".join(
            f" A prediction for {each.of.players} players from matches of {_listed(each.captured)} was wrong by "
            + ", ".join(f"{100 * each.of.errors[key]:+.0f} % in the {name}" for key, name in TESTED)
            + "."
            for each in predictions
        )
        said.append(
            f"Measured for {captured} players. Traffic of {_listed(sums)} players is a sum of captured matches: an "
            f"extrapolation.{tested or ' These captures cannot test it.'}"
        )
    else:
        said.append(f"Measured for {captured} players; the model offers no other number.")
    if len(model.captured) == 1:
        said.append("With one number of players, the model cannot separate bytes per player from fixed bytes.")
    shortest = min(matches, key=lambda match: match.seconds)
    said.append(
        f"The shortest match lasts {shortest.seconds:.0f} s. Figures of the model come from {RUNS} generated matches "
        "of the same length as the captured one."
    )
    for what, of in (("updates", model.tick), ("commands", model.pace)):
        if of.stalls:
            said.append(
                f"Not counted as times between {what}: {of.stalls} gap{'s' * (of.stalls > 1)} of up to "
                f"{of.longest_gap_ms:.0f} ms (pauses or losses)."
            )
    return said


def _fit(fit: Fit) -> dict[str, Any]:
    return {
        "players": fit.players,
        "parts": list(fit.parts),
        "seconds": fit.seconds,
        "updates": fit.count,
        "measured": asdict(fit.measured),
        "modelled": asdict(fit.modelled),
        "errors": fit.errors,
        "spread95": asdict(fit.spread95),
        "measured_mean_sd_bytes": fit.mean_sd_bytes,
        "ks": fit.ks,
        "wasserstein_bytes": fit.wasserstein_bytes,
        "arma": asdict(fit.arma),
    }


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "players": prediction.of.players,
        "from_players": list(prediction.captured),
        "fixed_bytes": prediction.fixed,
        "per_player_bytes": prediction.per_player,
        "line_mean_bytes": prediction.line_mean,
        "mean_sd_bytes": prediction.mean_sd_bytes,
        "causes": list(prediction.causes),
        **{key: value for key, value in _fit(prediction.of).items() if key != "players"},
    }


def _listed(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
