"""What a guest with a root in memory gets: archives, modules, files. Nothing boots."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gamelane.errors import LabError, UsageError
from gamelane.guest import choice, cloud, cpio, kvm, modules, qemu, root, uml
from gamelane.guest.config import Config
from gamelane.lab.kernel.available import Available
from tests.needs import lacking, needs


def archived(*names: str) -> bytes:
    to = io.BytesIO()
    archive = cpio.Archive(to)
    for name in names:
        archive.data(name, name.encode(), cpio.PROGRAM)
    archive.end()
    return to.getvalue()


@needs(shutil.which("cpio"), "cpio is missing")
def test_cpio_reads_an_archive(tmp_path: Path) -> None:
    data = archived("/a/b/odd", "/a/c", "/a/c")
    words = ["cpio", "--extract", "--quiet"]
    subprocess.run(words, input=data, cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "a/b/odd").read_bytes() == b"/a/b/odd"
    assert (tmp_path / "a/c").stat().st_mode & 0o777 == 0o755
    listed = subprocess.run(["cpio", "--list", "--quiet"], input=data, capture_output=True, check=True, timeout=60)
    assert listed.stdout.split() == [b"a", b"a/b", b"a/b/odd", b"a/c"]
    assert len(data) % 4 == 0


def module(depends: str = "", *, signature: bytes = b"") -> bytes:
    signed = signature + bytes(8) + len(signature).to_bytes(4, "big") + modules.SIGNED if signature else b""
    return b"\x7fELF\0depends=" + depends.encode() + b"\0end" + signed


def test_modules_come_after_what_they_need_and_without_signature(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "bridge.ko.xz").write_bytes(lzma.compress(module("stp,llc", signature=b"x" * 300)))
    (tmp_path / "stp.ko").write_bytes(module("llc"))
    (tmp_path / "llc.ko").write_bytes(module())
    got = dict(modules.in_order(tmp_path, ["bridge", "llc", "absent"]))
    assert list(got) == ["llc", "stp", "bridge"]
    assert got["bridge"] == module("stp,llc")


def test_the_length_of_a_signature_is_not_trusted(tmp_path: Path) -> None:
    broken = b"\x7fELF" + bytes(8) + (1 << 31).to_bytes(4, "big") + modules.SIGNED
    (tmp_path / "a.ko").write_bytes(broken)
    assert dict(modules.in_order(tmp_path, ["a"])) == {"a": broken}


def test_a_configuration_counts_modules_too(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        "CONFIG_NET_SCH_PIE=m\nCONFIG_NET_SCH_FQ=y\n# CONFIG_NET_SCH_CAKE is not set\nCONFIG_DEBUG_INFO_BTF=y\n"
    )
    assert Config(tmp_path / "config").available == Available(("pfifo", "bfifo", "fq", "pie"), shows_packets=True)
    assert Config(tmp_path / "absent").available == Available((), shows_packets=False)


def test_the_root_has_all_that_a_guest_imports() -> None:
    program = "import gamelane.guest.inside, numpy, sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    extra = set(done.stdout.split()) - set(sys.stdlib_module_names) - {"__main__", "_distutils_hack"}
    assert {name for name in extra if not name.startswith("__")} == set(root.PYTHON_PACKAGES)


@needs(root.lacking() is None, "a tool of the lab is missing")
def test_python_runs_in_the_root_alone(tmp_path: Path) -> None:
    with (tmp_path / "root.cpio").open("wb") as to:
        archive = cpio.Archive(to)
        root.add_to(archive, [])
        archive.end()
    if shutil.which("cpio") is None:
        lacking("cpio is missing")
    place = tmp_path / "root"
    place.mkdir()
    with (tmp_path / "root.cpio").open("rb") as data:
        subprocess.run(["cpio", "--extract", "--quiet"], stdin=data, cwd=place, check=True, timeout=120)
    program = [sys.executable, "-c", "import gamelane.guest.inside, numpy; print('here')"]
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "chroot",
        str(place),
        "/bin/sh",
        "-c",
        f"{sys.executable} --version",
    ]
    if subprocess.run(words, capture_output=True, check=False, timeout=60).returncode != 0:
        lacking("this user cannot change the root")
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "chroot", str(place), *program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": root.search_path()},
    )
    assert done.stdout == "here\n", done.stderr


def machine(folder: Path) -> qemu.Qemu:
    return qemu.Qemu("qemu", cloud.Kernel(folder / "linux.qemu"))


def test_the_seed_and_no_disk_reach_the_machine(tmp_path: Path) -> None:
    words = list(machine(tmp_path).command(7))
    assert words[words.index("-seed") + 1] == "7"
    assert "-drive" not in words
    assert "icount" in " ".join(words)
    assert "icount" not in " ".join(qemu.Qemu("qemu", cloud.Kernel(tmp_path / "linux.qemu"), False).command(7))


def test_the_script_runs_in_the_case(tmp_path: Path) -> None:
    script = machine(tmp_path).script(tmp_path, {"A": "it's"}, ["python3", "-m", "x"])
    assert "export A='it'\"'\"'s'\n" in script
    assert str(tmp_path) not in script
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def results(folder: Path, *members: tuple[tarfile.TarInfo, bytes]) -> None:
    with tarfile.open(folder / qemu.RESULTS, "w") as archive:
        for member, data in members:
            member.size = len(data) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(data))


def test_results_stay_in_the_folder(tmp_path: Path) -> None:
    place = tmp_path / "case"
    place.mkdir()
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    outside = [tarfile.TarInfo(name) for name in ("../out", "/out", "./deep/in")]
    results(place, (tarfile.TarInfo("./good"), b"yes"), (link, b""), *((each, b"no") for each in outside))
    machine(tmp_path).unpack(place)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {"good": b"yes"}
    assert [path.name for path in tmp_path.iterdir()] == ["case"]


@pytest.mark.parametrize("data", [b"", bytes(4096), b"\xff" * 4096, b"./a" + b"9" * 600])
def test_broken_results_are_no_results(tmp_path: Path, data: bytes) -> None:
    (tmp_path / qemu.RESULTS).write_bytes(data)
    machine(tmp_path).unpack(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_results_that_end_early_leave_nothing_half(tmp_path: Path) -> None:
    results(tmp_path, (tarfile.TarInfo("a"), b"a" * 2000), (tarfile.TarInfo("b"), b"b" * 20000))
    whole = (tmp_path / qemu.RESULTS).read_bytes()
    (tmp_path / qemu.RESULTS).write_bytes(whole[:8000])
    machine(tmp_path).unpack(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"a"}


def test_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(choice.VARIABLE, "qemuu")
    with pytest.raises(UsageError, match=r"(?s)GAMELANE_VM=qemuu: .*allowed: uml, qemu, kvm"):
        choice.choose()


def test_without_any_guest_both_ways_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    monkeypatch.delenv(uml.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(LabError, match=r"(?s)--build-kernel.*or use QEMU: "):
        choice.choose()


PARTS = {
    "one package": {"linux-image-6.12": ("boot/config-6.12", "boot/vmlinuz-6.12", "usr/lib/modules/6.12/veth.ko")},
    "parts": {
        "linux-image-7.3": (),
        "linux-base-7.3": ("usr/lib/modules/7.3/config",),
        "linux-binary-7.3": ("usr/lib/modules/7.3/vmlinuz",),
        "linux-modules-7.3": ("usr/lib/modules/7.3/veth.ko",),
    },
}


@pytest.mark.parametrize("packages", PARTS.values(), ids=PARTS)
def test_a_kernel_is_fetched_in_one_package_or_in_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, packages: dict[str, tuple[str, ...]]
) -> None:
    image, *parts = packages
    depends = "".join(f"echo '  Depends: {part}'; " for part in parts)
    unpack = "".join(
        f'{name}.deb) mkdir -p "$(dirname $3/{file})"; echo {file} > $3/{file} ;;&\n'
        for name, files in packages.items()
        for file in files
    )
    tools = {
        "apt-cache": f"case $2 in {image}) {depends};; *) echo '  Depends: {image}' ;; esac",
        "apt-get": 'shift; for each in "$@"; do touch $each.deb; done',
        "dpkg-deb": f'case "$(basename $2)" in\n{unpack}*) ;; esac',
    }
    (tmp_path / "bin").mkdir()
    for tool, script in tools.items():
        file = tmp_path / "bin" / tool
        file.write_text(f"#!/bin/bash\n{script}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernel = cloud.Kernel(cloud.fetch())
    assert "vmlinuz" in kernel.image.read_text()
    assert "config" in kernel.config.read_text()
    assert b"modules/00-veth.ko" in kernel.modules.read_bytes()


def test_qemu_is_the_guest_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    monkeypatch.delenv(uml.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "kvm")
    (tmp_path / "gamelane").mkdir()
    (tmp_path / "gamelane" / cloud.NAME).touch()
    (tmp_path / "gamelane" / f"{cloud.NAME}.config").write_text(
        "# Linux/x86 6.12.1 Kernel Configuration\n" + cloud.mark()
    )
    guest = choice.choose()
    assert guest.label == "QEMU 6.12.1"
    assert guest.virtual_time


@pytest.mark.parametrize(
    ("script", "works"), [("echo booting", True), ("echo 'KVM internal error. Suberror: 1'; exec sleep 60", False)]
)
def test_kvm_works_if_a_kernel_ends_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, works: bool
) -> None:
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "kvm")
    assert kvm.works(["sh", "-c", f"exec 2>&1; {script}"]) is works


def test_kvm_without_a_device_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "kvm")
    assert not kvm.works(["true"])
