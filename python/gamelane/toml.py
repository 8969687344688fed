"""Writes TOML: policies and small input files of programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def inline(value: Any) -> str:
    """Write a value on one line: text, number, boolean, list or table."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(of)}" for key, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def lines(values: Mapping[str, Any]) -> str:
    """Write a table with one key per line."""
    return "".join(f"{json.dumps(key)} = {inline(value)}\n" for key, value in values.items())
