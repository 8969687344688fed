"""`gamelane replay`: the writes of a capture over other TCPs, links, gateways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gamelane import host, replay
from gamelane.cli import run
from gamelane.cli.talk import emit, say, stdout, writable
from gamelane.cli.variants import overrides, variants
from gamelane.errors import Interrupted
from gamelane.experiment import Hooks
from gamelane.records.results import ALONE, Results
from gamelane.report.document import document


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay_capture)


def replay_capture(
    capture: Annotated[str, typer.Argument(help="A pcap or pcapng file with TCP connections.", show_default=False)],
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Round trip of the path.")] = "0ms",
    loss: Annotated[str, typer.Option(metavar="SHARE", help="Packets lost each way, e.g. 2%.")] = "0%",
    jitter: Annotated[str, typer.Option(metavar="TIME", help="Extra delay each way, uniform up to this.")] = "0ms",
    down: Annotated[str, typer.Option(metavar="RATE", help="Rate towards the players.")] = "100mbit",
    up: Annotated[str, typer.Option(metavar="RATE", help="Rate from the players.")] = "100mbit",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a key of the scenario, e.g. flow.replay.tcp.timer=modified."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(metavar="KEY=A,B,…", help="One variant per value, e.g. flow.replay.carriage=direct,mux."),
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--variant", metavar="NAME:KEY=VALUE,…", help="A variant of its own. Repeatable."),
    ] = None,
    other_end: Annotated[
        str | None,
        typer.Option(metavar="CAPTURE", help="The same traffic at the other end: what really happened stands beside."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs, with seeds counting up.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs at a time.", show_default="all cores")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON (docs/json-schema.md).")] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write records and report.html there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")] = False,
) -> None:
    """Repeat what the applications of a capture wrote over other TCPs, links and gateways."""
    chosen = replay.experiment(capture, replay.Network(rtt=rtt, loss=loss, jitter=jitter, down=down, up=up))
    if settings:
        chosen = chosen.with_(overrides(settings))
    compared = variants(compare, named or [])
    real = replay.happened(capture, other_end) if other_end else None
    folder = None if out is None else writable(out)
    hooks = Hooks(command=run.command())
    try:
        results = run.execute(chosen, compared, repeat, threads or host.cores(), hooks, quiet=quiet)
    except Interrupted as stopped:
        run.keep(stopped, json=json, folder=folder, quiet=quiet)
        raise typer.Exit(130) from None
    if real is None:
        run.deliver(results, json=json, folder=folder, quiet=quiet)
        return
    _deliver_beside(results, real, json=json, folder=folder, quiet=quiet)


def _deliver_beside(results: Results, real: dict[str, Any], *, json: bool, folder: Path | None, quiet: bool) -> None:
    beside = {"capture": real, "replay": replay.simulated(results)}
    if json:
        emit({**document(results), "lag_ms": beside})
        if folder is not None:
            run.deliver(results, json=False, folder=folder, quiet=True)
        return
    run.deliver(results, json=False, folder=folder, quiet=quiet)
    stdout().print(_table(beside))
    if not quiet:
        say("lag: from first sent to delivered in order, beyond the fastest; what applications held back is not in it")


def _table(beside: dict[str, Any]) -> Table:
    table = Table("lag of TCP data (ms)", "direction", title_justify="left", box=None)
    names = ("packets", "mean", *replay.QUANTILES, "max")
    for name in names:
        table.add_column(name, justify="right")
    rows = {"capture": beside["capture"]}
    rows |= {"replay" if variant == ALONE else variant: row for variant, row in beside["replay"].items()}
    for label, ways in rows.items():
        for way in ("down", "up"):
            if way in ways:
                numbers = (
                    f"{ways[way][name]:,.0f}" if name == "packets" else f"{ways[way][name]:.1f}" for name in names
                )
                table.add_row(label, way, *numbers)
    return table
