"""Where each file of a package goes: the archive of static programs, the Debian package, the files for OpenWrt."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from .build import GATEWAY, Build, install
from .shell import run

UNITS = tuple(f"gamelane-{name}@.service" for name in ("capture", "gateway", "proxy", "queues"))
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
COMPLETIONS = {
    "bash-completion/completions/{}": "source <(COMPLETE=bash {})\n",
    "fish/vendor_completions.d/{}.fish": "COMPLETE=fish {} | source\n",
    # Zsh reads the file at the first Tab, and runs it as the function that completes.
    "zsh/vendor-completions/_{}": '#compdef {0}\nsource <(COMPLETE=zsh {0})\n_clap_dynamic_completer_{1} "$@"\n',
}
"""Files below `share`, and what is in them for a program. The program itself knows its words."""
MAINTAINER = "The gamelane authors <authors@gamelane.invalid>"
ON_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def archive(build: Build, arch: str, programs: Path, licences: Path) -> None:
    """Pack the static programs and all that belongs to them, to unpack over /usr/local."""
    name = f"gamelane-{build.version}-{arch}-linux"
    top = _empty(build.work / "archives" / name)
    _lay(build, programs, top, "/usr/local")
    for document in (
        *(build.source / each for each in LICENCES),
        build.source / "packaging/static/README.md",
        licences,
    ):
        install(document, top / "share/doc/gamelane")
    _pack(build, top.parent, [name], build.made / f"{name}.tar.gz")


def debian(build: Build, arch: str, programs: Path, licences: Path) -> None:
    """Make the Debian package."""
    top, packaging = _empty(build.work / "debian" / arch), build.source / "packaging"
    _lay(build, programs, top / "usr", "/usr")
    install(packaging / "debian/sysusers.conf", top / "usr/lib/sysusers.d", name="gamelane.conf")
    for example in ("home.toml", "home.env"):
        install(packaging / "gateway" / example, top / "usr/share/doc/gamelane/examples")
    install(packaging / "debian/lintian-overrides", top / "usr/share/lintian/overrides", name="gamelane")
    when = format_datetime(datetime.fromtimestamp(int(build.epoch), UTC))
    news = [f"gamelane ({build.version}-1) unstable; urgency=medium", "  * changelog.gz lists what is new."]
    mit = (build.source / "LICENSE-MIT").read_text(encoding="utf-8").strip().splitlines()
    indented = "\n".join(f" {line}" if line else " ." for line in mit)
    documents = {
        "copyright": (packaging / "debian/copyright").read_text(encoding="utf-8").replace("@MIT@", indented),
        "changelog.Debian.gz": "\n\n".join([*news, f" -- {MAINTAINER}  {when}\n"]),
        "changelog.gz": (build.source / "CHANGELOG.md").read_text(encoding="utf-8"),
        "third-party.txt.gz": licences.read_text(encoding="utf-8"),
    }
    for name, text in documents.items():
        _write(top / "usr/share/doc/gamelane" / name, text)
    for page in (top / "usr/share/man").rglob("*.1"):
        _write(page.with_name(f"{page.name}.gz"), page.read_text(encoding="utf-8"))
        page.unlink()
    # nfpm takes times and modes from the disk.
    for path in top.rglob("*"):
        os.utime(path, (int(build.epoch), int(build.epoch)))
        if path.is_dir():
            path.chmod(0o755)
    architecture = ON_DEBIAN[arch]
    variables = {"ARCH": architecture, "VERSION": build.version, "MAINTAINER": MAINTAINER, "TREE": str(top)}
    to = build.made / f"gamelane_{build.version}-1_{architecture}.deb"
    words = ["package", "--packager", "deb", "--config", "packaging/debian/nfpm.yaml", "--target", to]
    run([build.tools / "nfpm", *words], build.source, build.environment() | variables)


def openwrt(build: Build, arch: str, programs: Path, licences: Path) -> None:
    """Pack the gateway with its init script, to unpack over the root of an OpenWrt system."""
    top, files = _empty(build.work / "openwrt" / arch), build.source / "packaging/openwrt/gamelane-gateway/files"
    install(programs / GATEWAY, top / "usr/bin", executable=True)
    install(files / "gamelane.init", top / "etc/init.d", name="gamelane", executable=True)
    install(files / "gamelane.keep", top / "lib/upgrade/keep.d", name="gamelane")
    # Not the configuration itself: to unpack a newer archive must not change it.
    install(files / "gamelane.config", top / "usr/share/gamelane")
    install(build.source / "packaging/gateway/home.toml", top / "usr/share/gamelane")
    install(build.source / "LICENSE-MIT", top / "usr/share/gamelane")
    _write(top / "usr/share/gamelane/third-party.txt.gz", licences.read_text(encoding="utf-8"))
    _pack(build, top, ["."], build.made / f"{GATEWAY}-{build.version}-{arch}-openwrt.tar.gz")


def _lay(build: Build, programs: Path, top: Path, prefix: str) -> None:
    """Lay out what archive and Debian package share. `prefix` is where `top` will be."""
    packaging = build.source / "packaging"
    for program in sorted(programs.iterdir()):
        install(program, top / "bin", executable=True)
        for page in sorted((packaging / "man").glob(f"{program.name}*.1")):
            install(page, top / "share/man/man1")
        for place, text in COMPLETIONS.items():
            _write(
                top / "share" / place.format(program.name), text.format(program.name, program.name.replace("-", "_"))
            )
    for unit in UNITS:
        text = (packaging / "systemd" / unit).read_text(encoding="utf-8")
        _write(top / "lib/systemd/system" / unit, text.replace("/usr/local/", f"{prefix}/"))
    install(packaging / "gateway/fail-open", top / "lib/gamelane", executable=True)


def _pack(build: Build, parent: Path, names: list[str], to: Path) -> None:
    """Write files into an archive in which order, times, owners and modes are always the same.

    The archive has no folders: to unpack it must not change those that are there.
    """
    found = (path for name in names for path in (parent / name).rglob("*") if path.is_file())
    files = sorted(str(path.relative_to(parent)) for path in found)
    always = [f"--mtime=@{build.epoch}", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]
    words = ["tar", "-c", *always, "--mode=u=rwX,go=rX", "-C", parent, "--", *files]
    packed = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout
    to.write_bytes(_compressed(packed))


def _write(path: Path, text: str) -> None:
    """Write a text, compressed if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(_compressed(data) if path.suffix == ".gz" else data)
    path.chmod(0o644)


def _compressed(data: bytes) -> bytes:
    return subprocess.run(["gzip", "-9", "--no-name"], input=data, stdout=subprocess.PIPE, check=True).stdout


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
