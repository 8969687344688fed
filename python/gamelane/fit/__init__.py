"""Fits game models to captures (docs/models/traffic-fit.md)."""
