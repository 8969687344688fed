"""The journal: what was written is read, what was torn or damaged is not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamelane.errors import OutputError
from gamelane.sweep import journal
from gamelane.sweep.journal import Done, Journal


def _done(number: int) -> Done:
    return Done(f"{number:032x}", number, 0.5, 10, {"flows": {"é\n": {"loss": 0.25, "rtt_ms": {"p99": None}}}})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as written:
        for number in range(3):
            written.append(_done(number))
    assert list(journal.read(tmp_path / "j")) == [_done(0), _done(1), _done(2)]
    assert list(journal.read(tmp_path / "absent")) == []
    assert [journal.id_of(line) for _, line in journal.lines(tmp_path / "j")] == [_done(n).id for n in range(3)]


@given(cut=st.integers(0, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_journal_cut_anywhere_loses_the_line_it_was_cut_in(cut: int, tmp_path: Path) -> None:
    path = tmp_path / f"j{cut}"
    lines = [journal.encode(_done(number)) for number in range(3)]
    path.write_bytes(b"".join(lines)[:cut])
    whole = sum(len(b"".join(lines[: count + 1])) - 1 <= cut for count in range(3))
    with Journal(path) as written:
        written.append(_done(9))
    found = [done for done in journal.read(path) if done is not None]
    assert found == [*(_done(number) for number in range(whole)), _done(9)]


@given(at=st.integers(0, 300), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_flipped_bit_is_found(at: int, bit: int, tmp_path: Path) -> None:
    text = bytearray(b"".join(journal.encode(_done(number)) for number in range(3)))
    text[at % len(text)] ^= 1 << bit
    path = tmp_path / "j"
    path.write_bytes(text)
    found = [done for done in journal.read(path) if done is not None]
    assert all(done in [_done(0), _done(1), _done(2)] for done in found)
    assert len(found) < 3 or at % len(text) == len(text) - 1 or found == [_done(0), _done(1), _done(2)]


def test_a_full_disk_leaves_whole_lines_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    written = Journal(path)
    written.append(_done(0))
    real = os.write

    room = 20

    def nearly_full(file: int, text: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(file, text[:room])
        room -= done
        return done

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OutputError, match="the disk is full") as refusal:
        written.append(_done(1))
    assert "finished runs are kept" in str(refusal.value)
    monkeypatch.undo()
    written.append(_done(2))
    written.close()
    assert list(journal.read(path)) == [_done(0), _done(2)]
