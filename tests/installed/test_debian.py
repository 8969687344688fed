"""The Debian package: systemd runs what it installs, an update restarts it, and a removal ends it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.installed.places import MACHINE, ROOT, Place, debian, made
from tests.needs import lacking

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(MACHINE, MACHINE)
CHECKER = """\
[Unit]
SuccessAction=exit-force
FailureAction=exit-force
FailureActionExitStatus=1

[Service]
Type=oneshot
ExecStart=/bin/sh -ex /checked/script
StandardError=file:/checked/log
TimeoutStartSec=120
"""
SCRIPT = """\
cd /checked
dpkg -i old.deb
getent passwd gamelane >user
ls -d /etc/gamelane /usr/bin/gamelane-* >installed

ip link add lan type veth peer name home
ip link add wan type veth peer name modem
for each in lan home wan modem; do ip link set "$each" up; done
printf 'LAN=lan\\nWAN=wan\\n' >/etc/gamelane/home.env
cp /usr/share/doc/gamelane/examples/home.toml /etc/gamelane/
systemctl enable --now gamelane-gateway@home
gamelane-gateway status --json >running
ip link set lo up
systemctl enable --now gamelane-capture@lo

before=$(systemctl show -P MainPID gamelane-gateway@home)
dpkg -i new.deb
systemctl is-active gamelane-gateway@home gamelane-capture@lo
echo "$before $(systemctl show -P MainPID gamelane-gateway@home)" >processes
gamelane-gateway status --json >updated

dpkg -r gamelane
if systemctl is-active gamelane-gateway@home || systemctl is-active gamelane-capture@lo; then exit 1; fi
cp /var/lib/gamelane/capture/lo/analysis.json recorded
rm -r /var/lib/gamelane
ip -j link show master gamelane-open >bridge
dpkg -P gamelane
find / -xdev -path /checked -prune -o -path /proc -prune -o -name '*gamelane*' -print >left
"""
"""It runs in a Debian with systemd and a network of its own."""


@pytest.fixture(scope="module")
def package() -> Path:
    return made(f"gamelane_*_{ARCHITECTURE}.deb")


@pytest.fixture(scope="module")
def told(package: Path) -> Iterator[Mapping[str, str]]:
    """What the script wrote, by name."""
    if os.geteuid() != 0 or not shutil.which("systemd-nspawn"):
        lacking("needs root and systemd-nspawn")
    with tempfile.TemporaryDirectory() as folder:
        place = debian(Path(folder), "systemd-sysv,iproute2")
        yield written(place, package)


def written(place: Place, package: Path) -> Mapping[str, str]:
    """Run the script in the place. Return what it wrote, by name."""
    checked, units = place.root / "checked", place.root / "etc/systemd/system"
    checked.mkdir()
    shutil.copy(package, checked / "new.deb")
    older(package, checked)
    (checked / "script").write_text(SCRIPT)
    (units / "check.service").write_text(CHECKER)
    (units / "multi-user.target.wants/check.service").symlink_to("../check.service")
    own = ("--quiet", "--private-network", "--register=no", "--keep-unit", f"--machine=gamelane-{os.getpid()}")
    words = ["systemd-nspawn", *own, f"--directory={place.root}", "--boot"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=200)
    log = checked / "log"
    assert done.returncode == 0, log.read_text() if log.exists() else done.stdout
    return {path.name: path.read_text() for path in checked.iterdir() if path.suffix != ".deb"}


def older(package: Path, folder: Path) -> None:
    """Pack the same files as an older version."""
    unpacked = folder / "unpacked"
    subprocess.run(["dpkg-deb", "--raw-extract", package, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    lines = ["Version: 0.0.1-1" if line.startswith("Version:") else line for line in control.read_text().splitlines()]
    control.write_text("\n".join(lines) + "\n")
    subprocess.run(["dpkg-deb", "-Znone", "--build", unpacked, folder / "old.deb"], check=True, capture_output=True)
    shutil.rmtree(unpacked)


def test_lintian_has_nothing_to_say(package: Path) -> None:
    if not shutil.which("lintian"):
        lacking("needs lintian")
    words = ["lintian", "--allow-root", "--fail-on", "error,warning,info", str(package)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_files_have_the_time_of_the_commit_and_usual_modes(package: Path) -> None:
    """Else two builds would differ."""
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = archive.getmembers()
    committed = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, check=True)
    assert {member.mtime for member in members} == {int(committed.stdout)}
    assert {member.mode for member in members if member.isdir()} == {0o755}
    assert {member.mode for member in members if member.isfile()} == {0o644, 0o755}
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}


def test_systemd_runs_the_gateway(told: Mapping[str, str]) -> None:
    assert json.loads(told["running"])["queues"]["up"]["kind"] == "cake"


def test_there_is_a_user_for_the_proxy(told: Mapping[str, str]) -> None:
    assert told["user"].startswith("gamelane:x:")
    assert told["user"].endswith(":/usr/sbin/nologin\n")


def test_the_recorder_runs_and_stops_with_a_verdict(told: Mapping[str, str]) -> None:
    assert json.loads(told["recorded"])["recording"]["folder"] == "/var/lib/gamelane/capture/lo"


def test_an_update_goes_on_with_the_new_program(told: Mapping[str, str]) -> None:
    before, after = told["processes"].split()
    assert before != after
    assert json.loads(told["updated"])["uptime_s"] < 60


def test_without_the_package_a_bridge_forwards(told: Mapping[str, str]) -> None:
    assert {each["ifname"] for each in json.loads(told["bridge"])} == {"lan", "wan"}


def test_a_purge_leaves_what_the_administrator_wrote(told: Mapping[str, str]) -> None:
    assert told["left"].split() == ["/etc/gamelane"]
