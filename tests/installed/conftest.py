"""What the tests share: the archive of the static programs, unpacked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.installed.places import MACHINE, made


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    archive = made(f"gamelane-*-{MACHINE}-linux.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], check=True)
    return folder
