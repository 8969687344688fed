"""Assertions that a busy machine can spoil. The fixture `up_to_three_times` repeats a measurement only for these."""

from __future__ import annotations


class LateError(AssertionError):
    """A bound on real time was missed."""


def in_time(holds: bool, seen: object) -> None:
    """Assert a bound that a busy machine can miss; `seen` is what was measured."""
    if not holds:
        raise LateError(str(seen))
