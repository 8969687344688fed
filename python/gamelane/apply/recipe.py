"""What one target (`tc`, OpenWrt, gamelane's gateway) gets to put a gateway's setting into effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """Shell lines for one target. `apply` follows `undo`, and the whole can be pasted again at any time."""

    target: str
    edit: tuple[str, ...] = ()
    """Variables that name this machine's interfaces and ports, to edit first."""
    undo: tuple[str, ...] = ()
    """Lines that end what an earlier run set up. After `edit`, they alone undo everything."""
    apply: tuple[str, ...] = ()
    """Lines that put the setting into effect. Empty if the target cannot express the setting."""
    unsaid: tuple[str, ...] = ()
    """Sentences: what of the setting the lines leave out."""

    @property
    def matches(self) -> bool:
        """Whether the lines do all that the setting says."""
        return bool(self.apply) and not self.unsaid

    def lines(self) -> list[str]:
        """Return the text to paste, with comments."""
        missing = "These lines do not match the setting:" if self.apply else f"There are no {self.target} lines:"
        found = [f"# {missing} {sentence}" for sentence in self.unsaid]
        if not self.apply:
            return found
        found += self.edit
        if self.undo:
            found += [
                "",
                "# End what an earlier run set up. To undo everything, paste only the lines above and this block.",
            ]
            found += self.undo
        return [*found, "", *self.apply]

    def document(self) -> dict[str, Any]:
        """Return the JSON of this recipe."""
        return {
            "matches": self.matches,
            "unsaid": list(self.unsaid),
            "edit": list(self.edit),
            "undo": list(self.undo),
            "apply": list(self.apply),
        }
