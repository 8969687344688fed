"""`gamelane analyze` end to end: verdict, JSON, tables, page, log, and every kind of bad input."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.command import GAMELANE, gamelane
from tests.cli.files import leftovers

CAPTURES = Path(__file__).parents[1] / "captures"
SERVER, CLIENT = (CAPTURES / f"thin-tcp-wan-{end}.pcapng.gz" for end in ("srv", "cli"))
MATCH = CAPTURES / "openarena-4p-srv.pcapng.gz"


def found(*captures: Path | str) -> dict[str, Any]:
    done = gamelane("analyze", *captures, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def both() -> dict[str, Any]:
    return found(SERVER, CLIENT)


def test_every_loss_and_retransmission_of_the_readme_is_in_the_json(both: dict[str, Any]) -> None:
    lines = (CAPTURES / "README.md").read_text().splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| thin-tcp-wan")
    ]
    assert len(rows) == 8
    for row in rows:
        stream, way = int(row[1]) - 1, "down" if row[2] == "server to client" else "up"
        sent, lost, with_data, of_them, resent = map(int, row[3:8])
        pair = both["pair"]["flows"][stream]
        got = [pair[way][key] for key in ("sent", "lost", "sent_with_data", "lost_with_data")]
        assert got == [sent, lost, with_data, of_them]
        sender = both["captures"][0 if way == "down" else 1]["flows"][pair["ids"][0]]
        assert sender["tcp"][way]["resent"] == resent
        # What the sender's capture alone says: too much by the retransmissions that were not needed and not reported.
        estimate = sender["tcp"][way]["loss_estimate"]
        assert abs(estimate - of_them / with_data) < 0.012


def test_the_verdict_says_whose_packets_waited_and_for_what(both: dict[str, Any]) -> None:
    assert both["verdict"]["headline"].startswith("4 TCP connections behave like games (thin): ")
    assert "waiting for retransmission timers" in both["verdict"]["headline"]
    assert [game["kind"] for game in both["verdict"]["games"]] == ["thin-tcp"] * 4
    assert "48 of 2,515 lost" in both["verdict"]["games"][0]["text"]
    for flow in both["pair"]["flows"]:
        assert 100.0 < flow["rtt_ms"]["p50"] < 100.8
        assert flow["down"]["delivery"]["late_lag_ms"] > 1000


def test_the_receivers_end_tells_the_same_causes_as_the_senders(both: dict[str, Any]) -> None:
    for pair in both["pair"]["flows"]:
        ends = [both["captures"][n]["flows"][pair["ids"][n]]["tcp"] for n in (0, 1)]
        for way in ("up", "down"):
            server, client = (of[way]["retransmissions"]["fast"]["count"] / of[way]["resent"] for of in ends)
            assert abs(server - client) < 0.12, (way, pair["ids"])


def test_a_udp_game_is_found_with_its_ticks() -> None:
    document = found(MATCH)
    [flow] = document["captures"][0]["flows"]
    assert flow["udp"]["behaviour"] == "game"
    ticks = sorted(flow["udp"][way]["tick_ms"] for way in ("up", "down"))
    assert ticks == pytest.approx([33.0, 50.0], rel=0.005)
    assert all(flow["udp"][way]["numbered"]["missing"] == 0 for way in ("up", "down"))
    assert (flow["application"]["name"], flow["application"]["confidence"]) == ("quake3-family", "likely")
    headline = document["verdict"]["headline"]
    assert "1 game over UDP (quake3-family): none of 2,399 updates to the player and none of" in headline


def test_the_folder_holds_page_document_and_tables(tmp_path: Path) -> None:
    done = gamelane("analyze", SERVER, CLIENT, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "4 TCP connections behave like games (thin)" in page
    assert "vegaEmbed" in page
    document = json.loads((tmp_path / "out" / "analysis.json").read_text())
    again = pl.read_parquet(tmp_path / "out" / "retransmissions.parquet")
    for number, capture in enumerate(document["captures"]):
        for flow in capture["flows"]:
            for way in ("up", "down"):
                rows = again.filter(capture=number, flow=flow["id"]).filter(pl.col("direction") == way)
                assert len(rows) == flow["tcp"][way]["resent"]
    windows = pl.read_parquet(tmp_path / "out" / "windows.parquet")
    assert windows["packets"].sum() == sum(capture["packets"] for capture in document["captures"])
    assert set(pl.read_parquet(tmp_path / "out" / "rtt.parquet")["method"].unique()) == {
        "acknowledgement", "timestamp", "both-halves",
    }  # fmt: skip
    assert not leftovers(tmp_path / "out")


def test_one_connection_is_logged_as_in_figure_6() -> None:
    done = gamelane("analyze", SERVER, "--flow", "0", "--log")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "10.79.0.2:34732 - 10.79.0.1:13327"
    assert len(lines) == 2 + 2599 + 2515
    again = [line for line in lines if "RTR PKT" in line and " < " in line]
    assert len(again) == 35
    assert all("retransmission 1" in line for line in again)
    assert gamelane("analyze", SERVER, "--flow", "9", "--log").returncode == 2
    assert gamelane("analyze", SERVER, "--log").returncode == 2


def test_a_pipe_is_read_and_gives_the_same() -> None:
    whole = gzip.decompress(MATCH.read_bytes())
    for content in (whole, MATCH.read_bytes()):
        done = subprocess.run([GAMELANE, "analyze", "-", "--json"], input=content, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["captures"][0]["flows"] == found(MATCH)["captures"][0]["flows"]


def test_a_cut_capture_gives_what_was_read_and_says_the_rest(tmp_path: Path) -> None:
    whole = gzip.decompress(MATCH.read_bytes())
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(whole[: len(whole) // 2 + 1])
    done = gamelane("analyze", cut, "--json")
    assert done.returncode == 4
    [capture] = json.loads(done.stdout)["captures"]
    assert not capture["complete"]
    assert capture["packets"] == capture["error"]["packets_read"] > 2000
    offset = capture["error"]["offset"]
    assert len(whole) // 2 - 200 < offset <= len(whole) // 2 + 1
    assert f"at byte {offset}" in done.stderr
    damaged = tmp_path / "damaged.pcapng"
    damaged.write_bytes(whole[:offset] + b"\xff" * 64 + whole[offset + 64 :])
    done = gamelane("analyze", damaged)
    assert done.returncode == 4
    assert f"at byte {offset}" in done.stderr
    assert "1 game over UDP" in done.stdout


def pcap(*packets: tuple[float, bytes], link: int = 101) -> bytes:
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return head + b"".join(
        struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(data), len(data)) + data for at, data in packets
    )


DATAGRAM = bytes.fromhex("45ba002000010000401100000a0000010a00000203e807d0000c000001020304")
# IEEE 802.11: data to the access point, Protected bit; CCMP's packet number, ciphertext.
ENCRYPTED = bytes.fromhex("0841 0000 020000000001 020000000002 020000000003 1000 0100002000000000") + b"\x5a" * 40


@pytest.mark.parametrize(
    ("content", "code", "complaint"),
    [
        (b"", 2, "it is empty"),
        (b"PK\x03\x04 a zip", 2, "not a packet capture"),
        (pcap((1.0, DATAGRAM), link=187), 2, "link type 187 (Bluetooth HCI) is not supported"),
        (pcap((1.0, ENCRYPTED), link=105), 2, "1 of its 1 packets are encrypted Wi-Fi frames"),
        (pcap()[:20], 2, "the file's header"),
        (pcap((1.0, DATAGRAM)) + b"\0" * 7, 4, "of 16 B has only 7 B"),
        (gzip.compress(pcap((1.0, DATAGRAM)))[:-12], 2, "the compressed data ends"),
        (pcap(), 0, ""),
        (pcap((9.0, DATAGRAM), (5.0, DATAGRAM)), 0, ""),
    ],
    ids=["empty", "zip", "link type", "encrypted", "header", "cut", "cut gzip", "no packets", "time"],
)
def test_bad_input_is_said_and_never_a_traceback(content: bytes, code: int, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(content)
    done = gamelane("analyze", path, "--json")
    assert done.returncode == code, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert document["captures"][0]["complete"] == (code == 0)


def test_time_that_goes_back_is_told(tmp_path: Path) -> None:
    path = tmp_path / "back.pcap"
    path.write_bytes(pcap((9.0, DATAGRAM), (5.0, DATAGRAM), (9.5, DATAGRAM)))
    [capture] = found(path)["captures"]
    assert capture["time_went_back"] == {"packets": 1, "furthest_ms": 4000.0}
    assert capture["duration_s"] == 0.5


def test_a_clock_that_is_set_back_is_told_and_time_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "set.pcap"
    path.write_bytes(
        pcap(*((at, DATAGRAM) for start in (7200.0, 3600.0) for at in (start + n / 10 for n in range(40))))
    )
    [capture] = found(path)["captures"]
    assert capture["clock_steps"] == {"count": 1, "furthest_ms": pytest.approx(3603900.0)}
    assert capture["duration_s"] == pytest.approx(7.8)
    assert capture["flows"][0]["down"]["gap_ms"]["p99"] == pytest.approx(100.0)
    said = " ".join(gamelane("analyze", path).stdout.split())
    assert "the clock was set once, by 3603.9 s; times continue without the step" in said


def test_a_stamp_from_the_future_is_corrected(tmp_path: Path) -> None:
    path = tmp_path / "ahead.pcap"
    stamps = [n / 10 for n in range(40)]
    stamps[20] = 9000.0
    path.write_bytes(pcap(*((at, DATAGRAM) for at in stamps)))
    [capture] = found(path)["captures"]
    assert capture["stamps_ahead"] == {"packets": 1, "furthest_ms": pytest.approx(8998100.0)}
    assert capture["duration_s"] == pytest.approx(3.9)
    said = " ".join(gamelane("analyze", path).stdout.split())
    assert "1 timestamp 8998.1 s ahead of the others was corrected" in said


LIMIT = 96 << 20
"""Bytes a command may map, its program and libraries included: a quarter of the capture below."""


def long_capture() -> Iterator[bytes]:
    """A pcap of 384 MB: a datagram of 1400 bytes each millisecond."""
    yield pcap()
    data = DATAGRAM[:2] + struct.pack(">H", 1400) + DATAGRAM[4:24] + struct.pack(">H", 1380) + bytes(1374)
    records = bytearray(pcap(*((n / 1000, data) for n in range(1000)))[24:])
    for second in range(271):
        for at in range(0, len(records), 16 + len(data)):
            struct.pack_into("<I", records, at, second)
        yield bytes(records)


@pytest.mark.parametrize("piped", [True, False], ids=["pipe", "file"])
def test_a_capture_larger_than_memory_is_read(piped: bool, tmp_path: Path) -> None:
    words = ["prlimit", f"--as={LIMIT}", str(GAMELANE), "analyze", "--json"]
    if piped:
        process = subprocess.Popen([*words, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        for part in long_capture():
            process.stdin.write(part)
        out, _ = process.communicate()
    else:
        path = tmp_path / "long.pcap"
        with path.open("wb") as file:
            file.writelines(long_capture())
        process = subprocess.Popen([*words, str(path)], stdout=subprocess.PIPE)
        out, _ = process.communicate()
        path.unlink()
    assert process.returncode == 0
    [capture] = json.loads(out)["captures"]
    assert (capture["packets"], capture["flows"][0]["down"]["bytes"]) == (271_000, 271_000 * 1400)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert gamelane("analyze", tmp_path).returncode == 2
    done = gamelane("analyze", tmp_path / "absent.pcap")
    assert done.returncode == 2
    assert "absent.pcap: cannot be read: No such file or directory" in done.stderr
    assert "hint: " in done.stderr
    assert gamelane("analyze", "-", "-").returncode == 2


def test_remedies_are_replayed_over_the_path_measured() -> None:
    done = gamelane("analyze", SERVER, CLIENT, "--remedies", "2", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    remedies = document["remedies"]
    assert remedies["rtt_ms"] == pytest.approx(100.2, abs=0.5)
    assert remedies["loss"] == pytest.approx(0.02, abs=0.002)
    saved = {name: variant["saved"] for name, variant in remedies["variants"].items()}
    assert saved["none"] == 0
    # The modified timeout is shorter and does not back off; bundling repairs most losses before any timer.
    assert 0 < saved["modified-rto"] < saved["bundling"] < 1
    assert "remedies reduced the lag until delivery: " in document["verdict"]["headline"]
    assert gamelane("analyze", MATCH, "--remedies", "1").returncode == 2


def test_a_folder_is_one_recording(tmp_path: Path) -> None:
    whole = gzip.decompress(MATCH.read_bytes())
    blocks, at = [], 0
    while at < len(whole):
        length = struct.unpack_from("<I", whole, at + 4)[0]
        blocks.append(whole[at : at + length])
        at += length
    kinds = [struct.unpack_from("<I", block)[0] for block in blocks]
    header = b"".join(block for block, kind in zip(blocks, kinds, strict=True) if kind in (0x0A0D0D0A, 1))
    packets = [block for block, kind in zip(blocks, kinds, strict=True) if kind == 6]
    folder = tmp_path / "recording"
    folder.mkdir()
    third = len(packets) // 3
    for number, start in enumerate((0, third, 2 * third)):
        end = None if number == 2 else start + third
        (folder / f"game-{number}.pcapng").write_bytes(header + b"".join(packets[start:end]))
    (folder / "notes.txt").write_text("not a capture")
    [alone], [joined] = found(MATCH)["captures"], found(folder)["captures"]
    assert joined["flows"] == alone["flows"]
    # One file that is cut costs what was behind the cut, and the rest is read.
    middle = folder / "game-1.pcapng"
    middle.write_bytes(middle.read_bytes()[:-10])
    done = gamelane("analyze", folder, "--json")
    assert done.returncode == 4
    [capture] = json.loads(done.stdout)["captures"]
    assert capture["packets"] == alone["packets"] - 1
    assert capture["error"]["message"].startswith(f"{middle}: cut off after {third - 1} packets")
    assert gamelane("analyze", folder, folder).returncode == 2
    (tmp_path / "empty").mkdir()
    assert "no captures in this folder" in gamelane("analyze", tmp_path / "empty").stderr


def test_the_document_is_there_only_when_all_is(tmp_path: Path) -> None:
    done = gamelane("analyze", MATCH, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "analysis.json").exists()
    # A game over UDP has nothing to replay: the folder stays as it was.
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = gamelane("analyze", MATCH, "--remedies", "1", "-o", tmp_path)
    assert done.returncode == 2
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    done = gamelane("analyze", SERVER, "--remedies", "1", "-o", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "analysis.json").read_text())
    assert "report.html" in {file["name"] for file in document.pop("files")}
    assert document == json.loads(done.stdout)
    assert "remedies" in document


def test_stalls_are_told_in_timeouts(both: dict[str, Any]) -> None:
    for capture in both["captures"]:
        for flow in capture["flows"]:
            for way in ("up", "down"):
                stalls = flow["tcp"][way]["stalls"]
                assert sum(stalls["by_timeouts"].values()) == stalls["count"] == stalls["timeouts"]["count"]
    # One packet in flight, so probes come as late as the timer: stalls of one timeout.
    [quiet] = [flow for flow in both["captures"][0]["flows"] if flow["client"].endswith(":34732")]
    lengths = quiet["tcp"]["down"]["stalls"]["by_timeouts"]
    assert lengths["1"] > 0.9 * quiet["tcp"]["down"]["stalls"]["count"]
    assert "37 stalls: 35 of about one timeout, 2 of two timeouts" in both["verdict"]["games"][0]["text"]


def test_two_interfaces_of_one_capture_are_compared_as_two_captures_are(both: dict[str, Any], tmp_path: Path) -> None:
    one_file = tmp_path / "both.pcapng.gz"
    one_file.write_bytes(SERVER.read_bytes() + CLIENT.read_bytes())
    compared = found(one_file, "--interfaces", "0,1")
    assert compared["pair"] == both["pair"]
    assert [len(capture["flows"]) for capture in compared["captures"]] == [4, 4]
    for words, complaint in [
        ((one_file, "--interfaces", "0"), "not two different numbers"),
        ((one_file, "--interfaces", "0,7"), "has no packet of interface 7"),
        ((SERVER, CLIENT, "--interfaces", "0,1"), "needs one capture file with both interfaces"),
    ]:
        refused = gamelane("analyze", *words)
        assert refused.returncode == 2
        assert complaint in refused.stderr


def test_what_has_another_link_type_is_told_and_the_rest_read(tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    header = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interfaces = [block(1, struct.pack("<HHI", link, 0, 0)) for link in (101, 187)]
    packets = [
        block(6, struct.pack("<5I", number % 2, 0, 1_000_000 + number, len(DATAGRAM), len(DATAGRAM)) + DATAGRAM)
        for number in range(20)
    ]
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(header + b"".join(interfaces) + b"".join(packets))
    done = gamelane("analyze", path, "--json")
    assert done.returncode == 4
    [capture] = json.loads(done.stdout)["captures"]
    assert (capture["packets"], capture["flows"][0]["down"]["packets"]) == (20, 10)
    assert capture["error"]["kind"] == "unsupported-link-type"
    assert capture["error"]["offset"] == len(header + b"".join(interfaces)) + len(packets[0])
    assert "10 of its 20 packets have link type 187 (Bluetooth HCI)" in done.stderr


THROUGH_CLICK = "import sys; from gamelane.cli import app; sys.argv[0] = 'gamelane'; app.main()"


@pytest.mark.parametrize("captures", [[SERVER], [SERVER, CLIENT], ["/nowhere"], [MATCH, "/nowhere"], ["-", "-"]])
def test_the_form_that_scripts_use_is_that_of_the_command(captures: list[Path | str]) -> None:
    """It does without Click, and must not differ."""
    words = ["analyze", *map(str, captures), "--json", "-q"]
    done = [
        subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        for command in ([GAMELANE, *words], [sys.executable, "-c", THROUGH_CLICK, *words])
    ]
    assert (done[0].returncode, done[0].stdout, done[0].stderr) == (done[1].returncode, done[1].stdout, done[1].stderr)


def test_it_imports_no_library_that_loads_slowly() -> None:
    code = (
        "import sys; from gamelane.cli import main\n"
        f"sys.argv = ['gamelane', 'analyze', {str(SERVER)!r}, '--json']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert not {"click", "rich", "numpy", "polars", "json"} & set(done.stderr.split())


def test_a_capture_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """A copy has no second point: the comparison would find no loss and no delay between the two."""
    copy, link, other = tmp_path / "copy.pcap", tmp_path / "link.pcap", tmp_path / "other.pcap"
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap((1.0, DATAGRAM), (2.0, DATAGRAM)))
    shutil.copy(path, copy)
    link.symlink_to(path)
    other.write_bytes(pcap((1.0, DATAGRAM), (2.5, DATAGRAM)))
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(path, folder)
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for words, problem in [
        ((path, path), f"{path}: the same capture was given twice"),
        ((path, tmp_path / "folder" / ".." / "one.pcap"), "these are the same capture"),
        ((path, copy), f"{path} and {copy}: these are the same capture"),
        ((path, link), f"{path} and {link}: these are the same capture"),
        ((path, packed), f"{path} and {packed}: these are the same capture"),
        ((path, folder), f"{path} and {folder}: these are the same capture"),
        ((path, other, copy), f"{path} and {copy}: these are the same capture"),
    ]:
        for form in ((), ("--json",)):
            done = gamelane("analyze", *words, *form)
            assert done.returncode == 2
            assert problem in done.stderr
            assert f"\n  hint:    gamelane analyze {path}\n" in done.stderr
    assert gamelane("analyze", path, other).returncode == 0
    cut = tmp_path / "cut.pcap.gz"
    cut.write_bytes(packed.read_bytes()[:-12])
    assert "the compressed data ends" in gamelane("analyze", path, cut).stderr


def test_three_captures_are_said_to_be_analyzed_alone(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.pcap" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(pcap((1.0, DATAGRAM), (2.0 + number, DATAGRAM)))
    for form in ((), ("--json",), ("--json", "-q")):
        done = gamelane("analyze", *paths, *form)
        assert done.returncode == 0
        assert done.stderr.startswith("3 captures: each is analyzed alone, because only two can be compared\n  hint: ")
    assert "analyzed alone" not in gamelane("analyze", *paths[:2]).stderr


def test_the_game_of_the_judgement_is_named_by_its_client_and_its_losses_by_what_was_lost() -> None:
    """Several games may be with one server. Lost acknowledgements do not show, so the share is of the data packets."""
    [reason] = found(SERVER)["verdict"]["blame"]["because"]
    [capture] = found(SERVER)["captures"]
    told = re.fullmatch(
        r"Between .*, for the game of (\S+): (\d+) data packets \((\S+) %\) lost; \d+ waits over 100 ms, .*", reason
    )
    assert told
    [flow] = [flow for flow in capture["flows"] if flow["client"] == told[1]]
    sent = sum(flow["tcp"][way]["data_packets"] for way in ("up", "down"))
    assert int(told[2]) <= sum(flow["tcp"][way]["resent"] for way in ("up", "down"))
    assert 100 * int(told[2]) / sent == pytest.approx(float(told[3]), abs=0.05)
