"""Runs a scenario once in the lab, in real time: builds the household, plays the flows, and makes tables.

`play` observes, and `evaluate` makes the tables. A guest plays; its host evaluates.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from gamelane import _native, programs
from gamelane.catalogue import MMO
from gamelane.errors import LabError, OutputError
from gamelane.lab import pcapng, taps, topology
from gamelane.lab.bulk import Bulk
from gamelane.lab.dash import Dash
from gamelane.lab.datagrams import Datagrams
from gamelane.lab.messages import Messages, Written
from gamelane.lab.namespaces import Lab, missing
from gamelane.lab.observed import Observed
from gamelane.lab.plan import DATAGRAMS, Flow, Plan, Refusal, plan
from gamelane.lab.reports import Reports
from gamelane.lab.sampler import Sampler
from gamelane.lab.topology import Between, Household, server_address
from gamelane.lab.waiting import GLANCE_S, Stopped
from gamelane.lab.web import Web
from gamelane.lab.windows import set_windows
from gamelane.records.results import ALONE, RunRecord

if TYPE_CHECKING:
    import polars as pl

TOOLS = {"tcpdump": "tcpdump", "ethtool": "ethtool"}
"""Tools that the lab needs, and their Debian packages."""


class Application(Protocol):
    """Client and server of a flow."""

    @property
    def begins_s(self) -> float:
        """Time to start the client, in seconds from the start of the run."""

    def prepare(self) -> None:
        """Start the server, before the run."""

    def start(self) -> None:
        """Start the client."""

    def stop(self) -> None:
        """End client and server. A second call does nothing."""


@dataclass(frozen=True)
class Finished:
    """Record and tables of a finished run."""

    record: RunRecord
    frames: dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Wanted:
    """A run to do. `variants` and `flows` are the names that may appear in its tables."""

    scenario: _native.Scenario
    file: str
    variant: str
    seed: int
    variants: Sequence[str]
    flows: Sequence[str]
    between: Between


def lacking(between: Between) -> str | None:
    """Return the reason why the lab cannot run on this machine; None if it can."""
    if why := missing():
        return why
    absent = [package for tool, package in {**TOOLS, **between.tools}.items() if shutil.which(tool) is None]
    if absent:
        return f"{', '.join(absent)} not found; install with `apt-get install {' '.join(absent)}`"
    words = ["unshare", "--net", "ip", "link", "add", "switch", "type", "bridge"]
    made = subprocess.run(words, capture_output=True, check=False)
    return between.lacking() if made.returncode == 0 else "the kernel has no bridges; load them with `modprobe bridge`"


def check(between: Between) -> None:
    """Raise if the lab cannot run on this machine."""
    if why := lacking(between):
        raise LabError(f"--engine {between.name}: {why}")
    for program in (*between.needed, programs.TRAFFIC):
        program.find()


def planned_for(between: Between, scenario: _native.Scenario, file: str, controls: Sequence[str] | None = None) -> Plan:
    """Make the plan of a scenario; raise `ScenarioError` if the lab cannot run it."""
    planned = plan(scenario, file, controls)
    between.refuse(planned, Refusal(file))
    return planned


def run(wanted: Wanted, *, stopped: Stopped, keep: Path | None = None, pcap: Path | None = None) -> Finished | None:
    """Run once. Return None if `stopped` returned true before the end.

    If given, the folder `pcap` receives captures and the folder `keep` receives working files.
    """
    planned = planned_for(wanted.between, wanted.scenario, wanted.file)
    with TemporaryDirectory(prefix="gamelane-lab-") as name:
        folder = keep or Path(name)
        try:
            observed = play(wanted, planned, folder, stopped)
        except LabError:
            if not stopped():
                raise
            return None  # Ctrl-C also ends the lab's programs, so their errors do not matter.
        if observed is None:
            return None
        return evaluate(wanted, planned, observed, folder, pcap)


def evaluate(wanted: Wanted, planned: Plan, observed: Observed, folder: Path, pcap: Path | None) -> Finished:
    """Make record and tables of what `play` observed in `folder`. If given, the folder `pcap` receives captures."""
    # NumPy and Polars load slowly, and a guest only plays.
    from gamelane.lab import recording  # noqa: PLC0415
    from gamelane.records.frames import frames  # noqa: PLC0415

    captures = {name: taps.file(folder, name) for name in observed.taps}
    fates = recording.fates(
        planned, taps.passages(captures, _servers(planned)), observed.samples, observed.began_unix_ns
    )
    if pcap is not None:
        _captures(planned, folder, pcap, wanted)
    recorded = recording.record(wanted.scenario, recording.Seen(planned, fates, observed, folder))
    finished = recorded.finish(wanted.seed, observed.cpu_s)
    tables = frames(finished, variant=wanted.variant, variants=wanted.variants, flows=wanted.flows)
    return Finished(RunRecord.of(finished), tables)


def play(wanted: Wanted, planned: Plan, folder: Path, stopped: Stopped) -> Observed | None:
    """Build the household in `folder` and play its flows. Return None if `stopped` returned true before the end."""
    scenario = folder / "scenario.toml"
    scenario.write_text(absolute(planned.toml, Path(wanted.file).parent), encoding="utf-8")
    began_cpu = sum(os.times()[:4])
    with Lab() as lab:
        home = topology.build(lab, planned, scenario, folder, wanted.between)
        if stopped():
            return None
        set_windows(home)
        tapped = taps.Taps(lab, home)
        reports = Reports()
        applications = [_application(home, flow, wanted, reports) for flow in planned.flows]
        for application in applications:
            application.prepare()
        sampler = Sampler(home)
        sampler.start()
        began_monotonic, began_unix = time.monotonic_ns(), time.time_ns()
        try:
            whole = _follow(home, applications, stopped)
        finally:
            for application in applications:
                application.stop()
        if not whole or not tapped.stop(stopped):
            sampler.stop()
            return None
        samples = sampler.stop()
        written = _written(applications)
        home.check()
        if reports.failure is not None:
            raise LabError(reports.failure)
    cpu_s = sum(os.times()[:4]) - began_cpu
    return Observed(
        began_monotonic, began_unix, tapped.names, samples, reports.all(), _echoes(applications), written, cpu_s
    )


def _follow(home: Household, applications: Sequence[Application], stopped: Stopped) -> bool:
    """Start and stop applications on time. Return False if `stopped` returned true before the end."""
    began = time.monotonic()
    flows = home.plan.flows
    due = [(application.begins_s, application.start) for application in applications]
    due += [(flow.stop_s, application.stop) for flow, application in zip(flows, applications, strict=True)]
    due.sort(key=lambda entry: entry[0])
    while True:
        now = time.monotonic() - began
        while due and due[0][0] <= now:
            due.pop(0)[1]()
        if now >= home.plan.duration_s:
            return True
        if stopped():
            return False
        home.check()
        time.sleep(min(GLANCE_S, max(0.0, home.plan.duration_s - now)))


def _application(home: Household, flow: Flow, wanted: Wanted, reports: Reports) -> Application:
    if flow.app in DATAGRAMS:
        return Datagrams(home, flow, wanted.seed)
    if flow.app == "bulk":
        return Bulk(home, flow)
    if flow.app == MMO:
        return Messages(home, flow, wanted.scenario, wanted.seed, reports)
    return Web(home, flow, wanted.seed, reports) if flow.app == "web" else Dash(home, flow, reports)


def _servers(planned: Plan) -> dict[int, int]:
    """Return the flow of each server address."""
    return {int(IPv4Address(server_address(flow))): flow.number for flow in planned.flows}


def _echoes(applications: Sequence[Application]) -> dict[int, str]:
    """Return the names of files with round trips that applications measured themselves, by echoes in their packets."""
    games = [application for application in applications if isinstance(application, Datagrams)]
    return {game.flow.number: game.records("client").name for game in games if game.records("client").is_file()}


def _written(applications: Sequence[Application]) -> dict[int, Written]:
    """Return what games over TCP wrote, and the counters of their servers, by flow."""
    return {own.flow.number: own.end() for own in applications if isinstance(own, Messages)}


def _captures(planned: Plan, folder: Path, target: Path, wanted: Wanted) -> None:
    """Write captures of both sides of the gateway and of the servers; each path has its own server file."""
    name = f"seed{wanted.seed}" if wanted.variant == ALONE else f"{wanted.variant}-seed{wanted.seed}".replace("/", "_")
    sides = {"lan": "lan", "wan": "wan", "site0": "server"}
    sides |= {f"site{number}": f"server{number + 1}" for number in range(1, len(planned.paths))}
    try:
        for tap, side in sides.items():
            pcapng.convert(taps.file(folder, tap), target / f"{name}-{side}.pcapng")
    except OSError as error:
        raise OutputError(str(error)) from error


def absolute(toml: str, folder: Path) -> str:
    """Make the paths of files that a scenario names absolute."""

    def whole(found: re.Match[str]) -> str:
        path = folder / found[2]
        return f'{found[1]}"{path.resolve()}"' if path.is_file() else found[0]

    return NAMED.sub(whole, toml)


NAMED = re.compile(r'^((?:trace|model) = )"([^"]+)"', re.MULTILINE)
"""A key of a scenario that may name a file."""
