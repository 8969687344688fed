"""`gamelane advise`: the setting for a line that `gamelane measure` has measured, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from gamelane import _native, experiment, whole
from gamelane.advise import household, measured
from gamelane.advise.advice import Wanted
from gamelane.advise.advice import advise as find
from gamelane.advise.promised import FILE, FOLDER
from gamelane.analysis.bottleneck import Link
from gamelane.catalogue import APPS, INTERACTIVE
from gamelane.errors import ExitCode, RecordsError, UsageError
from gamelane.report.advise import document, show, write_page
from gamelane.terminal.talk import deliver, progress, say, say_where, stdout, writable
from gamelane.tune.search import module

POLICY = "gateway.toml"
*_, GATEWAY = _native.recipe_targets()
"""The target that takes a file of its own."""
NOT_ALWAYS = (POLICY, *household.TRACES.values())
"""Files that not every advice writes."""


def advise(
    folder: Path,
    household_of: str | None,
    target: str,
    cost: float,
    trials: int,
    repeat: int,
    threads: int,
    json: bool,
    quiet: bool,
) -> None:
    """Search, write the advice beside the measurement, and present it."""
    module()
    line = measured.read(folder)
    if line.link is None:
        raise RecordsError(
            f"{folder / measured.FILE}: the link is not known, because phases or the server's records are missing\n"
            f"  hint:    measure again: gamelane measure {line.host} -o {folder}"
        )
    place = writable(folder / FOLDER)
    with_ = None if household_of is None else _household(household_of, line.link, place.resolve())
    place.mkdir(exist_ok=True)
    traces = household.traces(line.link)
    for name, text in traces.items():
        whole.replace(place / name, text)
    first = 1 if with_ is None else with_.seed
    wanted = Wanted(with_, target, cost / 100, trials, range(first, first + repeat), threads)
    with progress(quiet=quiet or json) as bar:
        task = bar.add_task("advise", total=trials)
        advice = find(line, line.link, place.resolve(), wanted, lambda done: bar.update(task, completed=done))
    whole.replace(place / household.FILE, advice.scenario.to_toml())
    lines: Sequence[str] = ()
    if advice.policy is not None:
        whole.replace(place / POLICY, advice.policy.to_toml())
        run = f"gamelane gateway run --lan eth1 --wan eth0 {place / POLICY}"
        lines = [run] if target == GATEWAY else advice.recipes[target].lines()
    _remove({*NOT_ALWAYS} - {*traces, *([] if advice.policy is None else [POLICY])}, place)
    deliver(document(advice), place / FILE, lambda: show(advice, lines, folder, stdout()), json=json)
    page = write_page(place, advice, lines)
    say_where(page, quiet=quiet)
    if advice.found is not None and advice.found.interrupted:
        say(f"{len(advice.found.trials)} of {trials} settings tried")
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)


def _household(name: str, link: Link, place: Path) -> _native.Scenario:
    """Return the scenario of who uses the line, on that line. It must have somebody to help.

    `place` is the folder of the traces of the line. A household's plan gives way to the line.
    """
    measured_line = household.of(link, place)
    if "," in name or any(each["name"] == name for each in _native.presets() if each["word"] == "with"):
        found = _native.Scenario.parse("", experiment.HOME, [("with", name), *measured_line])
    else:
        loaded = experiment.load(name)
        found = _native.Scenario.parse(loaded.scenario.show(), loaded.path, measured_line)
    if not any(flow["app"] in INTERACTIVE for flow in found.flows()):
        helped = [app for app in INTERACTIVE if app in APPS]
        raise UsageError(
            f"--with {name}: no game and no call, so there is nobody to advise for\n"
            f"  allowed: a scenario with a flow whose `app` is {', '.join(helped[:-1])} or {helped[-1]}\n"
            f"  hint:    gamelane tune {name} searches with goals of your own: --goal"
        )
    return found


def _remove(names: Iterable[str], place: Path) -> None:
    """Remove what only an earlier advice had, so that nobody applies it."""
    for name in names:
        (place / name).unlink(missing_ok=True)
