"""What a scenario can name: queues, links, applications and TCP rows, as Rust describes them beside their code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gamelane import _native


@dataclass(frozen=True)
class Entry:
    """One word of a scenario."""

    word: str
    label: str
    about: str
    keys: tuple[str, ...]
    page: str


@dataclass(frozen=True)
class Queue(Entry):
    """A queue discipline."""

    isolates: Literal["nothing", "flows", "classes"]
    tc: str
    """Name of Linux's discipline."""


@dataclass(frozen=True)
class App(Entry):
    """An application."""

    group: Literal["game", "call", "transfer", "web", "video", "other", "gateway"]
    transport: Literal["udp", "tcp"]
    server_port: int


@dataclass(frozen=True)
class TcpRow(Entry):
    """A stack, a congestion control, a recovery method, or a timer."""

    linux: Mapping[str, str] | None
    """Settings below `net.ipv4` that choose it in Linux; `None` if Linux does not have it."""


E = TypeVar("E", bound=Entry)


def _entries(kind: type[E], rows: list[dict[str, Any]]) -> Mapping[str, E]:
    return {row["word"]: kind(**row | {"keys": tuple(row["keys"])}) for row in rows}


def _queue(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"tc": row["tc"]["name"]}


def _tcp(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"linux": None if row["linux"] is None else dict(row["linux"])}


_rows = json.loads(_native.catalogue())
QUEUES = _entries(Queue, [_queue(row) for row in _rows["queues"]])
APPS = _entries(App, _rows["apps"])
STACKS, CONGESTION, RECOVERY, TIMERS = (
    _entries(TcpRow, [_tcp(row) for row in _rows[rows]]) for rows in ("stacks", "congestion", "recovery", "timers")
)
BULK = "bulk"
MMO = "mmo"
REAL_TIME = "real-time"
"""Flows at a gateway that behave like a game or a call. No scenario has this word."""
INTERACTIVE = (*(word for word, app in APPS.items() if app.group in ("game", "call")), REAL_TIME)
"""Applications that suffer from delay. Reports are about these; the other flows share the link with them."""


def queue_of(keys: Mapping[str, Any]) -> Queue:
    """Return the discipline of a queue of a scenario."""
    return QUEUES[keys.get("queue", "fifo")]


def group(app: str) -> str:
    """Return the group of an application, also of one that a gateway recognised by its behaviour."""
    return "game" if app == REAL_TIME else APPS[app].group if app in APPS else "other"
