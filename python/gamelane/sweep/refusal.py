"""Refusals of a sweep file, in the format of scenario errors: file, line, key, value, what is allowed, a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gamelane.errors import ScenarioError, UsageError, nearest


class SweepError(UsageError):
    """A sweep file was refused."""


@dataclass(frozen=True)
class Source:
    """The text of a sweep file, for errors about it."""

    path: Path
    text: str

    def refuse(
        self,
        key: str,
        message: str,
        *,
        given: object = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> SweepError:
        """Return the error for `key`, given as a path from the top of the file: `axes.link.rtt`."""
        line = self.line(key)
        text = f"`{key}` in {self.path}{f', line {line}' if line else ''}: {message}"
        if given is not None:
            text += f"\n  given:   {given}"
        if allowed is not None:
            text += f"\n  allowed: {allowed}"
        if hint is not None:
            text += f"\n  hint:    {hint}"
        return SweepError(text)

    def unknown(self, key: str, given: str, known: Iterable[str], message: str = "unknown key") -> SweepError:
        """Return the error for an unknown word, with the closest known one as a hint."""
        words = list(known)
        return self.refuse(key, message, allowed=", ".join(words) or None, hint=nearest(given, words))

    def from_scenario(self, key: str, value: str, refusal: ScenarioError, *, hint: str | None = None) -> SweepError:
        """Return a scenario's error about an override as an error of the sweep file."""
        return self.refuse(key, said(refusal), given=value, allowed=refusal.allowed, hint=refusal.hint or hint)

    def line(self, key: str) -> int | None:
        """Return the first line that sets the key, or the longest end of it that the file has, or opens its table."""
        for start in range(key.count(".") + 1):
            name = re.escape(key.split(".", start)[-1])
            pattern = rf"^\s*(?:[\"']?{name}[\"']?\s*=|\[\[?{name}\]?\])|[{{,]\s*[\"']?{name}[\"']?\s*="
            found = re.search(pattern, self.text, re.MULTILINE)
            if found:
                return self.text.count("\n", 0, found.start() + len(found.group()) - len(found.group().lstrip())) + 1
        return None


def said(refusal: ScenarioError) -> str:
    """Return the complaint of a scenario error without its place."""
    first = str(refusal).splitlines()[0]
    return re.sub(r"^(, line \d+)?: ", "", first.partition(refusal.file)[2]) or first
