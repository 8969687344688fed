"""Describes a fit as a document, with the caveats that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from gamelane.fit.figures import percent
from gamelane.fit.goodness import RUNS, Fit, Outcome, Prediction
from gamelane.fit.growth import Estimate
from gamelane.fit.model import LABEL, FittedModel, Match

SCHEMA = 1


def document(file: str, outcome: Outcome) -> dict[str, Any]:
    """Return the document of `--json`: counts, sizes and times, but no names."""
    model = outcome.model
    return {
        "schema": SCHEMA,
        "model": {
            "file": file,
            "provenance": LABEL,
            "tick": asdict(model.tick),
            "client": {
                "interval_ms": {"median": model.pace.median_ms},
                "stalls": model.pace.stalls,
                "longest_gap_ms": model.pace.longest_gap_ms,
            },
        },
        "captured_players": model.captured,
        "offered_players": model.offered,
        "runs": RUNS,
        "matches": [_fit(each) for each in outcome.fits],
        "powers": {"mean": model.growth.mean.powers(), "sd": model.growth.sd.powers()} if model.growth else None,
        "estimates": [
            {"players": players, "sum": list(each.sum), **_figures(each.mean, each.sd)}
            for players, each in sorted(model.estimated.items())
        ],
        "predictions": [_prediction(each) for each in outcome.predictions],
        "caveats": list(outcome.said),
    }


def caveats(
    model: FittedModel, matches: Sequence[Match], predictions: Sequence[Prediction], damaged: Sequence[str]
) -> list[str]:
    """Return the caveats that belong to every figure of the fit."""
    captured = _listed(model.captured)
    said = list(damaged)
    if model.estimated:
        farthest = max(model.estimated)
        top = model.estimated[farthest]
        said.append(
            f"Measured for {captured} players. Traffic of {_ranges(sorted(model.estimated))} players is estimated from "
            f"the growth with the players; above {model.captured[-1]} it is an extrapolation. With {farthest} players, "
            f"95 of 100 captures should have a mean of {top.mean.low:.0f} to {top.mean.high:.0f} B and a standard "
            f"deviation of {top.sd.low:.0f} to {top.sd.high:.0f} B."
        )
        said.append(_tested(predictions))
    else:
        said.append(
            f"Measured for {captured} players; the model offers no other number. Captures with other numbers of "
            "players would show how sizes grow."
        )
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


def _tested(predictions: Sequence[Prediction]) -> str:
    if not predictions:
        return "These captures cannot test the growth; that takes three numbers of players."
    within = sum(each.mean.holds(each.of.measured.mean_bytes) for each in predictions)
    within += sum(each.sd.holds(each.of.measured.sd_bytes) for each in predictions)
    errors = "; ".join(
        f"{each.of.players} players: {percent(each.of.errors['mean_bytes'])} in the mean, "
        f"{percent(each.of.errors['sd_bytes'])} in the standard deviation"
        for each in predictions
    )
    return (
        f"Errors of the model with one number of players left out: {errors}. Of these {2 * len(predictions)} "
        f"captured figures, {within} are within the 95 % intervals of the estimates."
    )


def _figures(mean: Estimate, sd: Estimate) -> dict[str, Any]:
    return {
        key: {"value": of.value, "low95": of.low, "high95": of.high}
        for key, of in (("mean_bytes", mean), ("sd_bytes", sd))
    }


def _fit(fit: Fit) -> dict[str, Any]:
    return {
        "players": fit.players,
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
        "sum": list(prediction.sum),
        "estimate": _figures(prediction.mean, prediction.sd),
        "causes": list(prediction.causes),
        **{key: value for key, value in _fit(prediction.of).items() if key != "players"},
    }


def _ranges(numbers: Sequence[int]) -> str:
    """List ascending numbers, three or more in a row by their ends."""
    words: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        row = [number for _, number in run]
        words += [f"{row[0]} to {row[-1]}"] if len(row) > 2 else [str(number) for number in row]
    return _listed(words)


def _listed(items: Sequence[object]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
