"""The compiled half of gamelane. A scenario goes in, columns come out; everything per packet happens behind this."""

from collections.abc import Callable
from typing import Final, Literal, NotRequired, TypedDict, final, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "ETHERNET_HEADER",
    "IPV4_HEADER",
    "TCP_HEADER",
    "UDP_HEADER",
    "Analysis",
    "Cancel",
    "Cancelled",
    "Recipe",
    "Recording",
    "Run",
    "Scenario",
    "ScenarioError",
    "Table",
    "analyze_captures",
    "capture_lines",
    "catalogue",
    "classes_of_priority",
    "connection_log",
    "find_rate",
    "generate",
    "keeps_whole_flows",
    "kernel_queues",
    "message_schedule",
    "models",
    "played",
    "presets",
    "quantity_units",
    "read_quantity",
    "recipe_targets",
    "recipes",
    "recorded_streams",
    "run",
    "schema",
    "size_table",
    "tables",
    "tapped",
    "udp_datagrams",
    "version",
]

ETHERNET_HEADER: Final[int]
IPV4_HEADER: Final[int]
TCP_HEADER: Final[int]
UDP_HEADER: Final[int]
"""Sizes of protocol headers in bytes, without options."""

class ScenarioError(ValueError):
    """A scenario was refused; `str(error)` is the whole message, its parts are attributes."""

    file: str
    key: str | None
    value: str | None
    allowed: str | None
    hint: str | None

class Cancelled(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A run was stopped through its `Cancel`."""

@type_check_only
class FlowDescription(TypedDict):
    """A flow of a scenario, for labels."""

    name: str
    app: str
    label: str
    provenance: str | None
    start_s: float
    dscp: int
    caveats: list[str]

@type_check_only
class Quality(TypedDict):
    """Round trip times that players accept: good, playable and degraded up to these."""

    good_ms: int
    playable_ms: int
    bad_ms: int

@type_check_only
class ModelDescription(TypedDict):
    """A shipped model of a game; `players` is None where it has one viewer.

    `sources` has "LABEL: where it comes from" by key, `provenance` is the weakest label. `ports` are such as
    "udp 7000..7500".
    """

    app: str
    name: str
    title: str
    provenance: str
    sources: dict[str, str]
    players: int | None
    ports: list[str]
    quality: Quality | None
    host: str | None
    tcp: str | None
    notes: str

@type_check_only
class PresetDescription(TypedDict):
    """A preset. `word` is its kind; `sources` has "LABEL: where it comes from" by key, `label` is the weakest label."""

    word: Literal["with", "plan", "policy", "router", "household"]
    group: str
    name: str
    title: str
    label: str | None
    notes: str
    sources: dict[str, str]
    ports: list[str]
    quality: Quality | None
    remember: str | None
    file: str | None

@type_check_only
class Trial(TypedDict):
    """A stream at one rate over the link alone; `shows` is `free`, `queue`, `loss` or `too-few`."""

    rate_bps: int
    shows: str
    sent: int
    lost: int
    delay_ms_p50: float
    delay_ms_p95: float

@type_check_only
class FoundRate(TypedDict):
    """How a search ended: `found` is `rate`, `above-highest`, `below-lowest` or `gave-up`."""

    found: str
    free_bps: int | None
    queued_bps: int | None
    trials: list[Trial]

@type_check_only
class Datagrams(TypedDict):
    """UDP packets: nanoseconds since 1970, endpoints by number, payload bytes; `damage` says why reading stopped."""

    t_ns: npt.NDArray[np.uint64]
    interface: npt.NDArray[np.uint32]
    sender: npt.NDArray[np.uint32]
    receiver: npt.NDArray[np.uint32]
    payload: npt.NDArray[np.uint32]
    packets_read: int
    damage: str | None

@type_check_only
class Generated(TypedDict):
    """Datagrams of a flow in order of time: nanoseconds from the start, client to server or not, payload bytes."""

    t_ns: npt.NDArray[np.uint64]
    up: npt.NDArray[np.bool_]
    payload: npt.NDArray[np.uint32]

@type_check_only
class MessageSchedule(TypedDict):
    """A game over TCP: when each connection opens (-1: never), and its writes in order of time.

    Nanoseconds from the start, number of the connection, client to server or not, bytes.
    """

    opens_ns: npt.NDArray[np.int64]
    at_ns: npt.NDArray[np.int64]
    connection: npt.NDArray[np.uint32]
    up: npt.NDArray[np.bool_]
    bytes: npt.NDArray[np.uint32]

@final
class Scenario:
    """A scenario that has been read and checked. Immutable."""

    @staticmethod
    def parse(text: str, file: str, overrides: list[tuple[str, str]]) -> Scenario: ...
    def with_overrides(self, overrides: list[tuple[str, str]]) -> Scenario: ...
    def to_toml(self) -> str: ...
    def show(self) -> str: ...
    def offered_bps(self) -> tuple[float, float]: ...
    @property
    def caveats(self) -> list[str]: ...
    def flows(self) -> list[FlowDescription]: ...
    @property
    def name(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...

@final
class Cancel:
    """Stops the runs it was given to."""

    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...

@final
class Run:
    """A finished run."""

    @property
    def seed(self) -> int: ...
    @property
    def cpu_seconds(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def bottleneck_packets(self) -> int: ...
    def summary_json(self) -> str: ...
    def table(self, name: str, flows: list[str] | None = None) -> Table: ...
    def write_pcapng(self, path: str, side: str) -> None: ...

@final
class Table:
    """A table of a run, for any reader of the Arrow C data interface: `polars.DataFrame(table)`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Recording:
    """Collects the events of a run that is not simulated, in any order.

    Times are nanoseconds from its start; flows are positions in the scenario; words are those of the tables.
    """

    def __new__(cls, scenario: Scenario) -> Recording: ...
    def packets(
        self,
        flow: int,
        direction: str,
        connection: npt.NDArray[np.uint32],
        sent_ns: npt.NDArray[np.int64],
        arrived_ns: npt.NDArray[np.int64],
        queue_ns: npt.NDArray[np.int64],
        length: npt.NDArray[np.uint32],
        marked: npt.NDArray[np.bool_],
    ) -> None: ...
    def drop(self, flow: int, direction: str, sent_ns: int, lost_ns: int, length: int, reason: str) -> None: ...
    def goodput(self, flow: int, at_ns: int, byte_count: int) -> None: ...
    def echoes(self, flow: int, path: str, began_ns: int) -> None: ...
    def messages(
        self,
        flow: int,
        connection: int,
        wrote_ns: npt.NDArray[np.int64],
        wrote_up: npt.NDArray[np.bool_],
        wrote_bytes: npt.NDArray[np.uint32],
        sent_ns: npt.NDArray[np.int64],
        arrived_ns: npt.NDArray[np.int64],
        up: npt.NDArray[np.bool_],
        offset: npt.NDArray[np.uint64],
        payload: npt.NDArray[np.uint32],
        ack: npt.NDArray[np.uint64],
    ) -> None: ...
    def game_server(
        self,
        flow: int,
        timeouts: int,
        timeout_retransmissions: int,
        fast_retransmissions: int,
        fast_recoveries: int,
        tail_probes: int,
        spurious_timeouts: int,
    ) -> None: ...
    def backlog(self, direction: str, at_ns: int, packets: int, byte_count: int) -> None: ...
    def rate(self, direction: str, at_ns: int, shaped_bps: int, link_bps: int | None) -> None: ...
    def tcp(
        self,
        flow: int,
        connection: int,
        side: str,
        at_ns: int,
        cwnd_bytes: int,
        ssthresh_bytes: int | None,
        srtt_ns: int | None,
        rto_ns: int,
        in_flight_bytes: int,
    ) -> None: ...
    def app(self, flow: int, kind: str, at_ns: int, index: int, byte_count: int, took_ns: int) -> None: ...
    def queue(self, name: str, packets: int, drops: list[tuple[str, int]], marks: int, peak: int) -> None: ...
    def follower(
        self,
        direction: str,
        last_rate_bps: int,
        signals: int,
        lowered: int,
        raised: int,
        windows: int,
        unheard: int,
    ) -> None: ...
    def retransmissions(self, flow: int, segments: int) -> None: ...
    def finish(self, seed: int, cpu_seconds: float) -> Run: ...

@type_check_only
class ColumnDescription(TypedDict):
    """A column of a table; `words` is there where it holds one of a few words."""

    name: str
    unit: str
    nullable: bool
    about: str
    words: NotRequired[list[str]]

@type_check_only
class TableDescription(TypedDict):
    """A table: what a row is, and its columns after `variant` and `seed`."""

    name: str
    row: str
    columns: list[ColumnDescription]

@final
class Analysis:
    """What was found in captures: problems of reading, and the document of docs/json-schema.md."""

    @property
    def problems(self) -> list[str]: ...
    @property
    def unread(self) -> bool: ...
    @property
    def packets(self) -> list[int]: ...
    def text(self) -> str: ...
    def print(self, indented: bool) -> None: ...

@final
class Recipe:
    """Shell lines that put a gateway's setting into effect on one target. The whole can be pasted again at any time."""

    @property
    def target(self) -> str: ...
    @property
    def edit(self) -> list[str]:
        """Variables that name this machine's interfaces and ports, to edit first."""

    @property
    def undo(self) -> list[str]:
        """Lines that end what an earlier run set up. After `edit`, they alone undo everything."""

    @property
    def apply(self) -> list[str]:
        """Lines that put the setting into effect. Empty if the target cannot express the setting."""

    @property
    def unsaid(self) -> list[str]:
        """Sentences: what of the setting the lines leave out."""

    @property
    def matches(self) -> bool:
        """Whether the lines do all that the setting says."""

    def lines(self) -> list[str]:
        """Return the text to paste, with comments."""

def recipes(scenario: Scenario, today: Scenario | None = None) -> dict[str, Recipe]: ...
def recipe_targets() -> list[str]: ...
def classes_of_priority(gateway: str, flows: list[str]) -> str: ...
def size_table(link: str, direction: str) -> tuple[str, int]: ...
def kernel_queues(policy: str, file: str) -> tuple[list[str], tuple[str, str, str | None] | None]: ...
def tables() -> list[TableDescription]: ...
def played(scenario: Scenario, seed: int, client: str, server: str | None = None) -> Run: ...
def tapped(folder: str) -> tuple[Run, float, str, tuple[str, str, str, str]]: ...
def run(
    scenario: Scenario, seed: int, *, samples: bool = True, packets: bool = False, cancel: Cancel | None = None
) -> Run: ...
def find_rate(
    scenario: Scenario,
    direction: str,
    payload: int,
    seed: int,
    *,
    length_s: float,
    lowest_bps: int,
    highest_bps: int,
    resolution: int,
) -> FoundRate: ...
def recorded_streams(path: str) -> str: ...
def analyze_captures(
    captures: list[tuple[str, list[str]]],
    on_batch: Callable[[int, str, dict[str, npt.NDArray[np.generic]]], None] | None = None,
    *,
    interfaces: tuple[int, int] | None = None,
    words: str = "",
    flows: list[int] | None = None,
) -> Analysis: ...
def connection_log(path: str, flow: int, words: str) -> tuple[str | None, str | None]: ...
def capture_lines(document: str, width: int, is_ascii: bool) -> list[tuple[str, str]]: ...
def keeps_whole_flows(words: str) -> bool: ...
def udp_datagrams(path: str) -> Datagrams: ...
def generate(scenario: Scenario, seed: int, *, path: str | None = None) -> Generated: ...
def message_schedule(scenario: Scenario, flow: int, seed: int) -> MessageSchedule: ...
def models() -> list[ModelDescription]: ...
def presets() -> list[PresetDescription]: ...
def catalogue() -> str: ...
def read_quantity(text: str, kind: str) -> int: ...
def quantity_units(kind: str) -> list[str]: ...
def schema() -> str: ...
def version() -> str: ...
