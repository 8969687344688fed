"""Round trips in a capture beyond the modem, behind the bridge's queue. The paper's 10 ms require that point.

ACKs are matched with the data they acknowledge (But et al., LCN 2005; gamelane's analysis).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from gamelane import _native
from gamelane.analysis.capture import analyze
from gamelane.claims.but2006.arms import DOWNLOAD, UPLOAD
from gamelane.claims.evidence import Arm, Evidence, Numbers

SECONDS = {"duration": "120s"}
"""Short, because every packet of a run is kept; it still gives thousands of samples."""


def passive_round_trip(evidence: Evidence, arm: Arm, flow: str, which: str = "mean") -> Numbers:
    """Return the round trip in ms from beyond the modem to the host that acknowledges and back.

    For `upload` this is the server. For `download` it is the client, so the bridge's queue upstream is included.
    """
    return np.array(
        [found[flow][which] for found in evidence.derived(arm.with_(SECONDS), "passive", _seen, packets=True)]
    )


def _seen(run: _native.Run) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "wan.pcapng")
        run.write_pcapng(file, "wan")
        [capture] = analyze([file])["captures"]
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
