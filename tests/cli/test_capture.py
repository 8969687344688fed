"""`gamelane capture` on interfaces of a network namespace of the test's own. Needs root, and says so elsewhere."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.command import GAMELANE, gamelane
from tests.conftest import Repeat
from tests.needs import lacking
from tests.real_time import in_time

PLAYERS = """
import socket, struct, sys, time
client, server = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
client.bind(("127.0.0.1", 40000))
server.bind(("127.0.0.1", 27960))
number = 0
while True:
    client.sendto(struct.pack("<I", number) + bytes(30 + number % 9), ("127.0.0.1", 27960))
    server.sendto(struct.pack("<I", number) + bytes(80 + number % 40), ("127.0.0.1", 40000))
    number += 1
    time.sleep(0.03)
"""


def inside(*words: str | Path) -> list[str]:
    """A command in the namespace made by the fixture."""
    return ["ip", "netns", "exec", f"gamelane-test-{os.getpid()}", *map(str, words)]


@pytest.fixture(scope="module")
def match() -> Iterator[None]:
    """A game between two programs on the loopback of a namespace."""
    name = f"gamelane-test-{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        lacking(f"no network namespace can be made here (run as root): {error}")
    players = None
    try:
        subprocess.run(inside("ip", "link", "set", "lo", "up"), check=True)
        players = subprocess.Popen(inside(sys.executable, "-c", PLAYERS))
        yield
    finally:
        if players is not None:
            players.kill()
            players.wait()
        subprocess.run(["ip", "netns", "delete", name], check=True)


def start(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        inside(GAMELANE, "capture", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_bytes(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 240
    while sum(path.stat().st_size for path in folder.glob("*.pcapng")) < count:
        assert time.monotonic() < deadline, "nothing was recorded"
        time.sleep(0.05)


@pytest.mark.usefixtures("match")
def test_ctrl_c_ends_the_recording_with_a_verdict(tmp_path: Path, up_to_three_times: Repeat) -> None:
    """Only a game whose packets come on time is known as one."""
    folders = (tmp_path / str(number) for number in count())
    up_to_three_times(lambda: _record(next(folders)))


def _record(folder: Path) -> None:
    recording = start("lo", "-o", folder, "--snaplen", "128", "--rotate-time", "1s", "--keep", "3", "--json")
    # Rotation has begun to remove files.
    deadline = time.monotonic() + 240
    while not list(folder.glob("*-00005.pcapng")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    recording.send_signal(signal.SIGINT)
    text, said = recording.communicate(timeout=240)
    assert recording.returncode == 0, said
    document = json.loads(text)
    assert document == json.loads((folder / "analysis.json").read_text())
    [flow] = document["captures"][0]["flows"]
    headline = document["verdict"]["headline"]
    ways = [flow["udp"]["up"], flow["udp"]["down"]]
    missing = sum(way["numbered"]["missing"] if way["numbered"] else way["missing_by_pace"] for way in ways)
    in_time(flow["kind"] == "game" and headline.startswith("1 game over UDP (") and missing == 0, headline)
    recorded = document["recording"]
    assert recorded["packets"] == flow["up"]["packets"] + flow["down"]["packets"]
    assert recorded["put_together"] == 0
    in_time(recorded["dropped"] == 0, recorded)
    files = sorted(folder.glob("*.pcapng"))
    assert len(files) == 3
    assert recorded["files"] >= 5
    # The files that are left are one recording: nothing is lost between them.
    again = json.loads(gamelane("analyze", folder, "--json").stdout)
    [kept] = again["captures"][0]["flows"]
    for way in ("up", "down"):
        numbered = kept["udp"][way]["numbered"]
        assert [numbered[key] for key in ("missing", "duplicated", "reordered")] == [0, 0, 0]
    assert 100 < kept["up"]["packets"] + kept["down"]["packets"] < recorded["packets"]


@pytest.mark.usefixtures("match")
def test_a_recording_that_is_killed_can_be_read(tmp_path: Path) -> None:
    recording = start("lo", "-o", tmp_path, "-q")
    wait_for_bytes(tmp_path, 20_000)
    recording.kill()
    recording.communicate(timeout=240)
    done = gamelane("analyze", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    [capture] = json.loads(done.stdout)["captures"]
    assert capture["complete"]
    assert capture["packets"] > 100


def ended(recording: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    """The document of a recording that has ended as it should: printed, and in its folder."""
    text, said = recording.communicate(timeout=240)
    assert recording.returncode == 0, said
    document: dict[str, Any] = json.loads(text)
    assert document == json.loads((folder / "analysis.json").read_text())
    assert document["recording"]["packets"] > 0
    assert sum(map(whole_packets, folder.glob("*.pcapng"))) == document["recording"]["packets"]
    return document


def whole_packets(file: Path) -> int:
    """Packets of a file up to its last whole block (pcapng, section 3.1)."""
    content, at, packets = file.read_bytes(), 0, 0
    while at + 12 <= len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if at + length > len(content):
            break
        packets += kind == ENHANCED_PACKET
        at += length
    return packets


ENHANCED_PACKET = 6


@pytest.mark.usefixtures("match")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_recording_with_a_verdict(tmp_path: Path, number: signal.Signals) -> None:
    recording = start("lo", "-o", tmp_path, "--json")
    wait_for_bytes(tmp_path, 1)
    recording.send_signal(number)
    ended(recording, tmp_path)


@pytest.mark.usefixtures("match")
def test_more_signals_do_not_disturb_the_end(tmp_path: Path) -> None:
    """`timeout` sends SIGTERM to the command and to its group; a shell that loses its terminal sends SIGHUP too."""
    recording = start("lo", "-o", tmp_path, "--json")
    wait_for_bytes(tmp_path, 1)
    for _ in range(200):
        recording.send_signal(signal.SIGTERM)
        recording.send_signal(signal.SIGHUP)
        time.sleep(0.001)
    ended(recording, tmp_path)


@pytest.mark.usefixtures("match")
@pytest.mark.parametrize(("ignored", "number"), [("INT", signal.SIGINT), ("HUP", signal.SIGHUP)])
def test_what_was_ignored_at_the_start_stays_ignored(tmp_path: Path, ignored: str, number: signal.Signals) -> None:
    """As SIGINT is in a background job of a script, and SIGHUP under nohup."""
    words: list[str | Path] = [
        "sh",
        "-c",
        f'trap "" {ignored}; exec "$@"',
        "sh",
        GAMELANE,
        "capture",
        "lo",
        "-o",
        tmp_path,
        "--json",
    ]
    recording = subprocess.Popen(inside(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_bytes(tmp_path, 1)
    recording.send_signal(number)
    wait_for_bytes(tmp_path, sum(path.stat().st_size for path in tmp_path.glob("*.pcapng")) + 5_000)
    recording.send_signal(signal.SIGTERM)
    ended(recording, tmp_path)


@pytest.mark.usefixtures("match")
@pytest.mark.parametrize("words", [[], ["--live"]])
def test_a_terminal_that_is_closed_ends_the_recording_with_an_analysis(tmp_path: Path, words: list[str]) -> None:
    """As a window is closed, or a connection of SSH is lost: nothing can be printed any more."""
    terminal, end = pty.openpty()
    recording = subprocess.Popen(
        ["setsid", "--ctty", *inside(GAMELANE, "capture", "lo", "-o", tmp_path, *words)],
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(end)
    drain = threading.Thread(target=_read_all, args=(terminal,))
    drain.start()
    wait_for_bytes(tmp_path, 5_000)
    # The last descriptor goes once the reader has noticed.
    READING.clear()
    drain.join()
    os.close(terminal)
    assert recording.wait(timeout=240) == 0
    document = json.loads((tmp_path / "analysis.json").read_text())
    assert document["recording"]["packets"] == sum(map(whole_packets, tmp_path.glob("*.pcapng"))) > 0


READING = threading.Event()


def _read_all(terminal: int) -> None:
    READING.set()
    while READING.is_set():
        if select.select([terminal], [], [], 0.1)[0]:
            os.read(terminal, 1 << 16)


@pytest.mark.usefixtures("match")
def test_keys_sort_and_end_the_live_screen() -> None:
    terminal, end = pty.openpty()
    before = termios.tcgetattr(end)
    recording = subprocess.Popen(
        inside(GAMELANE, "capture", "lo", "--live"),
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    try:
        shown = _until(terminal, b"", b"Sorted by longest wait")
        os.write(terminal, b"s")
        shown = _until(terminal, shown, b"Sorted by round trip")
        os.write(terminal, b"p")
        shown = _until(terminal, shown, b"PAUSED. p goes on")
        os.write(terminal, b"q")
        shown = _until(terminal, shown, b"\x1b[?1049l")
        assert b"lo: " in recording.communicate(timeout=240)[0]
        assert recording.returncode == 0
        assert termios.tcgetattr(end) == before
    finally:
        recording.kill()
        os.close(end)
        os.close(terminal)


def _until(terminal: int, shown: bytes, words: bytes) -> bytes:
    """What the terminal shows, up to these words."""
    while words not in shown:
        assert select.select([terminal], [], [], 60)[0], shown[-2000:]
        shown += os.read(terminal, 1 << 16)
    return shown


FLOOD = """
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    out.sendto(bytes(1400), ("127.0.0.1", 9))
"""


@pytest.mark.usefixtures("match")
def test_recordings_killed_at_random_moments_are_readable_to_the_last_whole_block(tmp_path: Path) -> None:
    """Under a flood, so that blocks are being written at any moment."""
    flood = subprocess.Popen(inside(sys.executable, "-c", FLOOD), stderr=subprocess.DEVNULL)
    moments = Random(15)
    try:
        for number in range(KILLS):
            folder = tmp_path / str(number)
            recording = start("lo", "-o", folder, "-q", "--rotate-size", "8MiB")
            wait_for_bytes(folder, 1)
            time.sleep(moments.uniform(0, 0.5))
            recording.kill()
            recording.communicate(timeout=240)
            packets = sum(map(whole_packets, folder.glob("*.pcapng")))
            done = gamelane("analyze", folder, "--json")
            assert done.returncode in (0, 4), done.stderr
            [capture] = json.loads(done.stdout)["captures"]
            assert capture["packets"] == packets > 0
    finally:
        flood.kill()
        flood.wait()


KILLS = 6


@pytest.mark.usefixtures("match")
def test_on_a_full_disk_the_verdict_so_far_survives(tmp_path: Path) -> None:
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "gamelane-test", tmp_path], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        lacking(f"no small file system can be mounted here: {error}")
    try:
        recording = start("lo", "-o", tmp_path, "--json")
        text, said = recording.communicate(timeout=240)
        assert recording.returncode == 3, said
        assert "No space left on device" in said
        document = json.loads(text)
        [file] = tmp_path.glob("*.pcapng")
        assert 100 < whole_packets(file) <= document["recording"]["packets"]
        assert file.stat().st_size <= 1 << 16
        # The verdict is of all that was seen, and the file is whole.
        [capture] = document["captures"]
        assert capture["packets"] == document["recording"]["packets"]
        assert gamelane("analyze", file, "--json").returncode == 0
        # Another start, as by systemd, leaves no empty file, and removes none for it.
        subprocess.run(["dd", "if=/dev/zero", f"of={tmp_path / 'rest'}"], check=False, capture_output=True)
        again = start("lo", "-o", tmp_path, "--json", "--keep", "1")
        text, said = again.communicate(timeout=240)
        assert again.returncode == 3, said
        assert "No space left on device" in said
        assert json.loads(text)["recording"]["packets"] > 0
        assert list(tmp_path.glob("*.pcapng")) == [file]
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.usefixtures("match")
def test_limits_end_a_recording_that_keeps_nothing() -> None:
    recording = start("lo", "-c", "20")
    text, said = recording.communicate(timeout=240)
    assert recording.returncode == 0, said
    assert "lo: " in text
    assert "packets, " in said
    recording = start("lo", "--duration", "500ms", "-q")
    text, said = recording.communicate(timeout=240)
    assert (recording.returncode, said) == (0, "")


@pytest.mark.usefixtures("match")
def test_what_the_recording_may_do_is_dropped_once_the_interface_is_open(tmp_path: Path) -> None:
    recording = start("lo", "-o", tmp_path, "-q")
    wait_for_bytes(tmp_path, 1)
    # `ip netns exec` becomes the command, whose threads all gave their privileges up.
    for status in Path(f"/proc/{recording.pid}/task").glob("*/status"):
        lines = dict(line.split(":\t") for line in status.read_text().splitlines() if ":\t" in line)
        assert int(lines["CapEff"], 16) == int(lines["CapPrm"], 16) == 0
    recording.send_signal(signal.SIGINT)
    recording.communicate(timeout=240)
    assert recording.returncode == 0


@pytest.mark.usefixtures("match")
def test_whoever_called_sudo_owns_the_files() -> None:
    environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        done = subprocess.run(
            inside(GAMELANE, "capture", "lo", "-o", folder, "-c", "5", "-q"),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        assert {path.stat().st_uid for path in folder.iterdir()} == {65534}


@pytest.mark.usefixtures("match")
def test_whoever_called_sudo_keeps_further_groups(tmp_path: Path) -> None:
    """The folder is open to one of them only."""
    tmp_path.chmod(0o755)
    for name, more in (
        ("passwd", "player:x:4001:4001::/:/bin/false"),
        ("group", "player:x:4001:\nrecorders:x:4002:player"),
    ):
        (tmp_path / name).write_text(f"{Path('/etc', name).read_text()}{more}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, 0, 4002)
        folder.chmod(0o770)
        binds = "; ".join(f"mount --bind {tmp_path}/{each} /etc/{each}" for each in ("passwd", "group"))
        begin = ["unshare", "--mount", "sh", "-ec", f'{binds}; exec "$@"', "sh"]
        done = subprocess.run(
            inside(*begin, GAMELANE, "capture", "lo", "-o", folder, "-c", "5", "-q"),
            env={**os.environ, "SUDO_UID": "4001", "SUDO_GID": "4001"},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        assert {(path.stat().st_uid, path.stat().st_gid) for path in folder.iterdir()} == {(4001, 4001)}


@pytest.mark.usefixtures("match")
def test_a_second_ctrl_c_ends_the_live_screen_at_once_and_restores_the_terminal() -> None:
    """It may also come when the recording has just ended, so this tries until it came in time."""
    codes: list[int] = []
    while 130 not in codes:
        assert len(codes) < 20, codes
        terminal, end = pty.openpty()
        before = termios.tcgetattr(end)
        recording = subprocess.Popen(
            inside(GAMELANE, "capture", "lo", "--live"), stdin=end, stdout=subprocess.DEVNULL, stderr=end
        )
        try:
            _until(terminal, b"", b"Sorted by longest wait")
            recording.send_signal(signal.SIGINT)
            time.sleep(0.001 * len(codes))
            recording.send_signal(signal.SIGINT)
            codes.append(recording.wait(timeout=240))
            _until(terminal, b"", b"\x1b[?1049l")
            assert termios.tcgetattr(end) == before
        finally:
            recording.kill()
            recording.wait()
            os.close(end)
            os.close(terminal)
    assert set(codes) <= {0, 130}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["no-such-interface"], "no such interface; there are "),
        (["lo", "--rotate-size", "100MiB"], "add -o DIR"),
        (["lo", "-o", "x", "--rotate-size", "3furlong"], "--rotate-size 3furlong: `furlong` is not a unit for a size"),
        (["lo", "--duration", "-1s"], "--duration -1s: a time cannot be negative"),
        (["lo", "--snaplen", "3"], "--snaplen"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], complaint: str, tmp_path: Path) -> None:
    done = gamelane("capture", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_the_privilege_the_way_out_is_said() -> None:
    setpriv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    if os.geteuid() == 0:
        setpriv += ["--reuid=65534", "--clear-groups"]
    try:
        done = subprocess.run(
            [*setpriv, GAMELANE, "capture", "lo"], capture_output=True, text=True, check=False, timeout=240
        )
    except OSError as error:
        pytest.skip(str(error))
    if "Permission denied" in done.stderr and "CAP_NET_RAW" not in done.stderr:
        pytest.skip("another user cannot run this checkout's command")
    assert done.returncode == 5, done.stderr
    assert "CAP_NET_RAW" in done.stderr
    assert "sudo" in done.stderr
