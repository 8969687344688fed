"""What a test needs of its machine. Where it is missing a test is skipped with the reason; under CI=true, it fails.

Nothing is green by absence there: `.ci/run` installs what is named here, and has the privileges.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI") == "true"


def needs(there: object, reason: str) -> pytest.MarkDecorator:
    """Mark a test, or a module, that fails of itself without what it needs."""
    return pytest.mark.skipif(not there and not IN_CI, reason=reason)


def lacking(reason: str) -> NoReturn:
    """Give up from within a test or a fixture."""
    if IN_CI:
        pytest.fail(f"{reason}: CI must have it", pytrace=False)
    pytest.skip(reason)
