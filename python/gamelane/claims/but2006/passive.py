"""Round trips as a capture beyond the modem shows them: behind the bridge's queue, as the paper's 10 ms require.

TCP's own acknowledgements are matched with the data they acknowledge (But et al., LCN 2005; gamelane's analysis).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from gamelane import _native
from gamelane.claims.but2006.arms import DOWNLOAD, UPLOAD
from gamelane.claims.evidence import Arm, Evidence, Numbers

SECONDS = {"duration": "120s"}
"""Enough for thousands of samples; every packet of a run has to be kept."""


def passive_round_trip(evidence: Evidence, arm: Arm, flow: str, which: str = "mean") -> Numbers:
    """Round trip from beyond the modem to who acknowledges and back, in ms.

    Of `upload` to the server; of `download` to the client, with the bridge's queue upstream in it.
    """
    return np.array(
        [found[flow][which] for found in evidence.derived(arm.with_(SECONDS), "passive", _seen, packets=True)]
    )


def _seen(run: _native.Run) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "wan.pcapng")
        run.write_pcapng(file, "wan")
        capture = json.loads(_native.analyze_capture("wan.pcapng", [file]))
    found = {}
    for flow in capture["flows"]:
        if flow["protocol"] != "tcp":
            continue
        tcp = flow["tcp"]
        if flow["up"]["payload_bytes"] > flow["down"]["payload_bytes"]:
            found[UPLOAD] = tcp["rtt_to_server_ms"]["acknowledgements"]
        else:
            found[DOWNLOAD] = tcp["rtt_to_client_ms"]["acknowledgements"]
    return found
