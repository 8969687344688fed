"""`gamelane rate`: trials of rising rate find what a link carries."""

from __future__ import annotations

import json

from .command import gamelane

ALONE = ("docsis", "--set", "link.docsis.load=0%")


def test_the_upstream_of_the_cable_modem_is_found() -> None:
    found = json.loads(gamelane("rate", *ALONE, "--json").stdout)
    assert (found["schema"], found["found"]) == (1, "rate")
    assert 190_000 <= found["free_bps"] < found["queued_bps"] <= 195_000
    shows = [trial["shows"] for trial in found["trials"]]
    assert shows[0] == "free"
    assert "queue" in shows
    text = gamelane("rate", *ALONE).stdout
    assert f'gateway.shape.up = "{found["free_bps"] // 1000}kbit"' in text


def test_a_link_outside_the_range_is_said_to_be() -> None:
    assert "is faster" in gamelane("rate", *ALONE, "--highest", "100").stdout
    assert "is slower" in gamelane("rate", *ALONE, "--lowest", "300").stdout


def test_a_range_without_rates_is_refused() -> None:
    refused = gamelane("rate", *ALONE, "--lowest", "300", "--highest", "200")
    assert refused.returncode == 2
    assert "--lowest 300" in refused.stderr
    assert refused.stdout == ""
