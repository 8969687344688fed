"""Groups of applications that reports, sweeps and tune treat alike."""

INTERACTIVE = ("game", "cloud", "trace", "voip", "mmo")
"""Applications that suffer from delay. Reports are about these; the other flows share the link with them."""

BULK = "bulk"
MMO = "mmo"
