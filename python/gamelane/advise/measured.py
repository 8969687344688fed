"""What `gamelane measure -o DIR` left in its folder: `measure.json`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from gamelane import _native, quantity
from gamelane.analysis import line
from gamelane.analysis.bottleneck import Link
from gamelane.analysis.line import Phase
from gamelane.errors import RecordsError, UsageError, did_you_mean

FILE = "measure.json"
CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
"""Names the TCP congestion control that this computer uses unless a program asks for another one."""
Read = TypeVar("Read")


@dataclass(frozen=True)
class Plan:
    """How the line was loaded."""

    seconds: int
    streams: int
    congestion: str
    """TCP congestion control of the loads; empty for each host's own."""
    seed: int


@dataclass(frozen=True)
class Sold:
    """The access plan that somebody pays for. Its rates are None where they vary."""

    plan: str
    title: str
    up_mbit: float | None
    down_mbit: float | None

    @classmethod
    def named(cls, name: str) -> Sold:
        """Find the preset. Raises UsageError with near names."""
        known = {each["name"]: each["title"] for each in _native.presets() if each["word"] == "plan"}
        if name not in known:
            raise UsageError(
                f"--plan {name}: no such plan{did_you_mean(name, known)}\n  hint:    `gamelane presets plan` lists all"
            )
        # A scenario needs a flow; any will do.
        scenario = _native.Scenario.parse("", name, [("plan", name), ("with", "valorant")])
        link = tomllib.loads(scenario.show())["link"]
        up, down = (
            bps / 1e6 if (bps := quantity.parse(link.get(way, ""), "bit/s")) else None for way in ("up", "down")
        )
        return cls(name, known[name], up, down)


@dataclass(frozen=True)
class Measured:
    """A measurement of a line."""

    host: str
    phases: Sequence[Phase]
    bufferbloat_ms: float | None
    grade: str | None
    plan: Plan | None = None
    """None for a measurement of another program."""
    link: Link | None = None
    stopped: bool = False
    failed: str | None = None
    imported: Sequence[Mapping[str, str]] | None = None
    """File and program of each file that was imported."""
    clocks: Mapping[str, float | None] | None = None
    limit_mbit: float | None = None
    """The server's limit of the rate in each direction; None if it has none."""
    sold: Sold | None = None
    schema: Literal[1] = 1
    host_congestion: str | None = None
    """TCP congestion control that the loads had at home unless the plan names another one; None if it is not known."""

    @property
    def whole(self) -> Sequence[Phase]:
        """The phases without a load that Ctrl-C cut short."""
        cut = self.stopped and self.phases and self.phases[-1].name in line.LOADED
        return self.phases[:-1] if cut else self.phases

    @property
    def control(self) -> str | None:
        """TCP congestion control of the loads; None if it is not known."""
        return (self.plan.congestion if self.plan else None) or self.host_congestion

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """Name, start and end of each phase."""
        return [(phase.name, phase.from_s, phase.to_s) for phase in self.phases]

    def phase(self, name: str) -> Phase | None:
        """Return a phase by its name."""
        return next((phase for phase in self.phases if phase.name == name), None)


def own_control() -> str | None:
    """Return the TCP congestion control of this computer; None if the system does not name it."""
    try:
        return CONTROL.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def read(folder: Path) -> Measured:
    """Read the measurement of a folder. Raises RecordsError, which names the file and the key."""
    return read_json(folder / FILE, TypeAdapter(Measured), f"gamelane measure HOST -o {folder}")


def read_json(file: Path, of: TypeAdapter[Read], remedy: str) -> Read:
    """Read a file of JSON. `remedy` is the command that writes it. Raises RecordsError."""
    try:
        return of.validate_json(file.read_bytes())
    except FileNotFoundError:
        raise RecordsError(f"{file}: no such file\n  hint:    make it with: {remedy}") from None
    except OSError as error:
        raise RecordsError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(step) for step in first["loc"])
        where = f"`{key}`: " if key else ""
        raise RecordsError(f"{file}: {where}{first['msg']}\n  hint:    make it again with: {remedy}") from None
