"""The page of an analyzed capture: the blame leads, and a browser without a network zooms all plots together."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert
from rich.console import Console

from gamelane import whole
from gamelane.analysis import capture_frames
from gamelane.analysis.capture import analyze
from gamelane.plot.images import VEGA_LITE
from gamelane.report import capture_plots
from gamelane.report.capture import page
from gamelane.report.capture_flows import flows
from gamelane.report.capture_terminal import show
from tests.browser import needs_browser, opened
from tests.capture.datagrams import steady, write
from tests.report import documents
from tests.report.documents import Document
from tests.report.outside import loaded_from_elsewhere


def _analyzed(captures: list[str], folder: Path) -> Document:
    with capture_frames.TableWriter(folder) as tables:
        found = analyze(captures, tables)
        with whole.Together(folder) as files:
            tables.join(files)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of two captures."""
    return tmp_path_factory.mktemp("analysis")


@pytest.fixture(scope="module")
def both(folder: Path) -> Document:
    found = _analyzed([documents.SERVER, documents.CLIENT], folder)
    for capture in found["captures"]:
        capture["file"] = Path(capture["file"]).name
    return documents.timed(documents.blamed(found))


@pytest.fixture(scope="module")
def text(folder: Path, both: Document) -> str:
    return page(folder, both)


def over_time(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="over-time">(.*?)</script>', text, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def rows(spec: Document, title: str) -> pl.DataFrame:
    """Return the data of the panel with this title."""
    [panel] = [panel for panel in spec["vconcat"] if panel["title"]["text"] == title]
    return pl.read_csv(io.StringIO(spec["datasets"][panel["data"]["name"]]))


def test_the_blame_leads_the_page(text: str, both: Document, folder: Path) -> None:
    blame = both["verdict"]["blame"]
    shown = html.unescape(text)
    assert f"<h1>{blame['text']}</h1>" in shown
    assert "This is likely." in shown
    assert all(f"<li>{sentence}</li>" in shown for sentence in (*blame["because"], *blame["advice"]))
    plain = page(folder, documents.without(both, "blame", "timeline"))
    assert "<h1>What happened to the game</h1>" in plain
    assert 'id="timeline"' not in plain
    assert "What to try" not in plain


def test_commands_in_the_advice_are_code_and_nothing_else_is_markup(both: Document, folder: Path) -> None:
    found = documents.without(both)
    found["verdict"]["blame"] |= {
        "text": "`<b>` is to blame.",
        "because": ["A single ` stays.", "`a` & `b<i>`"],
        "advice": ["Record `gamelane capture`: <script>alert(1)</script>"],
    }
    text = page(folder, found)
    assert "<h1><code>&lt;b&gt;</code> is to blame.</h1>" in text
    assert "<li>A single ` stays.</li><li><code>a</code> &amp; <code>b&lt;i&gt;</code></li>" in text
    assert "<li>Record <code>gamelane capture</code>: &lt;script&gt;alert(1)&lt;/script&gt;</li>" in text


def test_rates_have_the_unit_of_the_highest_as_on_the_terminal(both: Document) -> None:
    """Both say Mbit/s from 1 Mbit/s on."""
    for top, unit, value in ((999_000.0, "kbit/s", 999.0), (1_000_000.0, "Mbit/s", 1.0)):
        capture = documents.without(both)["captures"][0]
        capture["timeline"]["up_bps"][-1] = top
        spec = capture_plots.timeline(capture)
        assert spec
        assert rows(spec, f"Load of all flows, {unit}")["v"].max() == value
        out = io.StringIO()
        alone = documents.without(both) | {"captures": [capture], "pair": None}
        show(json.dumps(alone), Console(file=out, width=100))
        assert re.search(rf"^up .* {value:.{3 - len(str(int(value)))}f} {unit}$", out.getvalue(), re.MULTILINE)


def test_the_page_says_from_when_a_wait_counts_and_of_which_flow(both: Document, folder: Path) -> None:
    found = documents.without(both)
    for capture in found["captures"]:
        capture["timeline"]["wait"]["of"] = "flow 2"
    text = page(folder, found)
    assert "Above: the longest wait of flow 2 beyond its fastest round trip in each step" in text
    spec = over_time(text)["timelines"][0]["spec"]
    assert spec["vconcat"][0]["title"]["text"] == "Longest wait of flow 2, ms"
    for capture in found["captures"]:
        capture["timeline"]["wait"] = None
    text = page(folder, found)
    assert "Above: " not in text
    assert [panel["title"]["text"] for panel in over_time(text)["timelines"][0]["spec"]["vconcat"]] == [
        "Load of all flows, kbit/s"
    ]


def test_nothing_is_loaded_from_elsewhere(text: str) -> None:
    assert loaded_from_elsewhere(text) == []
    assert "http" not in json.dumps(over_time(text))


def test_every_flow_is_plotted_with_its_own_data_and_one_zoom(text: str, both: Document) -> None:
    data = over_time(text)
    places = [(number, seen) for flow in flows(both) for number, seen in zip(flow.captures, flow.seen, strict=True)]
    assert len(data["flows"]) == len(places) == 8
    for shown, (number, seen) in zip(data["flows"], places, strict=True):
        assert shown["capture"] == number
        spec = shown["spec"]
        titles = [panel["title"]["text"] for panel in spec["vconcat"]]
        assert titles == [
            "RTT, ms", "Delay of data to the client, ms", "Delay of data to the server, ms", "Retransmissions",
            "Throughput, kbit/s",
        ]  # fmt: skip
        assert [param["name"] for param in spec["params"]] == ["zoom"]
        assert spec["params"][0]["views"] == [panel["name"] for panel in spec["vconcat"]]
        again = rows(spec, "Retransmissions")
        for way in ("up", "down"):
            assert len(again.filter(pl.col("to") == way)) == seen["tcp"][way]["resent"]
        load = rows(spec, "Throughput, kbit/s")
        step = load["t"].unique().sort()[1]
        for way in ("up", "down"):
            rates = load.filter(pl.col("direction") == way)
            bits = rates[:-1]["v"].sum() * 1000 * step
            assert rates["t"][-1] == pytest.approx(both["captures"][number]["duration_s"], abs=0.001)
            assert bits == pytest.approx(8 * seen[way]["bytes"], rel=0.01)
        longest = rows(spec, "Delay of data to the client, ms")["v"].max()
        assert longest == pytest.approx(seen["tcp"]["down"]["application_delay_ms"]["max"], rel=0.001)


def test_every_plot_is_valid(text: str) -> None:
    data = over_time(text)
    for each in (*data["timelines"], *data["flows"]):
        made = vl_convert.vegalite_to_vega(each["spec"], vl_version=VEGA_LITE)
        assert {"zoom_t", "width"} <= {signal["name"] for signal in made["signals"]} | set(made)


def test_the_timeline_has_lag_and_load_on_one_axis(text: str, both: Document) -> None:
    timelines = over_time(text)["timelines"]
    assert [each["capture"] for each in timelines] == [0, 1]
    for each, capture in zip(timelines, both["captures"], strict=True):
        lag = rows(each["spec"], "Longest wait of a game, ms")
        assert lag["v"].max() == 904
        assert len(lag) == sum(value > 0 for value in capture["timeline"]["lag_ms"])
        load = rows(each["spec"], "Load of all flows, kbit/s")
        assert load.filter(pl.col("direction") == "up")["v"].max() == 980
        domains = {str(panel["encoding"]["x"]["scale"]["domain"]) for panel in each["spec"]["vconcat"]}
        assert domains == {str([0, capture["duration_s"]])}


def test_the_plots_of_four_thousand_flows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents.many(tmp_path)
    found = _analyzed([str(tmp_path / "many.pcap")], tmp_path)
    text = page(tmp_path, found)
    assert len(over_time(text)["flows"]) == text.count("<option") == capture_plots.MOST
    assert f"; {1000 - capture_plots.MOST} more are only in the tables" in text
    assert len(json.dumps(over_time(text))) < capture_plots.MOST_BYTES
    # The flows with the most trouble stay.
    monkeypatch.setattr(capture_plots, "MOST_BYTES", 40_000)
    few = over_time(page(tmp_path, found))["flows"]
    assert 1 < len(few) < capture_plots.MOST
    assert few == over_time(text)["flows"][: len(few)]
    assert len(json.dumps(few)) < 45_000


@pytest.mark.parametrize("packets", [0, 1, 2])
def test_a_capture_of_no_time_has_a_page(packets: int, tmp_path: Path) -> None:
    found = _analyzed([str(write(tmp_path / "short.pcap", steady(packets, 0)))], tmp_path)
    timeline = {"step_s": 0.25, "lag_ms": [0.0], "up_bps": [0.0], "down_bps": [96.0], "wait": None}
    found["captures"][0]["timeline"] = timeline
    data = over_time(page(tmp_path, found))
    assert len(data["flows"]) == (packets > 0)
    for each in (*data["timelines"], *data["flows"]):
        vl_convert.vegalite_to_svg(each["spec"], vl_version=VEGA_LITE)


def test_silence_is_no_traffic_and_not_a_line_across(tmp_path: Path) -> None:
    packets = steady(100, 50) + steady(100, 50, start_ms=9000)
    found = _analyzed([str(write(tmp_path / "gap.pcap", packets))], tmp_path)
    [shown] = over_time(page(tmp_path, found))["flows"]
    load = rows(shown["spec"], "Packets per second").filter(pl.col("direction") == "down")
    silent = load.filter((pl.col("t") >= 5.25) & (pl.col("t") < 7.75))
    assert len(silent) == 10
    assert set(silent["v"]) == {0.0}
    assert load["v"].max() == 20


def test_the_rtt_of_a_transfer_is_that_of_the_half_that_has_samples(tmp_path: Path) -> None:
    t = [n / 10 for n in range(600)]
    series = [
        ("client", "timestamp", 0.0, t),
        ("server", "acknowledgement", 60.0, t),
        ("server", "both-halves", 61.0, t[:20]),
    ]
    trips = pl.concat(
        [
            pl.DataFrame({"t_s": at, "rtt_ms": [rtt] * len(at)}).with_columns(
                towards=pl.lit(side), method=pl.lit(method), capture=pl.lit(0, pl.UInt8), flow=pl.lit(0, pl.UInt32)
            )
            for side, method, rtt, at in series
        ]
    )
    found = _analyzed([str(write(tmp_path / "one.pcap", steady(1200, 50)))], tmp_path)
    trips.write_parquet(tmp_path / "rtt.parquet")
    [shown] = over_time(page(tmp_path, found))["flows"]
    assert set(rows(shown["spec"], "RTT to the server, ms")["v"]) == {60.0}


DRIVER = """
<script>
(async () => {
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const shown = (place) => drawn.get(place).view.signal("zoom_t");
  const at = (canvas) => {
    const box = canvas.getBoundingClientRect();
    return { clientX: box.left + box.width / 2, clientY: box.top + 60, bubbles: true, cancelable: true, view: window };
  };
  while (drawn.size < document.querySelectorAll(".over-time").length) await wait(50);
  const found = {};
  const [timeline, other] = document.querySelectorAll("[data-timeline]");
  const wheel = () => { const canvas = plots.querySelector("canvas");
    canvas.dispatchEvent(new WheelEvent("wheel", { ...at(canvas), deltaY: -300 })); };
  found.width = plots.clientWidth;
  found.cut = [...document.querySelectorAll(".cards")].map((table) => table.parentElement)
    .filter((place) => place.scrollWidth > place.clientWidth).length;
  found.canvas = plots.querySelector("canvas").clientWidth;
  wheel(); await wait(200);
  found.before_click = shown(plots) ?? null;
  const canvas = plots.querySelector("canvas");
  canvas.dispatchEvent(new PointerEvent("pointermove", at(canvas)));
  canvas.dispatchEvent(new PointerEvent("pointerdown", at(canvas)));
  window.dispatchEvent(new PointerEvent("pointerup", at(canvas)));
  wheel(); await wait(200);
  found.wheel = shown(plots);
  found.panels = plots.querySelectorAll("canvas").length && drawn.get(plots).view
    && ["panel0_x", "panel2_x"].map((name) => drawn.get(plots).view.scale(name).domain());
  found.timeline = shown(timeline);
  found.other_capture = shown(other) ?? null;
  pick.value = "2"; pick.dispatchEvent(new Event("change")); await wait(500);
  found.after_pick = shown(plots);
  const now = plots.querySelector("canvas");
  now.dispatchEvent(new MouseEvent("dblclick", at(now))); await wait(200);
  found.reset = shown(plots) ?? null;
  found.timeline_reset = shown(timeline) ?? null;
  document.getElementById("zoom-in").click(); await wait(200);
  found.button = shown(plots);
  document.getElementById("zoom-all").click(); await wait(200);
  found.all = shown(plots) ?? null;
  const result = document.createElement("pre");
  result.id = "found"; result.textContent = JSON.stringify(found);
  document.body.append(result);
})();
</script>
"""


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_zooms_all_plots_of_a_capture(width: int, text: str, both: Document, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(text.removesuffix("</body>\n</html>") + f"{DRIVER}</body></html>", encoding="utf-8")
    dom = opened(path, tmp_path / "profile", width=width)
    assert ">This plot could not be drawn" not in dom
    assert dom.count("<canvas") == 2 + 1 + 2  # timelines, the picked flow, time until the acknowledgement
    told = re.search(r'<pre id="found">(.*?)</pre>', dom)
    assert told
    found = json.loads(told.group(1))
    assert 0 < found["width"] - found["canvas"] < 30
    assert found["cut"] == 0
    duration = both["captures"][0]["duration_s"]
    assert found["before_click"] is None
    start, end = found["wheel"]
    assert 0 < start < end < duration
    assert end - start < 0.8 * duration
    assert found["panels"] == [found["wheel"]] * 2
    assert found["timeline"] == found["wheel"] == found["after_pick"]
    assert found["other_capture"] is None
    assert found["reset"] is None
    assert found["timeline_reset"] is None
    assert found["button"] == pytest.approx([0.2 * duration, 0.8 * duration])
    assert found["all"] is None
