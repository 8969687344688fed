"""Measurements of other programs, as the record files of `gamelane measure` (docs/measure.md)."""
