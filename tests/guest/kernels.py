"""Kernels of other releases of Debian, for guests. Each release has folders of apt of its own, which know only it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gamelane.guest import cloud
from gamelane.guest.uml import cache
from tests.cli.command import GAMELANE
from tests.needs import lacking

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SETTINGS = """
Dir::Etc::SourceList "{folder}/sources";
Dir::Etc::SourceParts "-";
Dir::Etc::PreferencesParts "-";
Dir::State::Lists "{folder}/lists";
Dir::State::Status "{folder}/installed";
Dir::Cache "{folder}/packages";
Acquire::Retries "3";
"""


def of(release: str) -> cloud.Kernel:
    """Return the newest kernel of a release of Debian, which is fetched if it is not there."""
    folder = cache() / "releases" / release
    here = {"XDG_CACHE_HOME": str(folder), "APT_CONFIG": str(folder / "apt")}
    kernel = cloud.Kernel(folder / "gamelane" / cloud.NAME)
    if kernel.config.exists() and cloud.mark() in kernel.config.read_text():
        return kernel
    for each in ("lists/partial", "packages/archives/partial"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    (folder / "sources").write_text(f"deb [signed-by={KEYS}] http://deb.debian.org/debian {release} main\n")
    (folder / "installed").touch()
    (folder / "apt").write_text(SETTINGS.format(folder=folder))
    for words in (["apt-get", "update", "-qq", "--error-on=any"], [GAMELANE, "doctor", "--fetch-kernel"]):
        _run(words, here, release)
    return kernel


def _run(words: list[str], more: dict[str, str], release: str) -> None:
    try:
        done = subprocess.run(
            words, env={**os.environ, **more}, capture_output=True, text=True, check=False, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        lacking(f"no kernel of Debian's {release}: {error}")
    if done.returncode != 0:
        lacking(f"no kernel of Debian's {release}: {Path(words[0]).name} said {done.stderr.strip()[-300:]}")
