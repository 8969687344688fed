"""`gamelane traffic`: fit a game model to captures, generate a model's packets, and send them over real sockets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gamelane import _native, experiment, library, live, programs
from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.errors import OutputError, UsageError
from gamelane.fit import capture, play
from gamelane.fit.capture import Recording, Stream
from gamelane.fit.figures import FIGURES, figures
from gamelane.report.document import document
from gamelane.report.fit import percent, write_fit
from gamelane.report.style import number
from gamelane.report.terminal import show
from gamelane.report.write import write_report

if TYPE_CHECKING:
    from gamelane.fit.goodness import Fit, Prediction

SCHEMA = 1
MOST_PLAYERS = 1000

commands = typer.Typer(
    help="Fit a game model to captures; generate a model's packets; send them for real.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(commands, name="traffic")


@commands.command()
def fit(
    captures: Annotated[
        list[Path], typer.Argument(metavar="CAPTURE…", help="pcap or pcapng, one match each.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Write the model there: NAME.toml.", show_default=False),
    ],
    players: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N…",
            help="Players of each match, in the order of the captures: 2,3,4, or once for each.",
            show_default="the clients a capture sees",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="What people call the game.", show_default="the file's name")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write plots there: fit.html and figures/.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Fit a game model to captures of matches: sizes and times only, no address and no payload is kept."""
    if out.suffix != ".toml" or not out.stem:
        raise UsageError(
            f"{out}: a model's file ends in .toml\n  hint:    -o {out.with_suffix('.toml').name or 'game.toml'}"
        )
    counts = _players(players or [], len(captures))
    writable(out.parent)
    folder = None if report is None else writable(report)
    recordings = [capture.read(path) for path in captures]
    named = [_count(path, given, each) for path, given, each in zip(captures, counts, recordings, strict=True)]
    damaged = [
        f"Capture {index} of {len(captures)} is damaged; what precedes the damage was used."
        for index, each in enumerate(recordings, 1)
        if each.damage
    ]
    # Its statistics take half a second to load, which other commands need not pay.
    from gamelane.fit import goodness, words  # noqa: PLC0415
    from gamelane.fit import model as models  # noqa: PLC0415

    matches = models.gather(list(zip(named, recordings, strict=True)))
    model = models.fit(matches)
    _write(out, models.to_toml(model, out.stem, title or out.stem))
    fits = [goodness.compare(model, match) for match in matches]
    predictions = goodness.predict(matches)
    said = words.caveats(model, matches, predictions, damaged)
    page = None if folder is None else write_fit(folder, title or out.stem, fits, predictions, said)
    if json:
        emit(words.document(str(out), model, fits, predictions, said))
    else:
        _show(fits, predictions, said, stdout())
    if not quiet:
        say(f"model: {out}")
        if page is not None:
            say(f"report: {page}")


@commands.command()
def generate(
    model: Annotated[str, typer.Argument(help="A shipped model, or a file NAME.toml.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Write the packets there, as pcapng.", show_default=False),
    ],
    players: Annotated[
        int | None, typer.Option(metavar="N", help="Players in the match.", show_default="the model's")
    ] = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long, such as 60s.")] = "60s",
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of all randomness.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Generate one client's traffic of a match, both ways, as a simulation would be sent it."""
    scenario = play.scenario(model, players, duration, file="gamelane traffic generate")
    writable(out.parent)
    try:
        played = play.play(scenario, seed, out)
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror or error}") from error
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


HANDED_OVER = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@commands.command(context_settings=HANDED_OVER)
def serve(context: typer.Context) -> None:
    """Be the server of a game or scenario on real UDP sockets: NAME [--listen ADDRESS:PORT]. See docs/traffic.md."""
    programs.TRAFFIC.become(["serve", *_found(context.args)])


@commands.command(context_settings=HANDED_OVER)
def send(context: typer.Context) -> None:
    """Be its client: NAME [--to HOST:PORT] [-o FILE]. See docs/traffic.md."""
    programs.TRAFFIC.become(["send", *_found(context.args)])


@commands.command()
def join(
    scenario: Annotated[str, typer.Argument(help="The game or scenario that was sent.", show_default=False)],
    client: Annotated[Path, typer.Argument(metavar="CLIENT", help="What `send -o` wrote.", show_default=False)],
    out: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Report and records, as of `run`.", show_default=False)
    ],
    server: Annotated[
        Path | None,
        typer.Argument(metavar="SERVER", help="What `serve -o` wrote; one-way delays need both on one host."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="S", help="What `send --seed` was given.", show_default="the scenario's"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
) -> None:
    """Make tables and a report of what both ends of real traffic recorded."""
    chosen = (
        experiment.Experiment(_native.Scenario.parse(_match(scenario), scenario, []), scenario)
        if _is_game(scenario)
        else experiment.load(scenario)
    )
    own = chosen.scenario.seed if seed is None else seed
    results = live.results(chosen, client, server, seed=own)
    results.write(writable(out))
    page = write_report(results, out)
    if json:
        emit(document(results))
    else:
        show(results, stdout())
    say(f"report: {page}")


def _found(words: list[str]) -> list[str]:
    """Put a file in place of the name of a shipped game or scenario. A game's scenario is handed on without a file."""
    if not words or words[0].startswith("-"):
        return words
    if not _is_game(words[0]):
        return [str(library.find(words[0])), *words[1:]]
    held = os.memfd_create("scenario", 0)
    os.write(held, _match(words[0]).encode())
    return [f"/proc/self/fd/{held}", *words[1:]]


def _is_game(name: str) -> bool:
    games = {model["name"] for model in _native.models() if model["app"] == "game"}
    return not Path(name).is_file() and name in games


def _match(game: str) -> str:
    return play.SCENARIO.format(duration="60s", model=f'"{game}"')


def _direction(stream: Stream, seconds: float) -> dict[str, float | None]:
    """Payload bytes; a figure that too few packets give is null."""
    packets = len(stream.payload)
    of = figures([stream.payload], [stream.gaps_ms]) if packets > 1 else None
    return {
        "packets": packets,
        "packets_per_second": packets / seconds,
        "mean_bytes": of.mean_bytes if of else None,
        "sd_bytes": of.sd_bytes if of else None,
        "lag_one": of.lag_one if of else None,
    }


def _players(given: list[str], captures: int) -> list[int | None]:
    """One number for each capture, or none at all."""
    parts = [part.strip() for text in given for part in text.split(",")]
    if not parts:
        return [None] * captures
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_PLAYERS for part in parts):
        raise UsageError(
            f"--players {','.join(parts)}: not numbers of players\n  allowed: 1 to {MOST_PLAYERS}, as in 2,3,4"
        )
    if len(parts) != captures:
        raise UsageError(
            f"--players {','.join(parts)}: {len(parts)} for {captures} capture{'s' * (captures > 1)}\n"
            "  allowed: one for each capture, in their order, as in `a.pcapng b.pcapng --players 2,3`"
        )
    return [int(part) for part in parts]


def _count(path: Path, given: int | None, recording: Recording) -> int:
    seen = len(recording.clients)
    if given is None and seen == 1:
        raise UsageError(
            f"{path}: one client was captured, so nobody can count the players of the match\n"
            "  hint:    say how many with --players"
        )
    if given is not None and given < seen:
        raise UsageError(
            f"{path}: {seen} clients of one server were captured, in a match of {given} by --players\n"
            f"  allowed: {seen} or more"
        )
    return seen if given is None else given


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error


def _show(fits: list[Fit], predictions: list[Prediction], said: list[str], console: Console) -> None:
    console.print(_table(fits, "captured"))
    for each in predictions:
        console.print(f"\n{each.of.players} players, predicted from matches of {' and '.join(map(str, each.captured))}")
        console.print(_table([each.of], "captured"))
        for cause in each.causes:
            console.print(f"* {cause}.", markup=False)
    console.print()
    for line in said:
        console.print(f"* {line}", markup=False)


def _table(fits: list[Fit], name: str) -> Table:
    table = Table(
        "players", "", "mean, B", "sd, B", "tick, ms", "lag-1", "KS", "Wasserstein, B", box=None, pad_edge=False
    )
    for fit in fits:
        rows = ((str(fit.players), name, fit.measured), ("", "model", fit.modelled))
        for players, of, has in rows:
            table.add_row(players, of, *(number(getattr(has, key)) for key in FIGURES))
        errors = (percent(fit.errors[key]) for key in FIGURES)
        table.add_row("", "error", *errors, f"{fit.ks:.3f}", number(fit.wasserstein_bytes))
    return table
