"""The files for OpenWrt: the init script makes a command of the configuration, and the gateway sets Linux's queues.

BusyBox runs the script, as on a router. OpenWrt's own functions cannot be had from a package, so `openwrt/functions.sh`
stands in for them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.installed.places import MACHINE, made
from tests.needs import lacking

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "packaging/openwrt/gamelane-gateway"
START = """
. /lib/functions.sh
. /etc/init.d/gamelane
start_service
service_triggers
"""
ROUTED = """
ip link set lo up
ip link add br-lan type veth peer name home
ip link add wan type veth peer name modem
for each in br-lan home wan modem; do ip link set dev "$each" up; done
ip address add 192.168.1.1/24 dev br-lan
ip address add 203.0.113.2/24 dev wan
sysctl -qw net.ipv4.ip_forward=1
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount --bind /dev "$1/dev"
sh -c 'exec chroot "$1" $(cat "$1/instances/home.command")' - "$1" &
until chroot "$1" /usr/bin/gamelane-gateway status --json >"$1/status"; do kill -0 $!; sleep 0.1; done
tc class show dev wan >"$1/during"
kill $!
wait $!
tc qdisc show dev wan >"$1/after"
"""


@pytest.fixture
def router(tmp_path: Path) -> Path:
    """The root of a router, before the service starts."""
    if os.geteuid() != 0 or not shutil.which("tc"):
        lacking("needs root and tc")
    archive = made(f"gamelane-gateway-*-{MACHINE}-openwrt.tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    for folder in ("bin", "dev", "etc/config", "etc/gamelane", "instances", "lib/functions", "proc", "sys"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    busybox = Path("/bin/busybox")
    if not busybox.exists() or subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode == 0:
        lacking("needs busybox-static")
    shutil.copy(busybox, tmp_path / "bin")
    for name in ("sh", "sed"):
        (tmp_path / "bin" / name).symlink_to("busybox")
    shutil.copy(Path(__file__).parent / "openwrt/functions.sh", tmp_path / "lib")
    (tmp_path / "lib/functions/network.sh").touch()
    (tmp_path / "etc/passwd").write_text("nobody:*:65534:65534:nobody:/var:/bin/false\n")
    # As docs/install.md says.
    shared = tmp_path / "usr/share/gamelane"
    shutil.copy(shared / "gamelane.config", tmp_path / "etc/config/gamelane")
    shutil.copy(shared / "home.toml", tmp_path / "etc/gamelane")
    return tmp_path


def configure(router: Path, *lines: str) -> None:
    """Enable the gateway, with more lines in its section."""
    config = router / "etc/config/gamelane"
    enabled = config.read_text().replace("enabled '0'", "enabled '1'")
    config.write_text("\n".join([enabled, *lines]))


def start(router: Path) -> list[str]:
    """Start the service. Return the words of the gateway's command."""
    subprocess.run(["chroot", router, "/bin/sh", "-c", START], check=True, timeout=60)
    command = router / "instances/home.command"
    return command.read_text().splitlines() if command.exists() else []


def test_a_gateway_starts_only_if_it_is_enabled(router: Path) -> None:
    assert start(router) == []


def test_a_configuration_becomes_a_command(router: Path) -> None:
    configure(router, "list set 'link.overhead=ptm'")
    expected = (
        "/usr/bin/gamelane-gateway run --engine kernel --lan br-lan --wan wan --listen 127.0.0.1:9720 "
        "--set link.up=9500kbit --set gateway.shape.up=9500kbit "
        "--set link.down=47000kbit --set gateway.shape.down=47000kbit "
        "--set link.overhead=ptm /etc/gamelane/home.toml"
    )
    assert " ".join(start(router)) == expected
    assert (router / "instances/triggers").read_text() == "config gamelane\ninterface lan\ninterface wan\n"


def test_a_gateway_waits_for_its_interfaces(router: Path) -> None:
    configure(router, "option wan 'down'")
    assert start(router) == []
    assert (router / "instances/log").read_text() == "home waits for the interfaces lan and down\n"


def test_the_gateway_sets_the_queues_of_linux_and_removes_them(router: Path) -> None:
    # A kernel without CAKE can do this, too.
    configure(router, "list set 'gateway.up.queue=fifo'", "list set 'gateway.down.queue=fifo'")
    start(router)
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ROUTED, "-", str(router)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads((router / "status").read_text())["io"]["kind"] == "kernel"
    assert "rate 9500Kbit" in (router / "during").read_text()
    assert "htb" not in (router / "after").read_text()


def test_the_recipe_installs_files_that_exist() -> None:
    recipe = (RECIPE / "Makefile").read_text().replace("$(REPOSITORY)", str(ROOT))
    named = re.findall(r"\$\(INSTALL_(?:BIN|CONF|DATA)\) (\S+)", recipe)
    files = [name for name in named if not name.startswith("$(PKG_INSTALL_DIR)")]
    assert len(files) == 4
    assert [name for name in files if not (RECIPE / name).exists()] == []
