"""The programs of the archive work without root: their C library makes other system calls than glibc."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.needs import lacking

POLICY = """
name = "installed"
[link]
up = "10mbit"
down = "50mbit"
[gateway]
shape = "9.5mbit"
up = { queue = "fq_codel" }
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
"""
NEAR = """
listen = "127.0.0.1:7777"
far = "127.0.0.1:7700"
[tls]
certificate = "pair/near.pem"
key = "pair/near.key"
authority = "pair/authority.pem"
[admin]
listen = "127.0.0.1:9700"
"""
FAR = """
listen = "127.0.0.1:7700"
server = "127.0.0.1:9700"
[tls]
certificate = "pair/far.pem"
key = "pair/far.key"
authority = "pair/authority.pem"
"""
BEGIN = """
PATH=$1:$PATH
cd "$2"
ip link set lo up
has_left_root() { grep -q '^CapEff:.0*$' "/proc/$1/status"; }
until_it_has() { until has_left_root "$1"; do kill -0 "$1"; sleep 0.1; done; }
"""
GATEWAY = """
ip link add lan type veth peer name home
ip link add wan type veth peer name outside
for each in lan home wan outside; do ip link set "$each" up; done
gamelane-gateway run --lan lan --wan wan --engine user home.toml &
until gamelane-gateway status --json >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done
has_left_root $!
sed -i s/9.5mbit/9mbit/ home.toml
kill -HUP $!
until gamelane-gateway status --json | grep -q '"reloads": *1,'; do kill -0 $!; sleep 0.1; done
kill $!
wait $!
"""
IMPAIR = """
unshare --net sleep 60 &
peer=$!
until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
ip link add wan type veth peer name there
ip link set there netns $peer
nsenter --target $peer --net sh -c 'ip address add 10.9.0.2/24 dev there && ip link set there up'
ip address add 10.9.0.1/24 dev wan
ip link set wan up
gamelane-impair run wan --delay 20ms &
until gamelane-impair show wan >/dev/null 2>&1; do kill -0 $!; sleep 0.1; done
until_it_has $!
gamelane-impair set wan --delay 50ms --json | grep -q 50ms
ping -c 3 -i 0.2 10.9.0.2 | grep -q 'min/avg.* = [1-9][0-9][0-9]'
kill $!
wait $!
kill $peer
"""
TRAFFIC = """
gamelane-traffic listen &
until_it_has $!
gamelane-traffic measure 127.0.0.1 --seconds 8 --streams 1 -o measured
test -s measured/client.rec
test -s measured/server.rec
kill $!
wait $!
"""
PROXY = """
gamelane-proxy certificates pair
chown -R nobody pair
gamelane-proxy far far.toml &
far=$!
until_it_has $far
gamelane-proxy near near.toml &
until gamelane-proxy status near.toml | grep -q '[1-9] of [1-9] up'; do kill -0 $!; sleep 0.1; done
has_left_root $!
# A request passes both proxies. The server behind far is the status page of near.
printf 'GET /status HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' |
    timeout 20 bash -c 'exec 3<>/dev/tcp/127.0.0.1/7777; cat >&3; cat <&3' | grep -q '"role"'
kill $! $far
wait $!
wait $far
"""
RECORDER = """
gamelane-capture lo -o recorded --rotate-time 1s --snaplen 128 >told &
until_it_has $!
for number in $(seq 30); do echo "$number" >/dev/udp/127.0.0.1/9; sleep 0.1; done
kill $!
wait $!
grep -q '^lo: 60 packets in ' told
grep -q '"files": [2-9]' recorded/analysis.json
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(GATEWAY, id="gateway"),
        pytest.param(IMPAIR, id="impair"),
        pytest.param(TRAFFIC, id="traffic"),
        pytest.param(PROXY, id="proxy"),
        pytest.param(RECORDER, id="capture"),
    ],
)
def test_it_works(unpacked: Path, script: str) -> None:
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("ping")):
        lacking("needs root, ip and ping")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # for the user that a program becomes
        for file, text in {"home.toml": POLICY, "near.toml": NEAR, "far.toml": FAR}.items():
            (folder / file).write_text(text)
        words = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        arguments = [*words, "bash", "-euc", BEGIN + script, "-", str(unpacked / "bin"), name]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "system call refused" not in done.stderr, done.stderr
