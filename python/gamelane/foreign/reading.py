"""Reads files of other programs: bounded in size, and every mistake is a RecordsError that names file and key."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from gamelane.errors import RecordsError

Read = TypeVar("Read")
LARGEST = 64 << 20
"""Bytes of a file, unpacked. An hour of irtt at 20 ms takes 200 MB; measurements last minutes."""
MOST = 1_000_000
"""Packets or intervals of a file."""
PACKED = b"\x1f\x8b"

Seconds = Annotated[float, Field(ge=0, le=4e9, allow_inf_nan=False)]
"""A length, or a time of the Unix epoch."""
Milliseconds = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Nanoseconds = Annotated[int, Field(ge=-(10**15), le=4 * 10**18)]
Octets = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


def read(file: Path) -> bytes:
    """Return the content, unpacked if it is of gzip."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST + 1)
        if raw.startswith(PACKED):
            raw = zlib.decompressobj(wbits=31).decompress(raw, LARGEST + 1)
    except OSError as error:
        raise RecordsError(f"{file}: {error.strerror}") from None
    except zlib.error:
        raise RecordsError(f"{file}: damaged gzip\n  hint:    copy the file again, or measure again") from None
    if len(raw) > LARGEST:
        raise RecordsError(f"{file}: too large\n  allowed: up to {LARGEST >> 20} MiB, unpacked")
    return raw


def parse(file: Path, raw: bytes, of: TypeAdapter[Read], remedy: str) -> Read:
    """Parse JSON. `remedy` is the command that writes such a file."""
    try:
        return of.validate_json(raw)
    except ValidationError as error:
        raise _wrong(file, error, remedy) from None


def valid(file: Path, value: object, of: TypeAdapter[Read], remedy: str, key: str) -> Read:
    """Check a part of a file, the one behind `key`."""
    try:
        return of.validate_python(value)
    except ValidationError as error:
        raise _wrong(file, error, remedy, key) from None


def _wrong(file: Path, error: ValidationError, remedy: str, *keys: str) -> RecordsError:
    first = error.errors(include_url=False)[0]
    key = ".".join([*keys, *(str(step) for step in first["loc"])])[:200]
    value = "" if first["type"] == "json_invalid" else f" (given: {str(first['input'])[:60]})"
    where = f"`{key}`: " if key else ""
    return RecordsError(f"{file}: {where}{first['msg']}{value}\n  hint:    make it with: {remedy}")
