"""A build of the last commit: the static programs and the wheel of an architecture."""

from __future__ import annotations

import os
import shutil
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .shell import read, run, say, step

ROOT = Path(__file__).resolve().parents[2]
GATEWAY = "gamelane-gateway"
PROGRAMS = {
    GATEWAY: "gateway",
    "gamelane-capture": "live",
    "gamelane-impair": "impair",
    "gamelane-traffic": "generator",
    "gamelane-proxy": "proxy",
}
"""Programs, and the folder of `crates` of each."""
LINKED = ("-Clinker=rust-lld", "-Clinker-flavor=ld.lld", "-Clink-arg=--icf=all", "-Clink-arg=--pack-dyn-relocs=relr")
"""Equal functions once, and short tables of relocations: a tenth of a program."""
NO_UNWINDING = ("-Cforce-unwind-tables=no", "-Clink-arg=--no-eh-frame-hdr")


@dataclass(frozen=True)
class Build:
    """A build, in a folder that later builds use again."""

    work: Path

    @cached_property
    def epoch(self) -> str:
        """Time of the commit: the time of every file that is made."""
        return read("git", "-C", self.source, "log", "-1", "--format=%ct")

    @cached_property
    def commit(self) -> str:
        """The commit that is built."""
        return read("git", "-C", self.source, "rev-parse", "HEAD")

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
        if changed := read("git", "-C", ROOT, "status", "--porcelain").splitlines():
            say(f"builds the last commit, without {len(changed)} changed files")
        shutil.rmtree(self.made, ignore_errors=True)
        self.made.mkdir(parents=True)
        if not (self.source / ".git").exists():
            run(["git", "init", "-q", self.source])
        # Files that have not changed keep their times, so cargo does not compile them again.
        git = ["git", "-C", self.source]
        run([*git, "fetch", "-q", "--update-shallow", ROOT, "HEAD"])
        run([*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD"])
        run([*git, "clean", "-q", "-dffx"])
        wanted = (self.source / "packaging/requirements.txt").read_text()
        installed = self.work / "tools/requirements.txt"
        if not installed.exists() or installed.read_text() != wanted:
            venv.create(self.work / "tools", with_pip=True, clear=True)
            run([self.tools / "pip", "install", "-q", "-r", self.source / "packaging/requirements.txt"])
            installed.write_text(wanted)

    def programs(self, arch: str) -> Path:
        """Build the static programs and return their folder."""
        target, folder = f"{arch}-unknown-linux-musl", self.work / "programs" / arch
        self._add(target)
        script = self.source / "packaging/static/no-unwinding.ld"
        # The gateway alone: cargo gives all crates of one build the features that any of them asks for.
        with step(f"{GATEWAY} for {arch}"):
            self._cargo(target, "router", [PROGRAMS[GATEWAY]], (*LINKED, *NO_UNWINDING, f"-Clink-arg=-T{script}"))
        others = [crate for name, crate in PROGRAMS.items() if name != GATEWAY]
        with step(f"the other programs for {arch}"):
            self._cargo(target, "dist", others, LINKED)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in PROGRAMS:
            built = self.work / "target" / target / ("router" if name == GATEWAY else "dist") / name
            shutil.copy(built, folder / name)
        return folder

    def contents(self, arch: str) -> tuple[Path, Path]:
        """List the crates in the programs and the wheel. Return the file of their licences, and the SBOM."""
        folder = self.work / "contents" / arch
        folder.mkdir(parents=True, exist_ok=True)
        licences, sbom = folder / "third-party.txt", folder / "sbom.cdx.json"
        crates = [f"gamelane-{crate}" for crate in ("py", *PROGRAMS.values())]
        script = Path(__file__).with_name("contents.py")
        words = [self.tools / "python", script, "--target", f"{arch}-unknown-linux-musl", "--commit", self.commit]
        run([*words, "--licences", licences, "--sbom", sbom, *crates], self.source, self._environment())
        return licences, sbom

    def wheel(self, arch: str, programs: Path, licences: Path) -> None:
        """Build the wheel, which holds the programs, too."""
        target = f"{arch}-unknown-linux-gnu"
        self._add(target)
        # pip installs what is in these folders beside the `gamelane` command.
        wheel, manual = self.source / "packaging/wheel", self.source / "packaging/man"
        shutil.copytree(programs, wheel / "scripts", dirs_exist_ok=True)
        install(licences, wheel / "data/share/doc/gamelane")
        for page in manual.iterdir():
            # Some commands have pages of their own with the names of programs.
            if not (wheel / "data/share/man/man1" / page.name).exists():
                install(page, wheel / "data/share/man/man1")
        with step(f"the wheel for {arch}"):
            words = ["--release", "--zig", "--target", target, "--compatibility", "manylinux2014", "--locked"]
            run([self.tools / "maturin", "build", "-q", *words, "-o", self.made], self.source, self._environment())

    def environment(self) -> Mapping[str, str]:
        """Variables for a tool: where it is, and the time that files get."""
        return os.environ | {"PATH": f"{self.tools}:{os.environ['PATH']}", "SOURCE_DATE_EPOCH": self.epoch}

    def _cargo(self, target: str, profile: str, crates: Sequence[str], flags: Sequence[str]) -> None:
        words = [word for crate in crates for word in ("-p", f"gamelane-{crate}")]
        run(
            ["cargo", "zigbuild", "-q", "--locked", "--profile", profile, "--target", target, *words],
            self.source,
            self._environment(flags),
        )

    def _environment(self, flags: Sequence[str] = ()) -> Mapping[str, str]:
        """No path of this machine gets into a program."""
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        places = {self.source: "/gamelane", self.work / "target": "/target", cargo: "/cargo"}
        remapped = [f"--remap-path-prefix={place}={name}" for place, name in places.items()]
        return self.environment() | {
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*remapped, *flags]),
            "CARGO_TARGET_DIR": str(self.work / "target"),
        }

    def _add(self, target: str) -> None:
        run(["rustup", "-q", "target", "add", target], self.source)


def install(file: Path, folder: Path, *, executable: bool = False, name: str | None = None) -> None:
    """Copy a file into a folder, with the mode that it has on every machine."""
    folder.mkdir(parents=True, exist_ok=True)
    to = folder / (name or file.name)
    shutil.copyfile(file, to)
    to.chmod(0o755 if executable else 0o644)
