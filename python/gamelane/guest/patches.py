"""Changes to Linux's source for the guest kernel. Each has to be found exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gamelane.errors import LabError


@dataclass(frozen=True)
class Patch:
    """Replaces text in one file of the source."""

    file: str
    old: str
    new: str

    def apply(self, source: Path) -> None:
        """Change the file, unless it is changed already."""
        path = source / self.file
        text = path.read_text(encoding="utf-8")
        if self.new in text:
            return
        if text.count(self.old) != 1:
            raise LabError(f"{self.file}: this source is not the one that gamelane knows how to change")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


TICKS = Patch("arch/um/Kconfig", "config HZ\n\tint\n\tdefault 100\n", "config HZ\n\tint\n\tdefault 1000\n")
"""Timers of TCP and PIE count ticks, and kernels of today have 250 or 1000 per second."""
VECTORS = Patch("arch/x86/um/user-offsets.c", "HOST_FP_SIZE, 2696", "HOST_FP_SIZE, 12288")
"""Processors with AMX have 11 KB of vector state. Without this the first process dies of a fault."""
CHANCE = Patch(
    "arch/um/os-Linux/util.c",
    "ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n{\n\treturn getrandom(buf, len, flags);\n}",
    """ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	/* gamelane: with GAMELANE_SEED, all of chance comes from it, so that runs repeat (SplitMix64). */
	static unsigned long long state;
	static int seeded;
	const char *seed = getenv("GAMELANE_SEED");
	unsigned char *to = buf;
	size_t at;

	if (!seed)
		return getrandom(buf, len, flags);
	if (!seeded) {
		state = strtoull(seed, NULL, 10);
		seeded = 1;
	}
	for (at = 0; at < len; at += 8) {
		unsigned long long z = (state += 0x9E3779B97F4A7C15ULL);

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
		z ^= z >> 31;
		memcpy(to + at, &z, len - at < 8 ? len - at : 8);
	}
	return len;
}""",
)
"""Chance in the guest follows the seed of the run: PIE's drops, losses, hashes of flows."""
PATCHES = (TICKS, VECTORS, CHANCE)
