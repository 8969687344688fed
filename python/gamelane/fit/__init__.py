"""Game models fitted to captures (docs/models/traffic-fit.md)."""
