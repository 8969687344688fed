"""`gamelane presets`: lists what `--plan`, `--with`, `--policy`, `--router` and a household's name can be."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.table import Table
from rich.text import Text

from gamelane import _native
from gamelane.errors import UsageError, did_you_mean
from gamelane.terminal.talk import emit, say, stdout

TITLES = {
    "with": "--with: games and other applications",
    "plan": "--plan: access plans",
    "policy": "--policy: what the gateway does",
    "router": "--router: what shapes",
    "household": "households: gamelane run NAME",
}
SHAPES = {
    "policy": "what the gateway shapes to, as a share of the link's rates; without it nothing is shaped",
    "router": "the most that it shapes, both directions together",
}
"""What `shape` means in a file."""
WIDE_PLAN = "fibre-1000-500"
"""A plan on which every application has what it asks for."""


def presets(word: str | None, json: bool) -> None:
    """List presets, or explain one."""
    known = _native.presets()
    chosen = known if word is None else [each for each in known if word in (each["name"], each["word"], each["group"])]
    if not chosen:
        words = dict.fromkeys(name for each in known for name in (each["word"], each["group"], each["name"]) if name)
        raise UsageError(
            f"{word}: no such preset\n"
            f"  allowed: a preset, or one of {', '.join(dict.fromkeys(each['word'] for each in known))}"
            f"{did_you_mean(word or '', words)}"
        )
    if json:
        emit({"schema": 1, "presets": [each | {"asks_bps": _asks(each)} for each in chosen]})
    elif len(chosen) == 1 and chosen[0]["name"] == word:
        _explain(chosen[0])
    else:
        for kind, of_kind in groupby(chosen, key=lambda each: each["word"]):
            _list(kind, of_kind)
        say("`gamelane presets NAME` explains one, with the source of each number")


def _asks(preset: _native.PresetDescription) -> dict[str, float] | None:
    """Return the rates that an application asks for, without transfers."""
    if preset["word"] != "with":
        return None
    words = [("plan", WIDE_PLAN), ("with", preset["name"])]
    up, down = _native.Scenario.parse("", "preset", words).offered_bps()
    return {"up": up, "down": down}


def _list(kind: str, of_kind: Iterable[_native.PresetDescription]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=TITLES[kind], title_justify="left")
    columns = ["name", "what", *(["down", "up"] if kind == "with" else []), *(["label"] if kind != "household" else [])]
    for column in columns:
        table.add_column(column, no_wrap=column != "what", justify="right" if column in ("down", "up") else "left")
    group = ""
    for preset in _by_group(of_kind):
        if preset["group"] != group:
            group = preset["group"]
            table.add_row(Text(group, style="bold"))
        asks = _asks(preset)
        rates = [_mbit(asks["down"]), _mbit(asks["up"])] if asks else []
        what = f"{preset['title']}: {preset['notes']}" if kind == "household" else preset["title"]
        label = [preset["label"] or ""] if kind != "household" else []
        table.add_row(preset["name"], what, *rates, *label)
    stdout().print(table)
    stdout().print()


def _by_group(presets: Iterable[_native.PresetDescription]) -> list[_native.PresetDescription]:
    """Return the presets group by group, in the order in which the groups first appear."""
    groups: dict[str, list[_native.PresetDescription]] = {}
    for preset in presets:
        groups.setdefault(preset["group"], []).append(preset)
    return [preset for group in groups.values() for preset in group]


def _mbit(bps: float) -> str:
    return f"{bps / 1e6:.2f}" if bps else ""


def _explain(preset: _native.PresetDescription) -> None:
    out = stdout()
    label = f" [{preset['label']}]" if preset["label"] else ""
    out.print(f"{preset['title']}{label}", style="bold", highlight=False)
    if preset["notes"]:
        out.print(preset["notes"], highlight=False)
    facts = _facts(preset)
    if facts:
        out.print()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for name, value in facts:
            table.add_row(name, value)
        out.print(table)
    text = _expanded(preset).strip()
    if text:
        out.print()
        out.out(text, highlight=False)
    if preset["word"] != "with" and preset["sources"]:
        out.print()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for key, source in preset["sources"].items():
            table.add_row(key, source)
        out.print(table)


def _facts(preset: _native.PresetDescription) -> list[tuple[str, str]]:
    facts = []
    if asks := _asks(preset):
        rates = (f"{_mbit(asks[way])} Mbit/s {way}" for way in ("down", "up") if asks[way])
        facts.append(("asks for", ", ".join(rates) or "as much as it gets"))
    if preset["word"] in SHAPES and "\nshape = " in (preset["file"] or ""):
        facts.append(("shape", SHAPES[preset["word"]]))
    if preset["ports"]:
        facts.append(("server ports", ", ".join(preset["ports"])))
    if quality := preset["quality"]:
        facts.append(
            (
                "99 % of round trips",
                f"good up to {quality['good_ms']} ms, playable up to {quality['playable_ms']} ms, "
                f"bad above {quality['bad_ms']} ms",
            )
        )
    if preset["remember"]:
        facts.append(("remember", preset["remember"]))
    return facts


def _expanded(preset: _native.PresetDescription) -> str:
    """Return the keys that the preset stands for; those of an application with the sources of its numbers."""
    if preset["word"] == "with":
        words = [("plan", WIDE_PLAN), ("with", preset["name"])]
        return _sections(_native.Scenario.parse("", "preset", words).show(), "[[flow]]")
    said = ("title =", "notes =", "question =", "remember =")
    keys = (preset["file"] or "").partition("[source]")[0].splitlines()
    return "\n".join(line for line in keys if not line.startswith(said))


def _sections(text: str, table: str) -> str:
    """Return the part of a printed scenario that begins like `table`, with its comments."""
    kept: list[str] = []
    comments: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("#"):
            comments.append(line)
            continue
        if line.startswith("["):
            inside = line.startswith(table) or (inside and line.startswith(f"[{table.strip('[]')}."))
        if inside:
            kept += [*comments, line]
        comments = []
    return "\n".join(kept)
