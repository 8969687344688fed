"""Sweeps: every combination of some keys of a scenario, made once and kept."""
