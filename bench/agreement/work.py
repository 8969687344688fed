"""Runs one case on both engines, in a process of its own on one core. Finished runs stay in a folder of results."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

from bench.agreement import figures
from bench.agreement.matrix import Case


def on_core(numbers: Any) -> None:
    """Keep this process, and the guests that it boots, on a core of its own, and end it with its parent.

    It is called once in each process.
    """
    own = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {own[numbers.get() % len(own)]})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def run(case: Case, place: Path) -> tuple[list[figures.Figure], str]:
    """Return the figures of a case, or none and the reason."""
    from gamelane.errors import LabError, ScenarioError  # noqa: PLC0415 - after the process is on its core

    try:
        sides = {engine: side(case, engine, place) for engine in case.seeds}
    except (LabError, ScenarioError) as error:
        return [], str(error)
    return figures.compared(sides.get("kernel", []), sides.get("sim", [])), ""


def side(case: Case, engine: str, place: Path) -> list[dict[str, float]]:
    """Return the figures of each seed from one engine, from the folder of results if they are there."""
    from gamelane import experiment  # noqa: PLC0415
    from gamelane.commands.engines import KERNEL, real  # noqa: PLC0415
    from gamelane.experiment import Hooks  # noqa: PLC0415

    loaded = experiment.load(case.scenario)
    marks = f"{loaded.with_(case.keys).scenario.to_toml()}\n{case.spread_s}\n{_code(engine)}"
    file = place / engine / f"{hashlib.sha256(marks.encode()).hexdigest()[:24]}.json"
    kept: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    seeds = range(1, case.seeds[engine] + 1)
    missing = [seed for seed in seeds if str(seed) not in kept]
    for seed in missing:
        chosen = loaded.with_(case.keys_of(seed))
        hosts = real(KERNEL, chosen, None, vm=True, threads=1) if engine == KERNEL else None
        results = chosen.run(seeds=[seed], threads=1, hooks=Hooks(engine=hosts, keep="summary"))
        kept[str(seed)] = figures.of_run(results.variants[0].runs[0].summary)
    if missing:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(kept), encoding="utf-8")
        partial.replace(file)
    return [kept[str(seed)] for seed in seeds]


def _code(engine: str) -> str:
    """Return what makes results of an engine old: the simulator, or the lab, the gateway and the guest's kernel."""
    import gamelane  # noqa: PLC0415
    from gamelane import _native, programs  # noqa: PLC0415
    from gamelane.commands.engines import SIM  # noqa: PLC0415
    from gamelane.guest.choice import choose  # noqa: PLC0415

    if engine == SIM:
        return _mark(Path(_native.__file__))
    package = Path(gamelane.__file__).parent
    files = sorted(file for part in ("lab", "guest") for file in (package / part).rglob("*.py"))
    return " ".join((choose().label, *map(_mark, (*files, Path(programs.GATEWAY.find())))))


def _mark(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
