"""The container file makes an image of the command, and one of the static programs alone.

No image can be fetched here, so a small Debian stands in for the one that both begin with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installed.places import MACHINE, ROOT, download, made, packed_debian
from tests.needs import lacking

PROGRAMS = [f"gamelane-{name}" for name in ("capture", "gateway", "impair", "proxy", "traffic")]
BASE = "docker.io/library/python:3.13-slim"
STORAGE = """\
[storage]
driver = "vfs"
graphroot = "{0}/graph"
runroot = "{0}/run"
"""
WITHOUT_NETWORK = """\
[global]
no-index = true
find-links = /wheels
"""


class Images:
    """Images in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._containers: dict[str, str] = {}
        (folder / "storage.conf").write_text(STORAGE.format(folder))

    def buildah(self, *words: str | Path) -> str:
        storage = {"CONTAINERS_STORAGE_CONF": f"{self._folder}/storage.conf", "BUILDAH_ISOLATION": "chroot"}
        done = subprocess.run(
            ["buildah", *map(str, words)],
            cwd=ROOT,
            env=os.environ | storage,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def build(self, name: str, *words: str | Path) -> None:
        file = ROOT / "packaging/container/Containerfile"
        self.buildah("build", "--pull=never", "--layers=false", "-q", *words, "-t", name, "-f", file, ".")

    def run(self, name: str, *words: str) -> str:
        if name not in self._containers:
            self._containers[name] = self.buildah("from", "--pull=never", name)
        return self.buildah("run", self._containers[name], "--", *words)


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    if os.geteuid() != 0 or not shutil.which("buildah"):
        lacking("needs root and buildah")
    if made("COMMIT").parent != ROOT / "dist":
        lacking("a container is built from dist/")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        download(made(f"gamelane-*{MACHINE}.whl"), folder / "wheels")
        (folder / "pip.conf").write_text(WITHOUT_NETWORK)
        all_of_them = Images(folder)
        base = all_of_them.buildah("from", "scratch")
        all_of_them.buildah("add", "-q", base, packed_debian("python3-venv"), "/")
        all_of_them.buildah("copy", "-q", base, folder / "pip.conf", "/etc/pip.conf")
        all_of_them.buildah("commit", "-q", "--rm", base, BASE)
        all_of_them.build("programs", "--target", "programs")
        all_of_them.build("gamelane", "--volume", f"{folder}/wheels:/wheels:ro")
        yield all_of_them


def test_the_command_simulates(images: Images) -> None:
    told = images.run("gamelane", "gamelane", "run", "household", "--set", "duration=5s", "-q", "--json")
    assert json.loads(told)["scenario"]["name"] == "household"


def test_the_command_is_the_entry(images: Images) -> None:
    described = json.loads(images.buildah("inspect", "--type=image", "gamelane"))
    assert described["OCIv1"]["config"]["Entrypoint"] == ["gamelane"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("image", ["gamelane", "programs"])
def test_an_image_has_every_program(images: Images, image: str, program: str) -> None:
    assert images.run(image, program, "--version").startswith(f"{program} ")
