"""Nothing is green by absence in CI."""

from __future__ import annotations

import pytest

from tests import needs


@pytest.mark.parametrize(("in_ci", "ending"), [(True, pytest.fail.Exception), (False, pytest.skip.Exception)])
def test_what_is_lacking_fails_in_ci_and_is_skipped_elsewhere(
    monkeypatch: pytest.MonkeyPatch, in_ci: bool, ending: type[BaseException]
) -> None:
    monkeypatch.setattr(needs, "IN_CI", in_ci)
    with pytest.raises(ending, match="no kernel"):
        needs.lacking("no kernel")
    assert needs.needs(None, "no kernel").args == (not in_ci,)
    assert needs.needs("/usr/bin/tshark", "there").args == (False,)
