"""One impaired interface on the player's own machine. Nothing else changes, however the program ends."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from gamelane import programs
from gamelane.errors import LabError
from gamelane.lab.namespaces import Host, Lab, missing
from tests.conftest import Repeat
from tests.lab.conftest import program
from tests.needs import lacking
from tests.real_time import in_time

SERVER, SERVER_V6 = "10.9.0.2", "fd09::2"

GIVE = """
import hashlib, random, socket
payload = random.Random(1).randbytes(4_000_000)
with socket.create_server(("", 7000)) as listener:
    print("listening", flush=True)
    link, _ = listener.accept()
    with link:
        link.sendall(payload)
        link.shutdown(socket.SHUT_WR)
        back = b"".join(iter(lambda: link.recv(1 << 16), b""))
print("whole" if back == payload else f"{len(back)} B came back otherwise", flush=True)
"""
TAKE = """
import socket, threading
with socket.create_connection(("10.9.0.2", 7000)) as link:
    payload = b"".join(iter(lambda: link.recv(1 << 16), b""))
    link.sendall(payload)
    link.shutdown(socket.SHUT_WR)
print(len(payload))
"""
COLLECT = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as at:
    at.bind(("", 7001))
    at.settimeout(60)
    print("listening", flush=True)
    print([at.recv(2000) for _ in range(12)] == [bytes([n]) * 1000 for n in range(12)], flush=True)
"""
SEGMENTS = """
import socket
SOL_UDP, UDP_SEGMENT = 17, 103
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as at:
    at.setsockopt(SOL_UDP, UDP_SEGMENT, 1000)
    at.sendto(b"".join(bytes([n]) * 1000 for n in range(12)), ("10.9.0.2", 7001))
"""

TAGGED = bytes.fromhex("ffffffffffff 020000000001 8100 6007 88b5") + bytes(46)
SEE = """
import socket, struct
SOL_PACKET, PACKET_AUXDATA = 263, 8
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as at:
    at.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    at.bind(("eth0", 3))
    at.settimeout(60)
    print("listening", flush=True)
    try:
        while True:
            frame, about, *_ = at.recvmsg(2000, 100)
            if frame[12:14] == bytes.fromhex("88b5"):
                at.settimeout(1)
                print("tag", *struct.unpack("@IIIHHHH", about[0][2])[-2:], flush=True)
    except TimeoutError:
        pass
"""

FLOOD = """
import os, signal, socket, sys
os.kill(int(sys.argv[1]), signal.SIGSTOP)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as at:
    for _ in range(6000):
        at.sendto(b"", ("10.9.0.2", 7002))
"""


class Own:
    """A player's machine and a server, joined by Ethernet with all offloads on."""

    def __init__(self, lab: Lab, folder: Path, mtu: int = 1500) -> None:
        self.lab, self.folder = lab, folder
        self.impair = program(programs.IMPAIR)
        self.player, self.server = lab.host("player"), lab.host("server")
        for host in (self.player, self.server):
            host.run("sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
        lab.link(self.player, self.server, names=("eth0", "eth0"), mtu=mtu)
        for host, last in ((self.player, 1), (self.server, 2)):
            host.run("ethtool", "-K", "eth0", "gro", "on", "gso", "on", "tso", "on")
            host.run("ip", "addr", "add", f"10.9.0.{last}/24", "dev", "eth0")
            host.run("ip", "addr", "add", f"fd09::{last}/64", "dev", "eth0", "nodad")

        wait(lambda: "tentative" not in self.player.run("ip", "addr") + self.server.run("ip", "addr"))

    def start(self, *words: str, name: str = "impair") -> subprocess.Popen[str]:
        """Impair the player's interface."""
        return self.wait_for(self.lab.start(self.player, self.impair, "run", "eth0", *words, log=self.log(name)), name)

    def log(self, name: str = "impair") -> Path:
        """Return the log of the program."""
        return self.folder / f"{name}.log"

    def wait_for(self, process: subprocess.Popen[str], name: str = "impair") -> subprocess.Popen[str]:
        """Wait until the program impairs the interface."""
        log = self.log(name)
        wait(lambda: "impairing eth0" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return process

    def show(self, *words: str) -> dict[str, dict[str, int]]:
        """Run a command on the running program: change or show its settings."""
        command = ["set", "eth0", *words] if words else ["show", "eth0"]
        answer: dict[str, dict[str, int]] = json.loads(self.player.run(self.impair, *command, "--json"))
        return answer

    def state(self) -> str:
        """Return the network settings of the player's machine that must not change."""
        looks = (
            ("ip", "-d", "link", "show", "eth0"),
            ("ip", "addr", "show", "eth0"),
            ("ip", "route", "show", "table", "all"),
            ("ip", "-6", "route", "show", "table", "all"),
            ("ip", "rule"),
            ("tc", "qdisc", "show", "dev", "eth0"),
            ("ethtool", "-k", "eth0"),
        )
        return "\n".join(self.player.run(*look) for look in looks)

    def links(self) -> set[str]:
        """Return the names of the player's interfaces."""
        return {link["ifname"] for link in self.player.ip("link")}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    if why := missing():
        lacking(why)
    with Lab() as lab:
        yield Own(lab, tmp_path)
        # The end of the namespace would remove interfaces, so check before it that none is left.


def wait(is_true: Callable[[], bool], patience_s: float = 120) -> None:
    deadline = time.monotonic() + patience_s
    while not is_true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def says(log: Path, word: str) -> bool:
    return word in log.read_text()


def least_ms(host: Host, to: str, *words: str) -> float:
    """Return the shortest of six round trips, because a busy machine adds delay."""
    said = host.run("ping", "-n", "-q", "-c", "6", "-i", "0.05", "-W", "2", *words, to)
    found = re.search(r"= ([\d.]+)/", said)
    assert found, said
    return float(found[1])


def test_a_machines_own_traffic_is_late_both_ways_and_nothing_else_changes(own: Own) -> None:
    before, links = own.state(), own.links()
    own.server.run("ip", "neigh", "flush", "all")
    own.player.run("ip", "neigh", "flush", "all")
    # The command as a player types it.
    command = (sys.executable, "-m", "gamelane", "impair", "eth0", "--delay", "40ms")
    process = own.wait_for(own.lab.start(own.player, *command, log=own.log()))
    assert own.state() == before
    for host, to in ((own.player, SERVER), (own.player, SERVER_V6), (own.server, "10.9.0.1")):
        assert 80 <= least_ms(host, to) < 110, to
    # Up is the direction from the player. Each direction is tested alone.
    own.show("--clear", "--set", "delay.up=30ms")
    assert 30 <= least_ms(own.player, SERVER) < 60
    shown = own.show()
    for way in ("up", "down"):
        assert shown[way]["arrived"] >= 24
        assert shown[way]["arrived"] == shown[way]["delivered"] + shown[way]["inside"]
    # Longer than the MTU, as IP fragments.
    assert 30 <= least_ms(own.player, SERVER, "-s", "4000", "-M", "dont") < 60
    process.terminate()
    assert process.wait(timeout=60) == 0
    assert least_ms(own.player, SERVER) < 20
    assert own.state() == before
    wait(lambda: own.links() == links)


def test_bytes_arrive_whole_through_loss_both_ways(own: Own) -> None:
    """With segmentation offload, the kernel splits large segments again, and checksums are correct."""
    own.start("--delay", "2ms", "--loss", "0.5%")
    log = own.folder / "give.log"
    giver = own.lab.start(own.server, sys.executable, "-c", GIVE, log=log)
    wait(lambda: "listening" in log.read_text())
    assert int(own.player.run(sys.executable, "-c", TAKE)) == 4_000_000
    assert giver.wait(timeout=60) == 0
    assert "whole" in log.read_text()
    shown = own.show()
    # 4 MB are 2762 segments of 1448 B in each direction. 0.5 % are 13.8; four standard deviations less is below 0.
    assert shown["up"]["arrived"] > 2762
    assert shown["down"]["arrived"] > 2762
    assert shown["up"]["lost"] + shown["down"]["lost"] > 5
    assert shown["up"]["no_room"] + shown["down"]["no_room"] == 0


def test_datagrams_sent_as_one_arrive_as_they_would(own: Own) -> None:
    """UDP segmentation offload, as QUIC uses it."""
    own.start("--delay", "2ms")
    log = own.folder / "collect.log"
    collector = own.lab.start(own.server, sys.executable, "-c", COLLECT, log=log)
    wait(lambda: "listening" in log.read_text())
    before = own.show()["up"]["arrived"]
    own.player.run(sys.executable, "-c", SEGMENTS)
    assert collector.wait(timeout=60) == 0
    assert "True" in log.read_text()
    assert own.show()["up"]["arrived"] - before >= 12


def test_tags_of_virtual_lans_stay_on(own: Own) -> None:
    """A capture on the player's interface shows received packets twice: on arrival, and after the impairment."""
    own.start("--delay", "2ms")
    for number, (sender, receiver, times) in enumerate(((own.player, own.server, 1), (own.server, own.player, 2))):
        log = own.folder / f"see{number}.log"
        seer = own.lab.start(receiver, sys.executable, "-c", SEE, log=log)
        wait(partial(says, log, "listening"))
        send = f"import socket; s = socket.socket(17, 3); s.bind(('eth0', 0)); s.send({TAGGED!r})"
        sender.run(sys.executable, "-c", send)
        assert seer.wait(timeout=60) == 0
        # Priority 3, number 7, TPID of IEEE 802.1Q.
        assert log.read_text().splitlines().count(f"tag {0x6007} {0x8100}") == times


def test_who_may_join_the_network_is_not_impaired(own: Own) -> None:
    """Wi-Fi keys arrive in IEEE 802.1X frames. If one were lost, the connection would break."""
    own.start("--loss", "100%")
    for number, (sender, receiver) in enumerate(((own.player, own.server), (own.server, own.player))):
        log = own.folder / f"see{number}.log"
        seer = own.lab.start(receiver, sys.executable, "-c", SEE.replace("88b5", "888e"), log=log)
        wait(partial(says, log, "listening"))
        frame = bytes.fromhex("ffffffffffff 020000000001 888e") + bytes(46)
        send = f"import socket; s = socket.socket(17, 3); s.bind(('eth0', 0)); s.send({frame!r})"
        sender.run(sys.executable, "-c", send)
        assert seer.wait(timeout=60) == 0
        assert log.read_text().count("tag") == 1
    with pytest.raises(LabError):
        own.player.run("ping", "-c", "1", "-W", "1", SERVER)


def test_a_download_and_an_upload_are_fast(own: Own, up_to_three_times: Repeat) -> None:
    """The impaired path carries far more than home links do, with all offloads on."""
    own.start()
    own.lab.start(own.server, "iperf3", "-s", "--forceflush", log=own.folder / "iperf.log")
    wait(lambda: "listening" in (own.folder / "iperf.log").read_text())

    def fast(*way: str) -> None:
        said = json.loads(own.player.run("iperf3", "-c", SERVER, "-J", "-t", "1", *way))
        reached = said["end"]["sum_received"]["bits_per_second"]
        in_time(reached > 100e6, f"{way}: {reached}")

    up_to_three_times(fast)
    up_to_three_times(partial(fast, "-R"))
    assert own.show()["up"]["no_room"] == 0


def test_jumbo_frames_pass(tmp_path: Path) -> None:
    if why := missing():
        lacking(why)
    with Lab() as lab:
        own = Own(lab, tmp_path, mtu=9000)
        own.start("--delay", "10ms")
        assert 20 <= least_ms(own.player, SERVER, "-s", "8900", "-M", "do") < 50


def test_a_kill_leaves_nothing_behind(own: Own) -> None:
    before, links = own.state(), own.links()
    for number in range(2):
        process = own.start("--delay", "40ms", name=f"impair{number}")
        assert least_ms(own.player, SERVER) >= 80
        process.kill()
        process.wait(timeout=60)
        # It ends at once, and its name can be used again.
        assert least_ms(own.player, SERVER) < 20
    assert own.state() == before
    wait(lambda: own.links() == links)


def test_a_process_that_stands_still_holds_nothing_up_for_long(own: Own) -> None:
    process = own.start("--delay", "40ms")
    assert least_ms(own.player, SERVER) >= 80
    os.kill(process.pid, signal.SIGSTOP)
    try:
        time.sleep(1.2)
        assert least_ms(own.player, SERVER) < 20
    finally:
        os.kill(process.pid, signal.SIGCONT)
    wait(lambda: least_ms(own.player, SERVER) >= 80)


def test_what_is_lost_because_this_machine_is_late_is_counted(own: Own) -> None:
    process = own.start()
    own.player.run("ping", "-c", "1", SERVER)
    try:
        # More frames than the ring of 4096 holds, sent within the second in which frames still go there.
        own.player.run(sys.executable, "-c", FLOOD, str(process.pid))
    finally:
        os.kill(process.pid, signal.SIGCONT)
    wait(lambda: own.show()["up"]["arrived"] >= 4096)
    assert own.show()["up"]["ring_full"] > 500
    assert "too slow" in own.player.run(own.impair, "show", "eth0")


def test_nothing_of_this_machine_gets_onto_the_path_by_itself(own: Own) -> None:
    """A program that sends on all interfaces sends nothing twice."""
    others = own.links()
    own.start("--delay", "1ms")
    pairs = own.links() - others
    assert len(pairs) == 2
    for name in pairs:
        send = f"import socket; s = socket.socket(17, 3); s.bind(({name!r}, 0)); s.send(bytes(60))"
        with pytest.raises(LabError, match="No buffer space available"):
            own.player.run(sys.executable, "-c", send)


def test_an_interface_that_goes_down_and_comes_back_goes_on(own: Own) -> None:
    own.start("--delay", "40ms")
    for state in ("down", "up"):
        own.player.run("ip", "link", "set", "eth0", state)
        time.sleep(0.3)
    assert 80 <= least_ms(own.player, SERVER) < 110


def test_two_interfaces_are_impaired_each_in_its_own_way(own: Own) -> None:
    own.lab.link(own.player, own.server, names=("eth1", "eth1"))
    for host, last in ((own.player, 1), (own.server, 2)):
        host.run("ip", "addr", "add", f"10.9.8.{last}/24", "dev", "eth1")
    own.start("--delay", "40ms")
    second = (own.impair, "run", "eth1", "--delay", "10ms")
    with own.lab.start(own.player, *second, log=own.log("second")) as process:
        wait(partial(says, own.log("second"), "impairing eth1"))
        assert 20 <= least_ms(own.player, "10.9.8.2") < 50
        assert 80 <= least_ms(own.player, SERVER) < 110
        process.terminate()
    assert least_ms(own.player, "10.9.8.2") < 20
    assert 80 <= least_ms(own.player, SERVER) < 110


def test_an_interface_that_vanishes_ends_it(own: Own) -> None:
    others = own.links()
    process = own.start("--delay", "1ms")
    own.player.run("ip", "link", "delete", (own.links() - others).pop())
    assert process.wait(timeout=60) == 5
    assert "the virtual interfaces beside eth0 were removed" in own.log().read_text()
    assert least_ms(own.player, SERVER) < 20
    process = own.start("--delay", "1ms")
    own.player.run("ip", "link", "delete", "eth0")
    assert process.wait(timeout=60) == 5
    assert "the interface eth0 was removed" in own.log().read_text()


def test_keys_change_what_is_in_force(own: Own) -> None:
    own.start("--delay", "20ms")
    screen, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    words = own.player.command([own.impair, "tune", "eth0"])
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal) as tune:
        for keys, delay, loss in (
            (b"\x1b[A\x1b[A\x1b[C", "40ms", "1%"),
            (b" ", "0s", "0%"),
            (b" ", "40ms", "1%"),
            (b"\x1b[B\x1b[D", "30ms", "0%"),
        ):
            shows(screen, b"leave it so")
            os.write(screen, keys)
            wait(partial(in_force, own, delay, loss))
        shows(screen, b"a round trip takes 60 ms longer")
        os.write(screen, b"q")
        shows(screen, b"\x1b[?1049l")
        assert tune.wait(timeout=60) == 0
    assert termios.tcgetattr(terminal) == before
    assert 60 <= least_ms(own.player, SERVER) < 90
    with pytest.raises(LabError, match="this needs a terminal"):
        own.player.run(own.impair, "tune", "eth0")


def test_a_trial_starts_the_impairment_and_takes_no_rating_that_was_typed_ahead(own: Own, tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    trial = (sys.executable, "-m", "gamelane", "impair", "trial", "eth0", "-o", tmp_path, "--hold", "5", "--seed", "1")
    words = own.player.command(list(map(str, trial)))
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as process:
        shows(screen, b"1 of 28: play")
        began = time.monotonic()
        assert own.show()["config"]
        os.write(screen, b"1\n2\n3")
        shows(screen, b"1 bad: ")
        assert time.monotonic() - began > 4
        assert not (tmp_path / "player.jsonl").exists()
        os.write(screen, b"4\n")
        shows(screen, b"2 of 28: play")
        process.send_signal(signal.SIGINT)
        shows(screen, b"the same command continues")
        assert process.wait(timeout=60) == 0
    [rated] = [json.loads(line) for line in (tmp_path / "player.jsonl").read_text().splitlines()]
    assert rated["rating"] == 4
    assert rated["rated_unix_s"] - rated["set_unix_s"] >= 5
    with pytest.raises(LabError, match="nobody impairs it"):
        own.show()


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_the_impairment_of_a_trial_ends_with_it(own: Own, how: signal.Signals, tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    trial = (sys.executable, "-m", "gamelane", "impair", "trial", "eth0", "-o", tmp_path)
    words = own.player.command(list(map(str, trial)))
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as process:
        shows(screen, b"1 of 28: play")
        own.show()
        process.send_signal(how)
        process.wait(timeout=60)
    wait(partial(is_not_impaired, own))


def is_not_impaired(own: Own) -> bool:
    try:
        own.show()
    except LabError:
        return True
    return False


def test_a_rating_without_the_condition_is_not_kept(own: Own, tmp_path: Path) -> None:
    running = own.start()
    screen, terminal = pty.openpty()
    trial = (sys.executable, "-m", "gamelane", "impair", "trial", "eth0", "-o", tmp_path, "--hold", "5")
    words = own.player.command(list(map(str, trial)))
    with subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as process:
        shows(screen, b"1 of 28: play")
        running.kill()
        shows(screen, b"1 bad: ")
        os.write(screen, b"4\n")
        shows(screen, b"no longer set, so its rating is not kept")
        assert process.wait(timeout=60) == 5
    assert not (tmp_path / "player.jsonl").exists()


def shows(screen: int, word: bytes) -> None:
    """Wait until the terminal shows a text."""
    shown = b""
    deadline = time.monotonic() + 120
    while word not in shown:
        assert time.monotonic() < deadline, shown
        if select.select([screen], [], [], 1)[0]:
            shown += os.read(screen, 4096)


def in_force(own: Own, delay: str, loss: str) -> bool:
    config = tomllib.loads(str(own.show()["config"]))
    ways = [
        {way: value if isinstance(value, str) else value[way] for way in ("up", "down")}
        for value in (config["delay"], config["loss"])
    ]
    return ways == [{"up": delay, "down": delay}, {"up": loss, "down": loss}]


def test_who_cannot_be_impaired_is_told_why_and_nothing_changes(own: Own) -> None:
    own.player.run("ip", "link", "add", "br0", "type", "bridge")
    own.player.run("ip", "link", "add", "one", "type", "veth", "peer", "name", "two")
    own.player.run("ip", "link", "set", "one", "master", "br0")
    own.player.run("ip", "tuntap", "add", "tun0", "mode", "tun")
    links = own.links()
    # /sys lists the members of bridges and bonds, so it must be the one of the namespace.
    there = ("unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh")
    for name, why in (
        ("nowhere", "no such interface"),
        ("lo", "127.0.0.1"),
        ("tun0", "not an Ethernet interface"),
        ("one", "part of br0"),
    ):
        with pytest.raises(LabError, match=why):
            own.player.run(*there, own.impair, "run", name, "--duration", "2s")
    bound = ["setpriv", "--bounding-set=-sys_admin", "--"]
    with pytest.raises(LabError, match="CAP_SYS_ADMIN"):
        own.player.run(*bound, own.impair, "run", "eth0")
    with pytest.raises(LabError, match="one interface cannot be impaired here"):
        own.player.run(*bound, own.impair, "check")
    assert own.links() == links
    own.start("--delay", "40ms")
    with pytest.raises(LabError, match="it is impaired already"):
        own.player.run(own.impair, "run", "eth0")
    said = own.player.run(own.impair, "run", "eth0", "--dry-run", "--delay", "7ms")
    assert "divert the frames of eth0" in said
    assert 'delay = "7ms"' in said
    assert least_ms(own.player, SERVER) >= 80
