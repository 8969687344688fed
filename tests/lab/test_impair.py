"""An impaired bridge between two hosts, with real packets."""

from __future__ import annotations

import json
import math
import subprocess
import time
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gamelane import programs
from gamelane.errors import LabError
from tests.conftest import Repeat
from tests.lab import record_files
from tests.lab.conftest import Triple, program
from tests.real_time import in_time

SCENARIO = """
name = "probe"
duration = "{duration}"
[link]
down = "1gbit"
up = "1gbit"
[[flow]]
name = "probe"
app = "udp"
direction = "up"
rate = "{rate}"
size = "172B"
"""


class Bridge:
    """`gamelane-impair` between two hosts, and a stream of 100 packets per second that measures it."""

    def __init__(self, triple: Triple, folder: Path, *words: str) -> None:
        self.triple, self.folder = triple, folder
        self.impair, self.traffic = program(programs.IMPAIR), program(programs.TRAFFIC)
        self.log = folder / "set.jsonl"
        options = ["home", "--to", "wan", "--seed", "1", "--log", str(self.log), *words]
        self.process = triple.lab.start(triple.bridge, self.impair, "run", *options, log=folder / "impair.log")
        self._wait_for("impairing home")

    def _wait_for(self, word: str) -> None:
        deadline = time.monotonic() + 120
        while word not in (self.folder / "impair.log").read_text():
            assert self.process.poll() is None, (self.folder / "impair.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def set(self, *words: str) -> dict[str, dict[str, int]]:
        """Run a command on the running program: change or show its settings."""
        command = ["set", "home", *words] if words else ["show", "home"]
        answer: dict[str, dict[str, int]] = json.loads(self.triple.bridge.run(self.impair, *command, "--json"))
        return answer

    def measure(self, seconds: int = 2, rate: str = "160kbit") -> record_files.Match:
        """Send from player to server and read what both ends recorded."""
        scenario, token = self.folder / "probe.toml", self.folder / "token"
        scenario.write_text(SCENARIO.format(duration=f"{seconds}s", rate=rate))
        token.write_text("a secret of both ends")
        ends = (self.folder / "client", self.folder / "server")
        common = [str(scenario), "--token", str(token)]
        with self.triple.lab.start(
            self.triple.server,
            *(str(self.traffic), "serve", *common, "--listen", "10.9.0.2:5000", "-o", str(ends[1])),
            log=self.folder / "serve.log",
        ) as server:
            try:
                while "listening" not in (self.folder / "serve.log").read_text():
                    time.sleep(0.02)
                self.triple.player.run(self.traffic, "send", *common, "--to", "10.9.0.2:5000", "-o", str(ends[0]))
            finally:
                server.terminate()
        return record_files.read(*ends)


def sent(match: record_files.Match) -> int:
    """Return how many packets the player sent. After a pause of the machine, `gamelane-traffic` skips some."""
    return int((match.client["what"] == record_files.SENT).sum())


def one_way_ms(match: record_files.Match) -> npt.NDArray[np.float64]:
    """Return the delays of packets from player to server, in order of sending."""
    assert match.server is not None
    of = match.server[match.server["what"] == record_files.RECEIVED]
    took_ms: npt.NDArray[np.float64] = of["value_ns"] / 1e6
    return took_ms


def test_delay_is_what_was_set_and_changes_live(triple: Triple, tmp_path: Path, up_to_three_times: Repeat) -> None:
    """No packet arrives early. A loaded machine adds delay, so the test bounds only the minimum from above."""
    bridge = Bridge(triple, tmp_path, "--delay", "40ms")

    def is_now(delay_ms: int) -> None:
        match = bridge.measure()
        delays = one_way_ms(match)
        assert len(delays) == sent(match) > 0
        assert delays.min() >= delay_ms
        in_time(delays.min() < delay_ms + 1, delays.min())

    up_to_three_times(partial(is_now, 40))
    bridge.set("--set", "delay.up=10ms")
    up_to_three_times(partial(is_now, 10))
    changes = [json.loads(line) for line in bridge.log.read_text().splitlines()]
    assert [change["what"] for change in changes] == ["begin", "set"]
    assert 'up = "10ms"' in changes[1]["config"]


def test_loss_copies_and_order_are_as_set(triple: Triple, tmp_path: Path) -> None:
    bridge = Bridge(triple, tmp_path, "--delay", "5ms", "--set", "loss.up=20%", "--set", "reorder.up=10%")
    bridge.set("--set", "duplicate.up=10%")
    match = bridge.measure(3, "800kbit")
    assert match.server is not None
    received = match.server[match.server["what"] == record_files.RECEIVED]
    copies = int((match.server["what"] == record_files.DUPLICATE).sum())
    late = int((np.maximum.accumulate(received["number"]) > received["number"]).sum())
    lost = sent(match) - len(received)
    for seen, of, share in ((lost, sent(match), 0.2), (copies, len(received), 0.1), (late, len(received), 0.1)):
        # Four standard deviations of a binomial.
        assert abs(seen - share * of) < 4 * math.sqrt(of * share * (1 - share)), (seen, of)
    shown = bridge.set()
    assert shown["up"]["lost"] >= lost
    assert shown["up"]["arrived"] + shown["up"]["duplicated"] == sum(
        shown["up"][key] for key in ("delivered", "lost", "tail", "inside")
    )


def test_changes_under_load_lose_and_reorder_nothing(triple: Triple, tmp_path: Path) -> None:
    bridge = Bridge(triple, tmp_path, "--delay", "60ms", "--rate", "20mbit")
    traffic, folder = bridge.traffic, tmp_path
    (folder / "probe.toml").write_text(SCENARIO.format(duration="3s", rate="800kbit"))
    (folder / "token").write_text("a secret of both ends")
    common = [str(folder / "probe.toml"), "--token", str(folder / "token")]
    serve = ["serve", *common, "--listen", "10.9.0.2:5000", "-o", str(folder / "server")]
    server = triple.lab.start(triple.server, traffic, *serve, log=folder / "serve.log")
    while "listening" not in (folder / "serve.log").read_text():
        time.sleep(0.02)
    send = ["send", *common, "--to", "10.9.0.2:5000", "-o", str(folder / "client")]
    sender = triple.lab.start(triple.player, traffic, *send, log=folder / "send.log")
    changes = (["--delay", "1ms"], ["--rate", "5mbit"], ["--clear"], ["--profile", "satellite", "--loss", "0%"])
    for words in changes * 3:
        time.sleep(0.2)
        bridge.set(*words)
    assert sender.wait(timeout=120) == 0, (folder / "send.log").read_text()
    server.terminate()
    server.wait(timeout=60)
    match = record_files.read(folder / "client", folder / "server")
    assert match.server is not None
    arrived = match.server[match.server["what"] == record_files.RECEIVED]["number"]
    assert arrived.tolist() == list(range(sent(match))), f"{len(arrived)} of {sent(match)}"


def test_a_rate_holds_a_tcp_download(triple: Triple, tmp_path: Path, up_to_three_times: Repeat) -> None:
    bridge = Bridge(triple, tmp_path, "--delay", "5ms", "--rate", "10mbit", "--limit", "64KiB")
    triple.lab.start(triple.server, "iperf3", "-s", "--forceflush", log=tmp_path / "iperf.log")
    while "listening" not in (tmp_path / "iperf.log").read_text():
        time.sleep(0.02)
    client = ("iperf3", "-c", "10.9.0.2", "-R", "-J")

    def tcp() -> None:
        reached = json.loads(triple.player.run(*client, "-t", "4"))["end"]["sum_received"]["bits_per_second"]
        # 1448 of 1500 bytes are payload: 9.65 Mbit/s. Losses at the tail cost a little.
        assert reached < 9.7e6
        in_time(reached > 8.0e6, reached)

    def datagrams() -> None:
        before = bridge.set()["down"]["tail"]
        udp = json.loads(triple.player.run(*client, "-u", "-b", "20M", "-l", "1000", "-t", "2"))["end"]["sum"]
        # 1028 B of IP carry 1000: of 20 Mbit/s, 9.73 fit.
        in_time(48 < udp["lost_percent"] < 55, udp)
        dropped = bridge.set()["down"]["tail"] - before
        in_time(dropped > 2000, dropped)

    up_to_three_times(tcp)
    up_to_three_times(datagrams)


def test_a_kill_leaves_the_interfaces_as_they_were(triple: Triple, tmp_path: Path) -> None:
    def is_on() -> bool:
        said = triple.bridge.run("ethtool", "-k", "home")
        return "generic-segmentation-offload: on" in said

    triple.bridge.run("ethtool", "-K", "home", "gso", "on")
    bridge = Bridge(triple, tmp_path, "--delay", "1ms")
    assert not is_on()
    bridge.process.kill()
    deadline = time.monotonic() + 120
    while not is_on():
        assert time.monotonic() < deadline, "nobody switched it on again"
        time.sleep(0.05)
    # Its name can be used again.
    Bridge(triple, tmp_path, "--delay", "1ms")


def test_who_asks_for_nonsense_is_told_and_nothing_changes(triple: Triple, tmp_path: Path) -> None:
    bridge = Bridge(triple, tmp_path, "--delay", "40ms")
    with pytest.raises(LabError, match="a time needs a unit"):
        bridge.set("--delay", "40")
    with pytest.raises(LabError, match="did you mean"):
        bridge.set("--profile", "dls")
    with pytest.raises(LabError, match="it is impaired already"):
        triple.bridge.run(bridge.impair, "run", "home", "--to", "wan")
    with pytest.raises(LabError, match="nobody impairs it"):
        triple.bridge.run(bridge.impair, "set", "wan", "--delay", "1ms")
    assert 'delay = "40ms"' in str(bridge.set()["config"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--to", "lo"], "INTERFACE nowhere: no such interface"),
        (["lo", "--to", "lo"], "both lo"),
        (["lo", "--to", "nowhere"], "INTERFACE lo: this is not an Ethernet interface"),
        (["lo", "--to", "lo", "--loss", "2"], "`loss` in --set loss=2"),
        (["lo", "--to", "lo", "--duration", "5"], "--duration 5"),
    ],
)
def test_bad_commands_are_refused_before_anything_is_touched(words: list[str], said: str) -> None:
    done = subprocess.run([program(programs.IMPAIR), "run", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
