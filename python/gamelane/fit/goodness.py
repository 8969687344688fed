"""Measures how well a model reproduces a capture, and how exact a match of this length can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import ks_2samp, wasserstein_distance

from gamelane.fit.arma import Arma
from gamelane.fit.arma import fit as fit_arma
from gamelane.fit.figures import FIGURES, Figures, autocorrelation, figures
from gamelane.fit.model import FittedModel, Match, fit, line_weights, to_toml
from gamelane.fit.play import play_text

Floats = npt.NDArray[np.float64]

RUNS = 200
"""Matches played for each number of players, each as long as the captured one."""

BATCHES = 8
"""Number of pieces that a match is cut into, to estimate the error of its mean (Law and Kelton's batch means)."""

LAGS = 40


@dataclass(frozen=True)
class Fit:
    """A captured match beside the model's matches. `errors` are relative.

    `spread95` is half the width of the range that holds 95 % of the model's single matches of the same length.
    `mean_sd_bytes` is the standard deviation of the measured mean, from the capture alone.
    """

    players: int
    parts: tuple[int, ...]
    seconds: float
    count: int
    measured: Figures
    modelled: Figures
    spread95: Figures
    errors: dict[str, float]
    ks: float
    wasserstein_bytes: float
    mean_sd_bytes: float
    arma: Arma
    samples: Samples = field(repr=False, compare=False)


@dataclass(frozen=True)
class Samples:
    """Data of the plots: sizes, and autocorrelations from lag 0, as captured and as modelled."""

    real: Floats
    played: Floats
    real_memory: Floats
    played_memory: Floats


@dataclass(frozen=True)
class Prediction:
    """A captured match, predicted from smaller matches alone, with the causes of its errors."""

    of: Fit
    captured: tuple[int, ...]
    fixed: float
    per_player: float
    line_mean: float
    """`fixed + players * per_player`, before bounds."""
    mean_sd_bytes: float
    """Standard deviation of the predicted mean, from the lengths of the matches."""
    causes: tuple[str, ...]


def compare(model: FittedModel, match: Match, runs: int = RUNS) -> Fit:
    """Play the model `runs` times and compare the result with the match."""
    played = play_text(to_toml(model, "fit", "fit"), match.players, match.seconds, runs)
    sizes = [each.updates.payload for each in played]
    gaps = [each.updates.gaps_ms for each in played]
    measured, modelled = figures(match.updates, match.update_gaps_ms), figures(sizes, gaps)
    single = [figures([size], [gap]) for size, gap in zip(sizes, gaps, strict=True)]
    pooled, real = np.concatenate(sizes), np.concatenate(match.updates)
    return Fit(
        players=match.players,
        parts=tuple(model.parts(match.players) or ()),
        seconds=match.seconds,
        count=len(real),
        measured=measured,
        modelled=modelled,
        spread95=Figures(**{name: _spread(single, name) for name in Figures.__dataclass_fields__}),
        errors={name: _off(getattr(modelled, name), getattr(measured, name)) for name in FIGURES},
        ks=float(ks_2samp(real, pooled, method="asymp").statistic),
        wasserstein_bytes=float(wasserstein_distance(real, pooled)),
        mean_sd_bytes=mean_sd(match),
        arma=fit_arma(match.updates),
        samples=Samples(real, pooled, autocorrelation(match.updates, LAGS), autocorrelation(sizes, LAGS)),
    )


def mean_sd(match: Match) -> float:
    """Return the standard deviation of a match's mean.

    Updates depend on each other, so it is estimated from the means of pieces.
    """
    means = np.array([[batch.mean() for batch in np.array_split(series, BATCHES)] for series in match.updates])
    return float(means.mean(axis=0).std(ddof=1) / np.sqrt(BATCHES))


def predict(matches: Sequence[Match], runs: int = RUNS) -> list[Prediction]:
    """Predict each match from the smaller ones, if at least two exist and can be added up to it."""
    found = []
    for index, real in enumerate(matches):
        smaller = matches[:index]
        if len(smaller) < 2:
            continue
        model = fit(smaller)
        parts = model.parts(real.players)
        if parts is None:
            continue
        comparison = compare(model, real, runs)
        weights = dict(zip(model.captured, (1 - len(parts)) * line_weights(model.captured), strict=True))
        for part in parts:
            weights[part] += 1
        sds = {match.players: mean_sd(match) for match in smaller}
        sd = float(np.sqrt(sum((weight * sds[players]) ** 2 for players, weight in weights.items())))
        found.append(
            Prediction(
                of=comparison,
                captured=tuple(model.captured),
                fixed=model.fixed,
                per_player=model.per_player,
                line_mean=model.fixed + real.players * model.per_player,
                mean_sd_bytes=sd,
                causes=(_about_the_mean(comparison, weights, sd), *_about_the_memory(comparison)),
            )
        )
    return found


def _about_the_mean(of: Fit, weights: dict[int, float], sd: float) -> str:
    """Say whether sampling error explains the error of the mean."""
    gap = of.modelled.mean_bytes - of.measured.mean_bytes
    both = float(np.hypot(sd, of.mean_sd_bytes))
    how = " and ".join(f"{weight:+.3g} times that of {players} players" for players, weight in sorted(weights.items()))
    judged = (
        "which chance can explain in matches this short"
        if abs(gap) <= 2 * both
        else "which chance does not explain: the mean of these captures is not linear in the number of players"
    )
    return (
        f"mean: the model adds {how}. Its sampling error is {sd:.1f} B; that of the match of {of.players} players is "
        f"{of.mean_sd_bytes:.1f} B. The prediction differs by {gap:+.1f} B, "
        f"{abs(gap) / both if both else float('inf'):.1f} standard deviations, {judged}"
    )


def _about_the_memory(of: Fit) -> list[str]:
    """Explain an error of the lag-1 correlation."""
    gap = of.modelled.lag_one - of.measured.lag_one
    if abs(gap) <= of.spread95.lag_one:
        return []
    side = "above" if gap < 0 else "below"
    return [
        f"lag-1 correlation: the model has {of.modelled.lag_one:.2f}, as its parts have. The captured match of "
        f"{of.players} players has {of.measured.lag_one:.2f}, {side} it by more than {of.spread95.lag_one:.2f}, which "
        "chance would explain. One cause: the bytes that do not depend on players vary too, with little correlation. "
        "The model subtracts their mean from the sum, but includes their variance once per part"
    ]


def _spread(single: Sequence[Figures], name: str) -> float:
    return 1.96 * float(np.std([getattr(each, name) for each in single], ddof=1)) if len(single) > 1 else float("nan")


def _off(modelled: float, measured: float) -> float:
    return modelled / measured - 1 if measured else float("nan")
