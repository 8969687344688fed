"""What a folder of results promises: every file is whole, and is as its manifest says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl

from gamelane.whole import PREFIX
from tests.cli.command import gamelane

MANIFESTS = ("manifest.json", "analysis.json")


def whole_or_absent(folder: Path) -> None:
    """Check that a folder has no part of a file, and that every file its manifest lists is there as listed."""
    assert not leftovers(folder)
    for path in folder.rglob("*"):
        if path.suffix == ".pcapng":
            assert gamelane("analyze", path, "--json").returncode == 0
        else:
            whole(path)
    listed(folder)


def leftovers(folder: Path) -> list[str]:
    """Return temporary files and folders, which exist while a command runs."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(f"{PREFIX}*"))


def whole(path: Path) -> None:
    """Check that a file is whole, by how its kind ends."""
    if path.suffix == ".parquet":
        pl.read_parquet(path)
    elif path.suffix == ".json":
        json.loads(path.read_text())
    elif path.suffix == ".html":
        assert path.read_text().rstrip().endswith("</html>")
    elif path.suffix == ".svg":
        assert path.read_text().rstrip().endswith("</svg>")
    elif path.suffix == ".png":
        assert path.read_bytes().endswith(b"IEND\xaeB`\x82")


def listed(folder: Path) -> list[str]:
    """Return the files that the manifest lists, if there is one, after comparing each with its entry."""
    names = []
    for manifest in (folder / name for name in MANIFESTS):
        for entry in json.loads(manifest.read_text())["files"] if manifest.exists() else ():
            content = (folder / entry["name"]).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
            names.append(entry["name"])
    return names
