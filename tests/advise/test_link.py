"""The estimate of a line against lines that are known, because they were simulated."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from gamelane.advise import household
from gamelane.analysis import bottleneck, line
from gamelane.analysis.sender import Sender
from tests.advise.lines import SLOW_DSL, SPANS, Known, measured, records_of

LINES = 24
ON_THE_WIRE = 1500


@pytest.mark.parametrize("seed", range(LINES))
def test_rates_and_buffers_of_random_lines(seed: int) -> None:
    draw = random.Random(seed)
    up = 10 ** draw.uniform(0, 1.6)
    down = up * draw.choice((1, 4, 10))
    rtt_ms = draw.uniform(5, 60)
    buffers_ms = [draw.uniform(100, 800) for _ in "ud"]
    limits = [f"{round(ms * mbps * 1e3 / 8)}B" for ms, mbps in zip(buffers_ms, (up, down), strict=True)]
    link = measured(Known(up, down, rtt_ms, *limits))
    for lane, mbps, buffer_ms in ((link.up, up, buffers_ms[0]), (link.down, down, buffers_ms[1])):
        assert lane.rate_bps.value / 1e6 == pytest.approx(mbps, rel=0.01)
        assert lane.buffer_ms is not None
        if lane.filled == "dropped":
            assert lane.buffer_ms.value == pytest.approx(buffer_ms, rel=0.05)
        else:
            assert lane.buffer_ms.high is None
            assert lane.buffer_ms.value < buffer_ms * 1.01
        assert lane.buffer_packets is None
        assert not lane.wanders
    assert link.rtt_ms.value == pytest.approx(rtt_ms, abs=8e3 * 300 / up / 1e6 + 1)


@pytest.mark.parametrize(("up", "down", "packets"), [(5, 20, 100), (10, 100, 60), (20, 50, 300)])
def test_a_buffer_of_packets_is_told_from_one_of_bytes(up: int, down: int, packets: int) -> None:
    link = measured(Known(up, down, 20, f"{packets}p", "2000p"))
    assert link.up.buffer_packets == pytest.approx(packets, rel=0.1)
    link = measured(Known(up, down, 20, f"{packets * ON_THE_WIRE}B", "3000000B"))
    assert link.up.buffer_packets is None


def test_probes_that_were_sent_at_the_end_of_a_load_count() -> None:
    """Regression: CUBIC with HyStart filled the buffer in the last moment, and what waited longest arrived after it."""
    link = measured(Known(10, 100, 25, "725000B", "8500000B"))
    assert link.up.buffer_ms is not None
    assert link.up.filled == "dropped"
    assert link.up.buffer_ms.value == pytest.approx(580, rel=0.02)


def test_losses_at_a_shorter_wait_do_not_show_that_the_longest_filled_the_buffer() -> None:
    """Regression: the load of both directions overflowed 800 packets, and 445 ms of data were called their size."""
    link = measured(Known(20, 50, 20, "800p", "2000p"))
    assert link.up.buffer_ms is not None
    assert (link.up.filled, link.up.buffer_ms.high, link.up.buffer_packets) == ("not filled", None, None)
    assert link.up.buffer_ms.value < 8e-3 * 800 * ON_THE_WIRE / 20


def test_losses_of_an_earlier_load_are_not_those_of_a_later() -> None:
    """Regression: a load whose last packets arrived in the next phase lent it its losses."""
    client, server = records_of(SLOW_DSL)
    first = int(client["at"].min())
    times = {name: (first + int(start * 1e9), first + int(end * 1e9)) for name, start, end in SPANS}
    down = Sender(line.DOWN, server, client)
    assert down.dropped(times["down"])
    again = down.states[down.states["beside"] > 0][-1:].copy()
    again["at"] = times["idle"][0] + 1
    assert not Sender(line.DOWN, np.concatenate((again, server)), client).dropped(times["idle"])


def test_a_rate_does_not_count_what_segments_could_have_held() -> None:
    """A host that sends to itself fills its segments of 64 kB in part: 999 Mbit/s were 1999."""
    client, server = (ends.copy() for ends in records_of(SLOW_DSL))
    for each in (client, server):
        each["payload"][each["what"] == line.DELIVERED] *= 2
    link = bottleneck.link(client, server, SPANS)
    assert link is not None
    assert link.up.rate_bps.value / 1e6 == pytest.approx(5, rel=0.01)
    assert link.down.rate_bps.value / 1e6 == pytest.approx(25, rel=0.01)


def test_a_line_without_a_deep_buffer_has_none() -> None:
    link = measured(Known(20, 100, 20, "5p", "5p"))
    assert (link.up.buffer_ms, link.up.filled) == (None, "no queue")
    assert link.up.rate_bps.high is None


def test_the_longest_wait_is_that_of_all_phases_with_a_load() -> None:
    """A load of one direction may leave a buffer half empty, as BBR does; loads of both then fill it.

    The uplink's queue delays ACKs, so CUBIC fills the downlink's buffer for a moment only, and probes meet less of it.
    """
    client, server = (ends.copy() for ends in records_of(SLOW_DSL))
    both = client["at"].min() + np.uint64(SPANS[-1][1] * 1e9)
    for each in (client, server):
        before = each["at"] < both
        each["beside"][before & (each["what"] == line.DELIVERED)] = 0
        probes = before & (each["what"] == line.RECEIVED) & (each["flow"] <= line.CALL)
        each["value"][probes] = np.minimum(each["value"][probes], 60_000_000)
    link = bottleneck.link(client, server, SPANS)
    known = measured(SLOW_DSL)
    assert link is not None
    for lane, of in ((link.up, known.up), (link.down, known.down)):
        assert lane.buffer_ms is not None
        assert of.buffer_ms is not None
        assert lane.filled == "dropped"
        assert lane.buffer_ms.value == pytest.approx(of.buffer_ms.value, rel=0.05 if lane is link.up else 0.15)


@pytest.mark.parametrize(("written", "bytes_"), [("", 0), ("fixed", 14), ("fixed", 44), ("ethernet", 38)])
@pytest.mark.parametrize(("up", "down"), [(5, 25), (20, 60), (10, 100)])
def test_the_framing_is_found(up: int, down: int, written: str, bytes_: int) -> None:
    kind = f'{{ kind = "fixed", bytes = {bytes_} }}' if written == "fixed" else f'"{written}"'
    buffer_up, buffer_down = (f"{each * 1000 * 160 // 8}B" for each in (up, down))
    known = Known(up, down, 20, buffer_up, buffer_down, f", overhead = {kind}" if written else "")
    found = measured(known).framing_bytes
    assert found is not None
    assert found.value == pytest.approx(bytes_, abs=5)
    assert found.low - 3 <= bytes_ <= (found.high or 0) + 3


def test_the_framing_of_atm_is_what_acks_take_in_cells() -> None:
    """1500 B take 33 cells, so a cell carries 45 B of it. An ACK takes two or, with SACK blocks, three."""
    found = measured(Known(10, 100, 20, "200000B", "2000000B", ', overhead = "atm"')).framing_bytes
    assert found is not None
    assert 2 * 1500 / 33 - 52 < found.value < 3 * 1500 / 33 - 52


def test_without_counts_of_acks_the_framing_is_not_known() -> None:
    client, server = (ends[ends["what"] != line.ACKNOWLEDGED] for ends in records_of(SLOW_DSL))
    link = bottleneck.link(client, server, SPANS)
    assert link is not None
    assert link.framing_bytes is None
    assert household.framing(link) == household.ASSUMED_FRAMING


def test_a_server_that_says_segments_have_no_payload_is_not_divided_by() -> None:
    client, server = (ends.copy() for ends in records_of(SLOW_DSL))
    for ends in (client, server):
        ends["payload"][ends["what"] == line.DELIVERED] = 52
    link = bottleneck.link(client, server, SPANS)
    assert link is not None
    assert link.framing_bytes is None


def test_a_medium_that_both_directions_share_has_no_framing() -> None:
    """While both are loaded each has half the rate, and ACKs are not the reason."""
    client, server = (ends.copy() for ends in records_of(SLOW_DSL))
    both = client["at"].min() + np.uint64(SPANS[-1][1] * 1e9)
    for ends in (client, server):
        ends["payload"][(ends["at"] >= both) & (ends["what"] == line.RECEIVED) & (ends["flow"] > line.CALL)] //= 2
    link = bottleneck.link(client, server, SPANS)
    assert link is not None
    assert link.framing_bytes is None


def test_losses_and_jitter_of_the_idle_line() -> None:
    link = measured(Known(20, 100, 20, "300p", "300p", ', loss = { up = "2%" }, jitter = { down = "10ms" }'))
    assert link.up.loss.low < 0.02 < (link.up.loss.high or 0)
    assert link.down.loss.value == 0.0
    assert link.down.jitter_ms == pytest.approx(9.5, abs=1)
    assert link.up.jitter_ms < 1


def test_a_rate_that_wanders_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "up.rate"
    path.write_text("0 12000\n1000 6000\n2000 18000\n3000 8000\n4000 end\n")
    link = measured(Known(None, 50, 20, "150000B", "600000B", f', kind = "trace", trace = {{ up = "{path}" }}'))
    assert link.up.wanders
    assert (min(link.up.windows_bps) < 7e6, max(link.up.windows_bps) > 16e6) == (True, True)
    assert not link.down.wanders
