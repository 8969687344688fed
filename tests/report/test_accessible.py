"""Every kind of page passes axe in a real browser: light and dark, on a desk and on a phone, nothing off screen.

Without scripts its figures are pictures.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import gamelane
from gamelane import Results, whole
from gamelane.advise import measured
from gamelane.analysis import capture_frames
from gamelane.analysis.capture import analyze
from gamelane.report import capture, proof
from gamelane.report.html import page
from tests.advise.lines import SLOW_DSL, phases, write
from tests.browser import BROWSER
from tests.cli.command import gamelane as command
from tests.needs import needs
from tests.report import documents
from tests.sweep.conftest import SWEEP

WEB = Path(__file__).parents[2] / "web"

pytestmark = needs(
    BROWSER and shutil.which("node") and (WEB / "node_modules").is_dir(),
    "chromium, node or axe is missing: apt-get install chromium nodejs npm; npm ci --prefix web",
)


@dataclass(frozen=True)
class Given:
    """What a page is made of, and where."""

    results: Results
    household: Path
    folder: Path


def _run(of: Given) -> Path:
    return _written(of.folder, page(of.results["fifo"]))


def _comparison(of: Given) -> Path:
    return _written(of.folder, page(of.results))


def _agreement(of: Given) -> Path:
    of.results.write(of.folder / "one")
    of.results.write(of.folder / "two")
    return _written(of.folder, page(gamelane.overlay([of.folder / "one", of.folder / "two"])))


def _capture(of: Given) -> Path:
    with capture_frames.TableWriter(of.folder) as tables:
        found = analyze([_far_away(of.folder, file) for file in (documents.SERVER, documents.CLIENT)], tables)
        with whole.Together(of.folder) as files:
            tables.join(files)
    return _written(of.folder, capture.page(of.folder, documents.timed(documents.blamed(found))))


def _sweep(of: Given) -> Path:
    (of.folder / "sweep.toml").write_text(SWEEP.replace("{base}", str(of.household)))
    return _made(of.folder, "sweep", of.folder / "sweep.toml", "-o", of.folder)


def _claims(of: Given) -> Path:
    return _made(of.folder, "reproduce", "but2006", "--repeat", "1", "-o", of.folder, name="but2006.html")


def _tune(of: Given) -> Path:
    return _made(of.folder, "tune", of.household, "--trials", "8", "--repeat", "2", "-o", of.folder)


def _remedies(of: Given) -> Path:
    settings = ("--loss", "2", "--repeat", "1")
    return _made(of.folder, "remedies", *settings, "-o", of.folder)


def _fit(of: Given) -> Path:
    captures = (documents.CAPTURES / f"openarena-{players}p-srv-headers.pcapng.gz" for players in (2, 3))
    words = ("--players", "2,3", "-o", of.folder / "game.toml", "--report", of.folder)
    return _made(of.folder, "traffic", "fit", *captures, *words, name="fit.html")


def _advise(of: Given) -> Path:
    line = write(of.folder / "measured", SLOW_DSL)
    return _made(line / "advice", "advise", line, "--trials", "4", "--repeat", "1")


def _before_and_after(of: Given) -> Path:
    before = write(of.folder / "measured", SLOW_DSL)
    return proof.write_page(of.folder, proof.Proof(measured.read(before), None, phases(SLOW_DSL)))


def _measure(of: Given) -> Path:
    data = Path(__file__).parents[1] / "foreign" / "data"
    names = ("irtt.json.gz", "iperf3-up.json", "iperf3-down.json", "iperf3-both.json")
    files = (word for name in names for word in ("--import", data / name))
    return _made(of.folder, "measure", *files, "-o", of.folder)


PAGES = (
    _run,
    _comparison,
    _agreement,
    _capture,
    _sweep,
    _claims,
    _tune,
    _remedies,
    _fit,
    _advise,
    _measure,
    _before_and_after,
)


@pytest.mark.parametrize("made", PAGES, ids=lambda made: made.__name__.strip("_"))
def test_a_page_is_accessible(made: Callable[[Given], Path], queues: Results, household: Path, tmp_path: Path) -> None:
    file = made(Given(queues, household, tmp_path))
    assert BROWSER
    done = subprocess.run(
        ["node", WEB / "tests" / "axe.mjs", BROWSER, file], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
    text = file.read_text(encoding="utf-8")
    figures = len(re.findall('class="figure"|class="over-time"|id="map"', text[text.index("<main>") :]))
    assert len(re.findall(r"<noscript>(?:<p>.*?</p>)?<(?:svg|img) ", text)) == figures


def _far_away(folder: Path, capture: str) -> str:
    """Return the capture by a path that is wider than a phone, without a character to break it at."""
    place = folder / "ein_ordner_mit_aufnahmen_der_leitung_zu_hause" / "und_einer_mit_denen_vom_freitagabend"
    place.mkdir(parents=True, exist_ok=True)
    link = place / Path(capture).name
    link.symlink_to(capture)
    return str(link)


def _written(folder: Path, text: str) -> Path:
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


def _made(folder: Path, *words: str | Path, name: str = "report.html") -> Path:
    done = command(*words, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / name
