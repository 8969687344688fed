"""How well a model plays what was captured: figures, distance of the sizes, and what a match this short can tell."""

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
"""Matches played of each number of players, as long as the captured one."""

BATCHES = 8
"""A match is cut into so many pieces to tell how well it pins its mean (Law and Kelton's batch means)."""

LAGS = 40


@dataclass(frozen=True)
class Fit:
    """A captured match beside the model's; `errors` are relative.

    `spread95` says how far single matches as long as the captured one stray in the model: half of the width that 95 %
    of them lie in. `mean_sd_bytes` is the standard deviation of the measured mean, from the capture alone.
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
    """What plots are made from: sizes, and autocorrelations from lag 0 on, as captured and as played."""

    real: Floats
    played: Floats
    real_memory: Floats
    played_memory: Floats


@dataclass(frozen=True)
class Prediction:
    """A match that was captured, predicted from smaller ones alone, and why it is off."""

    of: Fit
    captured: tuple[int, ...]
    fixed: float
    per_player: float
    line_mean: float
    """`fixed + players * per_player`, before bounds."""
    mean_sd_bytes: float
    """Standard deviation of the predicted mean, as matches this short leave it."""
    causes: tuple[str, ...]


def compare(model: FittedModel, match: Match, runs: int = RUNS) -> Fit:
    """Play the model as often as `runs` and put the result beside the match."""
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
    """Return how far the mean of a match like this may be from that of a match without end: one standard deviation.

    Updates are far from independent, so the means of pieces are compared instead.
    """
    means = np.array([[batch.mean() for batch in np.array_split(series, BATCHES)] for series in match.updates])
    return float(means.mean(axis=0).std(ddof=1) / np.sqrt(BATCHES))


def predict(matches: Sequence[Match], runs: int = RUNS) -> list[Prediction]:
    """Predict each match from the smaller ones, two at least, where those can be added up to it."""
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
    """Sampling error, or more than that."""
    gap = of.modelled.mean_bytes - of.measured.mean_bytes
    both = float(np.hypot(sd, of.mean_sd_bytes))
    how = " and ".join(f"{weight:+.3g} times that of {players} players" for players, weight in sorted(weights.items()))
    judged = (
        "which matches so short cannot tell from chance"
        if abs(gap) <= 2 * both
        else "more than such short matches explain: the mean of these captures is not linear in the players"
    )
    return (
        f"mean: the construction takes it as {how}, which adds their sampling errors up to {sd:.1f} B; the match of "
        f"{of.players} players itself leaves {of.mean_sd_bytes:.1f} B. The prediction is off by {gap:+.1f} B, "
        f"{abs(gap) / both if both else float('inf'):.1f} standard deviations, {judged}"
    )


def _about_the_memory(of: Fit) -> list[str]:
    """What a sum of independent matches cannot have."""
    gap = of.modelled.lag_one - of.measured.lag_one
    if abs(gap) <= of.spread95.lag_one:
        return []
    more = "above by more" if gap < 0 else "below by more"
    return [
        f"lag-1 correlation: a sum of independent matches has the memory of its parts, {of.modelled.lag_one:.2f}; the "
        f"captured match of {of.players} players has {of.measured.lag_one:.2f}, {more} than the "
        f"{of.spread95.lag_one:.2f} that chance allows. What does not depend on players scatters too, with "
        "little memory; the construction takes its mean out of the sum, but leaves its scatter in once for each part"
    ]


def _spread(single: Sequence[Figures], name: str) -> float:
    return 1.96 * float(np.std([getattr(each, name) for each in single], ddof=1)) if len(single) > 1 else float("nan")


def _off(modelled: float, measured: float) -> float:
    return modelled / measured - 1 if measured else float("nan")
