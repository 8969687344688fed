"""A page as a real browser without a network makes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.needs import needs

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_browser = needs(BROWSER, "chromium is missing: apt-get install chromium")


def opened(page: Path, profile: Path, *, width: int = 1000) -> str:
    """Return the elements of a page after its scripts have run."""
    assert BROWSER, "chromium is missing"
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}", "--virtual-time-budget=20000", f"--window-size={width},800",
        "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
