"""Measures how well a model reproduces its captures, and how well it predicts a match that was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import ks_2samp, wasserstein_distance

from gamelane.fit.arma import Arma
from gamelane.fit.arma import fit as fit_arma
from gamelane.fit.figures import FIGURES, Figures, autocorrelation, figures, standard_error
from gamelane.fit.growth import Estimate
from gamelane.fit.model import FittedModel, Match, fit, to_toml
from gamelane.fit.play import play_text

Floats = npt.NDArray[np.float64]

RUNS = 200
"""Matches played for each number of players, each as long as the captured one."""

LAGS = 40


@dataclass(frozen=True)
class Fit:
    """A captured match beside the model's matches. `errors` are relative.

    `spread95` is half the width of the range that holds 95 % of the model's single matches of the same length.
    `mean_sd_bytes` is the standard deviation of the measured mean, from the capture alone.
    """

    players: int
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
    """A captured match that was left out, and estimated from the matches with other numbers of players."""

    of: Fit
    captured: tuple[int, ...]
    sum: tuple[int, ...]
    mean: Estimate
    sd: Estimate
    causes: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """A fitted model and what is known about it. `said` holds the caveats."""

    model: FittedModel
    fits: tuple[Fit, ...]
    predictions: tuple[Prediction, ...]
    said: tuple[str, ...]


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
        seconds=match.seconds,
        count=len(real),
        measured=measured,
        modelled=modelled,
        spread95=Figures(**{name: _spread(single, name) for name in Figures.__dataclass_fields__}),
        errors={name: _off(getattr(modelled, name), getattr(measured, name)) for name in FIGURES},
        ks=float(ks_2samp(real, pooled, method="asymp").statistic),
        wasserstein_bytes=float(wasserstein_distance(real, pooled)),
        mean_sd_bytes=standard_error(match.updates, np.mean),
        arma=fit_arma(match.updates),
        samples=Samples(real, pooled, autocorrelation(match.updates, LAGS), autocorrelation(sizes, LAGS)),
    )


def predict(matches: Sequence[Match], runs: int = RUNS) -> list[Prediction]:
    """Leave each number of players out in turn, and estimate it from the others. At least two must be left."""
    found = []
    for real in matches if len(matches) > 2 else ():
        model = fit([match for match in matches if match is not real], [real.players])
        estimated = model.estimated[real.players]
        comparison = compare(model, real, runs)
        measured = comparison.measured
        causes = (
            _about("mean", estimated.mean, measured.mean_bytes),
            _about("standard deviation", estimated.sd, measured.sd_bytes),
            *_about_the_memory(comparison),
        )
        found.append(Prediction(comparison, tuple(model.captured), estimated.sum, estimated.mean, estimated.sd, causes))
    return found


def _about(name: str, estimate: Estimate, measured: float) -> str:
    """Say whether the interval holds the measured figure."""
    holds = "contains" if estimate.holds(measured) else "does not contain"
    return (
        f"{name}: the growth gives {estimate.value:.1f} B with a 95 % interval of {estimate.low:.1f} to "
        f"{estimate.high:.1f} B, which {holds} the captured {measured:.1f} B"
    )


def _about_the_memory(of: Fit) -> list[str]:
    """Explain an error of the lag-1 correlation."""
    gap = of.modelled.lag_one - of.measured.lag_one
    if abs(gap) <= of.spread95.lag_one:
        return []
    return [
        f"lag-1 correlation: the model has {of.modelled.lag_one:.2f}, as its parts have. The captured match of "
        f"{of.players} players has {of.measured.lag_one:.2f}. The difference of {abs(gap):.2f} is more than chance "
        f"explains ({of.spread95.lag_one:.2f})"
    ]


def _spread(single: Sequence[Figures], name: str) -> float:
    return 1.96 * float(np.std([getattr(each, name) for each in single], ddof=1)) if len(single) > 1 else float("nan")


def _off(modelled: float, measured: float) -> float:
    return modelled / measured - 1 if measured else float("nan")
