#!/usr/bin/env python3
"""Builds what people install, into dist/: wheels, archives of static programs, Debian packages, files for OpenWrt.

It builds the last commit. Two builds of a commit with one release of Rust give the same bytes. The first build takes
about ten minutes and 2 GB of disk for each architecture; later ones compile only what changed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

from packages import layout
from packages.build import ROOT, Build, install

ARCHITECTURES = ("x86_64", "aarch64")
TOOLS = ("cargo", "git", "gzip", "rustup", "tar")


def make(build: Build, arch: str) -> None:
    """Make everything for an architecture."""
    programs = build.programs(arch)
    licences, sbom = build.contents(arch)
    install(sbom, build.made, name=f"gamelane-{build.version}-{arch}.cdx.json")
    build.wheel(arch, programs, licences)
    layout.archive(build, arch, programs, licences)
    layout.debian(build, arch, programs, licences)
    layout.openwrt(build, arch, programs, licences)


def finish(build: Build, out: Path) -> str:
    """Move all that was made to its place, in place of what an earlier build made. Return the checksums."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(build.made.iterdir())]
    (build.made / "SHA256SUMS").write_text("".join(lines))
    (build.made / "COMMIT").write_text(f"{build.commit}\n")
    out.mkdir(parents=True, exist_ok=True)
    if (earlier := out / "SHA256SUMS").exists():
        for line in earlier.read_text().splitlines():
            (out / line.split("  ")[1]).unlink(missing_ok=True)
    for path in build.made.iterdir():
        shutil.move(path, out / path.name)
    return "".join(lines)


def main() -> None:
    """Build for each architecture."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument(
        "--arch",
        action="append",
        choices=ARCHITECTURES,
        help="build only for this architecture; repeatable (default: all)",
    )
    arguments.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for what is made (default: dist)")
    arguments.add_argument(
        "--work", type=Path, default=ROOT / "target/packages", help="folder for builds (default: target/packages)"
    )
    given = arguments.parse_args()
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        sys.exit(f"dist: needs {', '.join(missing)}; rustup adds Rust's library for each architecture")
    build = Build(given.work.resolve())
    build.work.mkdir(parents=True, exist_ok=True)
    with (build.work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"dist: another one builds in {build.work}\n  hint:    wait for it, or choose another --work DIR")
        build.prepare()
        for arch in given.arch or ARCHITECTURES:
            make(build, arch)
        sys.stdout.write(finish(build, given.out.resolve()))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
