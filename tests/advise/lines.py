"""Lines that a test knows: measured in the simulator."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from gamelane import _native, whole
from gamelane.advise import household
from gamelane.advise.measured import Plan
from gamelane.advise.played import records
from gamelane.analysis import bottleneck
from gamelane.analysis import line as lines
from gamelane.analysis.bottleneck import Link
from gamelane.analysis.line import Phase, Records
from gamelane.experiment import Experiment

PHASE_S = 7.5
SPANS = [
    (name, place * PHASE_S, (place + 1) * PHASE_S - household.DRAIN_S)
    for place, name in enumerate(("idle", "up", "down", "both"))
]
PLAN = Plan(30, 4, "cubic", 1)


@dataclass(frozen=True)
class Known:
    """A line: rates in Mbit/s, round trip in ms, and the buffers of modem and provider as a scenario writes them."""

    up: float | None
    down: float
    rtt_ms: float
    buffer_up: str
    buffer_down: str
    link: str = ""
    """More keys of the link, and other rates."""


SLOW_DSL = Known(5, 25, 20, "150000B", "600000B")


def write(folder: Path, line: Known) -> Path:
    """Write what `gamelane measure -o` would write of a line."""
    found = phases(line)
    added = lines.bufferbloat_ms(found)
    document = {
        "host": "198.51.100.7",
        "plan": asdict(PLAN),
        "phases": [asdict(phase) for phase in found],
        "bufferbloat_ms": added,
        "grade": lines.bufferbloat_grade(added or 0),
        "link": asdict(measured(line)),
    }
    folder.mkdir()
    (folder / "measure.json").write_text(whole.document(document), encoding="utf-8")
    return folder


def measured(line: Known) -> Link:
    """Estimate a line that was measured in the simulator."""
    found = bottleneck.link(*records_of(line), SPANS)
    assert found is not None
    return found


def phases(line: Known) -> list[Phase]:
    """Return the figures of a measurement in the simulator."""
    return lines.phases(*records_of(line), SPANS)


@cache
def records_of(line: Known) -> tuple[Records, Records]:
    """Return the records of the client and of the server."""
    rates = ", ".join(f'{way} = "{1e3 * mbps:.0f}kbit"' for way, mbps in (("up", line.up), ("down", line.down)) if mbps)
    fifos = ((way, limit) for way, limit in (("up", line.buffer_up), ("down", line.buffer_down)))
    gateway = ", ".join(f'{way} = {{ queue = "fifo", limit = "{limit}" }}' for way, limit in fifos)
    overrides = [
        ("link", f'{{ {rates}, rtt = "{1e3 * line.rtt_ms:.0f}us"{line.link} }}'),
        ("gateway", f"{{ {gateway} }}"),
    ]
    scenario = _native.Scenario.parse(household.text(SPANS, PLAN), "line", overrides)
    return records(Experiment(scenario, "line").run().frames)
