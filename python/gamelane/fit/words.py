"""A fit as a document, and what must be said beside it."""

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
    """Return what `--json` prints: counts, sizes and times, nothing that names anybody."""
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
    """What must stand beside any number of the fit."""
    captured = _listed(model.captured)
    offered = plays(model)
    sums = [players for players in offered if players not in model.captured]
    said = list(damaged)
    if sums:
        tested = "; ".join(
            f"put to the test, {each.of.players} players out of matches of {_listed(each.captured)} came out "
            + ", ".join(f"{100 * each.of.errors[key]:+.0f} % off in the {name}" for key, name in TESTED)
            for each in predictions
        )
        said.append(
            f"Measured for {captured} players. {_listed(sums)} are sums of captured matches, an extrapolation"
            + (f": {tested}." if tested else " that nothing captured here puts to the test.")
        )
    else:
        said.append(f"Measured for {captured} players, and not offered for others.")
    if len(model.captured) == 1:
        said.append("One number of players cannot tell what depends on players from what does not.")
    shortest = min(matches, key=lambda match: match.seconds)
    said.append(
        f"The shortest match lasts {shortest.seconds:.0f} s. Figures of the model are of {RUNS} matches as long as the "
        "captured one, played by gamelane's generator."
    )
    for what, of in (("updates", model.tick), ("commands", model.pace)):
        if of.stalls:
            said.append(
                f"Left out of the pace of {what}: {of.stalls} gap{'s' * (of.stalls > 1)} of up to "
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
