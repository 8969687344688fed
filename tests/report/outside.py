"""What a page would load when it is opened."""

from __future__ import annotations

import re


def loaded_from_elsewhere(text: str) -> list[str]:
    """Return the addresses and the elements that are not in the page itself. Pictures in `data:` are."""
    without_scripts = re.sub(r"<script\b[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    elements = re.findall(r'<(?:link|iframe|object|img(?![^>]* src="data:))[^>]*>', without_scripts)
    return [*elements, *re.findall(r"<script[^>]+src[^>]*>", text), *re.findall(r"\w+://[^\s<]*", without_scripts)]
