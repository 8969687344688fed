"""What a page adds to its plots: values under the pointer, one zoom, legends that switch, sections to link to."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from gamelane import Results
from gamelane.plot.images import VEGA_LITE
from gamelane.report import pages
from gamelane.report.figures import figures
from gamelane.report.html import page
from gamelane.report.interactive import axis, interactive, values
from gamelane.report.outline import outlined
from tests.browser import needs_browser, opened


@pytest.fixture(scope="module")
def text(queues: Results) -> str:
    return page(queues)


def test_every_plot_has_the_signals_that_the_page_sets(queues: Results) -> None:
    for figure in figures(queues):
        for spec in pages.panels([figure]).values():
            made = vl_convert.vegalite_to_vega(spec, vl_version=VEGA_LITE)
            signals = {signal["name"] for signal in made["signals"]}
            [field] = {axis(panel.chart.to_dict()) for panel in figure.panels}
            assert {"hidden", f"zoom_{field}"} <= signals, figure.name


def test_tooltips_name_what_they_show_with_its_unit(queues: Results) -> None:
    [figure] = [figure for figure in figures(queues) if figure.name == "throughput-up"]
    layers = interactive(figure.panels[0].chart.to_dict())["layer"]
    assert [[of["title"] for of in layer["encoding"].get("tooltip", [])] for layer in layers] == [
        [],
        ["flow", "s", "kbit/s"],
    ]


def test_a_legend_knows_the_values_of_its_entries(queues: Results) -> None:
    found = {figure.name: [values(figure, key) for key in figure.legend] for figure in figures(queues)}
    assert found["ecdf-quake3"] == [["fifo"], ["fq_codel"]]
    assert found["throughput-up"] == [["quake3"], ["upload"]]
    assert found["backlog"] == [["up"], ["down"]]


def test_words_on_an_axis_are_not_zoomed() -> None:
    spec = {"data": {"values": []}, "mark": "bar", "encoding": {"x": {"field": "a", "type": "nominal"}}}
    assert "params" not in interactive(spec)["layer"][0]


def test_every_section_has_a_link_and_an_entry_in_the_contents(text: str) -> None:
    ids = re.findall(r'<section[^>]* id="([^"]+)"', text)
    assert len(set(ids)) == len(ids) == text.count("<section")
    assert re.findall(r'<li><a href="#([^"]+)">', text) == ids
    assert re.findall(r'<a class="permalink" href="#([^"]+)"', text) == ids


def test_sections_of_one_title_have_different_links() -> None:
    shown = outlined("<section><h2>A &amp; b</h2></section>" * 2 + '<section id="own"><h2>A</h2></section>')
    assert re.findall(r'<section id="([^"]+)"', shown) == ["a-b", "a-b-2", "own"]


def test_a_reader_without_scripts_sees_every_figure(queues: Results, text: str) -> None:
    pictures = re.findall(r"<noscript><svg .*?</svg></noscript>", text, re.DOTALL)
    assert len(pictures) == len(figures(queues))
    names = [name for picture in pictures for name in set(re.findall(r' id="([^"]+)"', picture))]
    assert len(set(names)) == len(names)


DRIVEN = """
const rows = () => [...document.querySelector("main table").tBodies[0].rows].map((row) => row.cells[3].innerText);
const shown = (figure, signal) =>
  [...views].filter(([place]) => place.closest("section").id === figure).map(([, view]) => view.signal(signal));
async function drive() {
  document.querySelector("#throughput-up [data-zoom='0.6']").click();
  document.querySelector("#throughput-up [data-values]").click();
  await Promise.all([...views.values()].map((view) => view.runAsync()));
  keep("zoomed", shown("rtt-quake3", "zoom_t"));
  keep("alone", shown("ecdf-quake3", "zoom_x"));
  keep("hidden", shown("throughput-up", "hidden"));
  const heading = document.querySelectorAll("main table thead th")[2].querySelector("button");
  heading.click();
  keep("up", [heading.parentElement.ariaSort, rows()]);
  heading.click();
  keep("down", [heading.parentElement.ariaSort, rows()]);
}"""


@needs_browser
def test_a_browser_zooms_switches_and_sorts(text: str, tmp_path: Path) -> None:
    found = _driven(text, DRIVEN, tmp_path)
    assert all(extent[0] > 0 and extent[1] < 6 for extent in found["zoomed"])
    assert len({str(extent) for extent in found["zoomed"]}) == 1
    assert found["alone"] == [None]
    assert found["hidden"] == [["quake3"], ["quake3"]]
    assert found["up"][0] == "ascending"
    assert found["down"] == ["descending", found["up"][1][::-1]]


READ = """
async function drive() {
  const place = document.querySelector("#throughput-up [data-panel]");
  const press = (key) => {
    place.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    return document.querySelector("[role=status]").textContent;
  };
  place.focus();
  keep("focused", document.activeElement === place);
  keep("ignored", press("ArrowDown"));
  keep("read", ["Home", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowDown", "End", "ArrowRight"].map(press));
  keep("tooltip", document.getElementById("vg-tooltip-element").innerText);
  const { left, top, height } = place.querySelector("canvas").getBoundingClientRect();
  press("Escape");
  const at = { clientX: left + 120, clientY: top + height / 2, bubbles: true };
  place.querySelector("canvas").dispatchEvent(new PointerEvent("pointermove", at));
  keep("pointed", document.getElementById("vg-tooltip-element").innerText);
  document.querySelector("#throughput-up [data-values]").click();
  await views.get(place).runAsync();
  keep("switched", press("Home"));
  keep("ended", [press("Escape"), document.querySelector("#throughput-up .reading").hidden]);
}"""


@needs_browser
def test_values_are_read_by_keyboard(text: str, tmp_path: Path) -> None:
    found = _driven(text, READ, tmp_path)
    assert found["focused"]
    assert found["ignored"] == ""
    first, second, back, stopped, other, last, end = found["read"]
    assert first.startswith("flow quake3, s 0, kbit/s ")
    assert second.startswith("flow quake3, s 1, kbit/s ")
    assert first == back == stopped
    assert other.startswith("flow upload, s 0, kbit/s ")
    assert last == end
    assert last.startswith("flow upload, s 5, kbit/s ")
    assert found["tooltip"].split() == last.replace(",", "").split()
    assert found["pointed"].split()[:2] == ["flow", "quake3"]
    assert found["switched"] == other
    assert found["ended"] == ["", True]


def _driven(text: str, script: str, folder: Path) -> dict[str, Any]:
    """Return what a script has kept in a page, once the plots were drawn."""
    begin = """
    const keep = (name, value) => { document.body.dataset[name] = JSON.stringify(value); };
    const drawn = async () => {
      while (views.size < Object.keys(panels).length) await new Promise((done) => setTimeout(done, 20));
    };"""
    (folder / "page.html").write_text(f"{text}<script>{begin}{script} drawn().then(drive);</script>")
    body = re.search("<body[^>]*>", opened(folder / "page.html", folder / "profile"))
    assert body
    return {name: json.loads(html.unescape(value)) for name, value in re.findall(r'data-(\w+)="([^"]*)"', body[0])}
