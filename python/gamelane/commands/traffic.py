"""`gamelane traffic fit` and `generate`: fit game models to captures, and generate their packets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from gamelane import whole
from gamelane.errors import UsageError
from gamelane.fit import capture, play
from gamelane.fit.capture import MOST_PLAYERS, Recording, Stream
from gamelane.fit.figures import FIGURES, figures, percent
from gamelane.plot.style import number
from gamelane.report.fit import write_fit
from gamelane.terminal.talk import emit, printing, say, say_where, stdout, writable

if TYPE_CHECKING:
    from gamelane.fit.goodness import Fit, Outcome
    from gamelane.fit.model import FittedModel

SCHEMA = 1


def fit(
    captures: Sequence[Path],
    out: Path,
    players: Sequence[str],
    title: str | None,
    report: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Fit a game model to captures of matches."""
    if out.suffix != ".toml" or not out.stem:
        raise UsageError(
            f"{out}: a model's file must end in .toml\n  hint:    -o {out.with_suffix('.toml').name or 'game.toml'}"
        )
    counts = _players(players, len(captures))
    writable(out.parent, shared=True)
    folder = None if report is None else writable(report)
    recordings = [capture.read(path) for path in captures]
    named = [_count(path, given, each) for path, given, each in zip(captures, counts, recordings, strict=True)]
    damaged = [
        f"Capture {index} of {len(captures)} is damaged. The packets before the damage were used."
        for index, each in enumerate(recordings, 1)
        if each.damage
    ]
    # SciPy takes half a second to load, and other commands do without.
    from gamelane.fit import goodness, words  # noqa: PLC0415
    from gamelane.fit import model as models  # noqa: PLC0415

    matches = models.gather(list(zip(named, recordings, strict=True)))
    model = models.fit(matches)
    _write(out, models.to_toml(model, out.stem, title or out.stem))
    fits = tuple(goodness.compare(model, match) for match in matches)
    predictions = tuple(goodness.predict(matches))
    said = tuple(words.caveats(model, matches, predictions, damaged))
    outcome = goodness.Outcome(model, fits, predictions, said)
    with printing():
        if json:
            emit(words.document(str(out), outcome))
        else:
            _show(outcome, stdout())
    page = None if folder is None else write_fit(folder, title or out.stem, outcome)
    if not quiet:
        say(f"model: {out}")
        say_where(page, quiet=quiet)


def generate(model: str, out: Path, players: int | None, duration: str, seed: int, json: bool, quiet: bool) -> None:
    """Generate the packets of one client of a match."""
    scenario = play.scenario(model, players, duration, file="gamelane traffic generate")
    writable(out.parent, shared=True)
    with whole.file(out) as partial:
        played = play.play(scenario, seed, partial)
    caveats = scenario.flows()[0]["caveats"]
    if json:
        emit(
            {
                "schema": SCHEMA,
                "file": str(out),
                "label": scenario.flows()[0]["label"],
                "seed": seed,
                "seconds": scenario.duration_s,
                "down": _direction(played.updates, scenario.duration_s),
                "up": _direction(played.commands, scenario.duration_s),
                "caveats": caveats,
            }
        )
    else:
        table = Table("direction", "packets", "packets/s", "mean, B", "sd, B", "lag-1", box=None, pad_edge=False)
        for name, stream in (("server to client", played.updates), ("client to server", played.commands)):
            of = _direction(stream, scenario.duration_s)
            table.add_row(name, str(of["packets"]), *(number(of[key]) for key in list(of)[1:]))
        stdout().print(table)
    if not quiet:
        for caveat in caveats:
            say(f"note: {caveat}")
        say(f"capture: {out}")


def _direction(stream: Stream, seconds: float) -> dict[str, float | None]:
    """Return figures of the payload sizes. A figure that needs more packets is null."""
    packets = len(stream.payload)
    of = figures([stream.payload], [stream.gaps_ms]) if packets > 1 else None
    return {
        "packets": packets,
        "packets_per_second": packets / seconds,
        "mean_bytes": of.mean_bytes if of else None,
        "sd_bytes": of.sd_bytes if of else None,
        "lag_one": of.lag_one if of else None,
    }


def _players(given: Sequence[str], captures: int) -> list[int | None]:
    """Return the number of players for each capture, or None for each."""
    parts = [part.strip() for text in given for part in text.split(",")]
    if not parts:
        return [None] * captures
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_PLAYERS for part in parts):
        raise UsageError(
            f"--players {','.join(parts)}: not a list of player counts\n"
            f"  allowed: 1 to {MOST_PLAYERS} each, for example 2,3,4"
        )
    if len(parts) != captures:
        raise UsageError(
            f"--players {','.join(parts)}: {len(parts)} counts for {captures} capture{'s' * (captures > 1)}\n"
            "  allowed: one count per capture in the same order, for example `a.pcapng b.pcapng --players 2,3`"
        )
    return [int(part) for part in parts]


def _count(path: Path, given: int | None, recording: Recording) -> int:
    seen = len(recording.clients)
    if given is None and seen == 1:
        raise UsageError(
            f"{path}: this capture shows one client, so the number of players is unknown\n"
            "  hint:    give it with --players"
        )
    if given is not None and given < seen:
        raise UsageError(
            f"{path}: the capture shows {seen} clients of one server, but --players says {given}\n"
            f"  allowed: {seen} or more"
        )
    return seen if given is None else given


def _write(path: Path, text: str) -> None:
    whole.replace(path, text)


def _show(outcome: Outcome, console: Console) -> None:
    console.print(_table(outcome.fits))
    if outcome.model.estimated:
        console.print("\nNot captured: estimates with 95 % prediction intervals")
        console.print(_estimates(outcome.model))
    for each in outcome.predictions:
        of = " and ".join(map(str, each.captured))
        console.print(f"\nThe match of {each.of.players} players, left out and estimated from matches of {of}")
        console.print(_table([each.of]))
        for cause in each.causes:
            console.print(f"* {cause}.")
    console.print()
    for line in outcome.said:
        console.print(f"* {line}")


def _estimates(model: FittedModel) -> Table:
    table = Table("players", "mean, B", "95 %", "sd, B", "95 %", "shape of", box=None, pad_edge=False)
    for players, each in sorted(model.estimated.items()):
        figures = ((number(of.value), f"{of.low:.0f} to {of.high:.0f}") for of in (each.mean, each.sd))
        table.add_row(str(players), *(cell for pair in figures for cell in pair), " + ".join(map(str, each.sum)))
    return table


def _table(fits: Sequence[Fit]) -> Table:
    table = Table(
        "players", "", "mean, B", "sd, B", "tick, ms", "lag-1", "KS", "Wasserstein, B", box=None, pad_edge=False
    )
    for fit in fits:
        rows = ((str(fit.players), "captured", fit.measured), ("", "model", fit.modelled))
        for players, of, has in rows:
            table.add_row(players, of, *(number(getattr(has, key)) for key in FIGURES))
        errors = (percent(fit.errors[key]) for key in FIGURES)
        table.add_row("", "error", *errors, f"{fit.ks:.3f}", number(fit.wasserstein_bytes))
    return table
