"""Real engines inside a guest kernel, in virtual time: `--vm`. Needs neither root nor hardware support.

A guest is one process (`kinds.Guest`). It sees the host's files read-only, and writes to one folder. Each case boots a
guest of its own: a boot takes less than a second, and cases cannot influence each other.
"""
