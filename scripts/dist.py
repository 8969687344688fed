#!/usr/bin/env python3
"""Builds what people install, into dist/: wheels with all programs, and archives of the static programs.

It builds the last commit. Two builds of a commit with one release of Rust give the same bytes. The first build takes
about ten minutes and 2 GB of disk for each architecture; later ones compile only what changed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURES = ("x86_64", "aarch64")
GATEWAY = "gamelane-gateway"
PROGRAMS = {GATEWAY: "gateway", "gamelane-impair": "impair", "gamelane-traffic": "generator", "gamelane-proxy": "proxy"}
"""Programs, and the folder of `crates` of each."""
UNITS = ("gamelane-gateway@.service", "gamelane-queues@.service", "gamelane-proxy@.service")
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
LINKED = ("-Clinker=rust-lld", "-Clinker-flavor=ld.lld", "-Clink-arg=--icf=all", "-Clink-arg=--pack-dyn-relocs=relr")
"""Equal functions once, and short tables of relocations: a tenth of a program."""
NO_UNWINDING = ("-Cforce-unwind-tables=no", "-Clink-arg=--no-eh-frame-hdr")
TOOLS = ("cargo", "git", "gzip", "rustup", "tar")


@dataclass(frozen=True)
class Build:
    """A build of the last commit, in a folder that later builds use again."""

    work: Path
    out: Path

    @cached_property
    def epoch(self) -> str:
        """Time of the commit: the time of every file that is made."""
        return _read("git", "-C", self.source, "log", "-1", "--format=%ct")

    @cached_property
    def commit(self) -> str:
        """The commit that is built."""
        return _read("git", "-C", self.source, "rev-parse", "HEAD")

    @cached_property
    def version(self) -> str:
        """Version of all crates and the Python package."""
        cargo = tomllib.loads((self.source / "Cargo.toml").read_text())
        return str(cargo["workspace"]["package"]["version"])

    @property
    def source(self) -> Path:
        """A clone: nothing but the commit gets into a build, and programs can be laid into the wheel's folder."""
        return self.work / "source"

    @property
    def made(self) -> Path:
        """Folder of what is made, until all of it is whole."""
        return self.work / "made"

    @property
    def tools(self) -> Path:
        """Folder of the tools' programs."""
        return self.work / "tools/bin"

    def prepare(self) -> None:
        """Copy the commit and install the tools."""
        if changed := _read("git", "-C", ROOT, "status", "--porcelain").splitlines():
            _say(f"builds the last commit, without {len(changed)} changed files")
        shutil.rmtree(self.made, ignore_errors=True)
        self.made.mkdir(parents=True)
        if not (self.source / ".git").exists():
            _run(["git", "init", "-q", self.source])
        # Files that have not changed keep their times, so cargo does not compile them again.
        git = ["git", "-C", self.source]
        _run([*git, "fetch", "-q", "--update-shallow", ROOT, "HEAD"])
        _run([*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD"])
        _run([*git, "clean", "-q", "-dffx"])
        wanted = (self.source / "packaging/requirements.txt").read_text()
        installed = self.work / "tools/requirements.txt"
        if not installed.exists() or installed.read_text() != wanted:
            venv.create(self.work / "tools", with_pip=True, clear=True)
            _run([self.tools / "pip", "install", "-q", "-r", self.source / "packaging/requirements.txt"])
            installed.write_text(wanted)

    def programs(self, arch: str) -> Path:
        """Build the static programs and return their folder."""
        target, folder = f"{arch}-unknown-linux-musl", self.work / "programs" / arch
        self._add(target)
        script = self.source / "packaging/static/no-unwinding.ld"
        # The gateway alone: cargo gives all crates of one build the features that any of them asks for.
        with _step(f"{GATEWAY} for {arch}"):
            self._cargo(target, "router", [PROGRAMS[GATEWAY]], (*LINKED, *NO_UNWINDING, f"-Clink-arg=-T{script}"))
        others = [crate for name, crate in PROGRAMS.items() if name != GATEWAY]
        with _step(f"the other programs for {arch}"):
            self._cargo(target, "dist", others, LINKED)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in PROGRAMS:
            built = self.work / "target" / target / ("router" if name == GATEWAY else "dist") / name
            shutil.copy(built, folder / name)
        return folder

    def wheel(self, arch: str, programs: Path) -> None:
        """Build the wheel, which holds the programs, too."""
        target = f"{arch}-unknown-linux-gnu"
        self._add(target)
        # pip installs what is in this folder beside the `gamelane` command.
        shutil.copytree(programs, self.source / "packaging/wheel/scripts", dirs_exist_ok=True)
        with _step(f"the wheel for {arch}"):
            words = ["--release", "--zig", "--target", target, "--compatibility", "manylinux2014", "--locked"]
            _run([self.tools / "maturin", "build", "-q", *words, "-o", self.made], self.source, self._environment())

    def archive(self, arch: str, programs: Path) -> None:
        """Pack the static programs with manual pages, units and licences, to unpack over /usr/local."""
        name = f"gamelane-{self.version}-{arch}-linux"
        top = self.work / "archives" / name
        shutil.rmtree(top, ignore_errors=True)
        packaging = self.source / "packaging"
        for program in programs.iterdir():
            _install(program, top / "bin", executable=True)
            _install(packaging / f"wheel/data/share/man/man1/{program.name}.1", top / "share/man/man1")
        for unit in UNITS:
            _install(packaging / "systemd" / unit, top / "lib/systemd/system")
        _install(packaging / "gateway/fail-open", top / "lib/gamelane", executable=True)
        for document in (*(self.source / each for each in LICENCES), packaging / "static/README.md"):
            _install(document, top / "share/doc/gamelane")
        self.pack(top, self.made / f"{name}.tar.gz")

    def pack(self, top: Path, to: Path) -> None:
        """Write a folder into an archive in which order, times, owners and modes are always the same.

        The archive has no folders: to unpack it must not change those that are there.
        """
        files = sorted(str(path.relative_to(top.parent)) for path in top.rglob("*") if path.is_file())
        always = [f"--mtime=@{self.epoch}", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]
        words = ["tar", "-c", *always, "--mode=u=rwX,go=rX", "-C", top.parent, "--", *files]
        archive = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
        with to.open("wb") as file:
            subprocess.run(["gzip", "-9", "--no-name"], input=archive, stdout=file, check=True)

    def finish(self) -> str:
        """Move all that was made to its place, beside checksums, and return these."""
        lines = [
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(self.made.iterdir())
        ]
        (self.made / "SHA256SUMS").write_text("".join(lines))
        (self.made / "COMMIT").write_text(f"{self.commit}\n")
        self.out.mkdir(parents=True, exist_ok=True)
        for path in self.made.iterdir():
            shutil.move(path, self.out / path.name)
        return "".join(lines)

    def _cargo(self, target: str, profile: str, crates: Sequence[str], flags: Sequence[str]) -> None:
        words = [word for crate in crates for word in ("-p", f"gamelane-{crate}")]
        _run(
            ["cargo", "zigbuild", "-q", "--locked", "--profile", profile, "--target", target, *words],
            self.source,
            self._environment(flags),
        )

    def _environment(self, flags: Sequence[str] = ()) -> Mapping[str, str]:
        """No path of this machine gets into a program."""
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        places = {self.source: "/gamelane", self.work / "target": "/target", cargo: "/cargo"}
        remapped = [f"--remap-path-prefix={place}={name}" for place, name in places.items()]
        return os.environ | {
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*remapped, *flags]),
            "CARGO_TARGET_DIR": str(self.work / "target"),
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "SOURCE_DATE_EPOCH": self.epoch,
        }

    def _add(self, target: str) -> None:
        _run(["rustup", "-q", "target", "add", target], self.source)


def _install(file: Path, folder: Path, *, executable: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file.name)
    (folder / file.name).chmod(0o755 if executable else 0o644)


@contextmanager
def _step(what: str) -> Iterator[None]:
    _say(f"builds {what}")
    began = time.monotonic()
    yield
    _say(f"  {time.monotonic() - began:.0f} s")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _read(*words: str | Path) -> str:
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"dist: `{' '.join(map(str, words))}` failed (see above)")
    return done.stdout.strip()


def _run(words: Sequence[str | Path], folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(words, cwd=folder, env=environment, check=False)
    if done.returncode:
        sys.exit(f"dist: `{' '.join(map(str, words))}` failed (see above)")


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
    build = Build(given.work.resolve(), given.out.resolve())
    build.work.mkdir(parents=True, exist_ok=True)
    with (build.work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"dist: another one builds in {build.work}\n  hint:    wait for it, or choose another --work DIR")
        build.prepare()
        for arch in given.arch or ARCHITECTURES:
            programs = build.programs(arch)
            build.wheel(arch, programs)
            build.archive(arch, programs)
        sys.stdout.write(build.finish())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
