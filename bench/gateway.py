"""Throughput and CPU per packet of the gateway beside a kernel bridge with htb, and its delay, between namespaces.

Needs root, iproute2, ethtool, iperf3 and a release build: `python bench/gateway.py target/release/gamelane-gateway`.
Prints a table row by row, with the load average, since other work slows all; the ways to frames (AF_PACKET, AF_XDP) in
turns, for the same reason. CPU is that of the whole machine from
/proc/stat (time in which processors were not idle, iperf3's ends included) over the packets that left the gateway, and
for the gateway its own besides, in which the kernel counts the receiver's work on what it sends: that happens in its
call.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 5
TURNS = 3
TIMER_ABSTIME = 1
WAYS = ("packet", "xdp")
HZ = os.sysconf("SC_CLK_TCK")
POLICY = """name = "bench"
[link]
down = "10gbit"
up = "10gbit"
[gateway]
{gateway}
[[flow]]
name = "quake3"
app = "game"
model = "quake3"
"""


def sh(script: str) -> str:
    """Run a script that must succeed; what it prints."""
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script}\n{done.stderr}")
    return done.stdout


def network() -> None:
    """Make a home, a gateway and an internet."""
    for place in "hgi":
        sh(f"ip netns add glb{place}; ip -n glb{place} link set lo up")
    sh(
        """ip link add lan netns glbg type veth peer name eth0 netns glbh
        ip link add wan netns glbg type veth peer name eth0 netns glbi
        ip -n glbh addr add 10.78.0.1/24 dev eth0; ip -n glbi addr add 10.78.0.2/24 dev eth0
        for place in glbh glbi; do ip netns exec $place ethtool -K eth0 tx off tso off gso off gro off
        ip -n $place link set eth0 up; done
        ip -n glbg link set lan up; ip -n glbg link set wan up"""
    )


def clean() -> None:
    """Take them away, with what runs there."""
    for place in "hgi":
        subprocess.run(
            ["sh", "-c", f"ip netns pids glb{place} | xargs -r kill -9; ip netns del glb{place}"],
            stderr=subprocess.DEVNULL,
            check=False,
        )


def busy() -> float:
    """Seconds all processors have been busy. Linux measures idle time, and takes samples of the rest."""
    idle, iowait = map(int, Path("/proc/stat").read_text().split()[4:6])
    return time.monotonic() * (os.cpu_count() or 1) - (idle + iowait) / HZ


def own(pid: int) -> float:
    """Processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HZ


def iperf(*words: str) -> dict:
    """Send from home to the internet; the result."""
    server = subprocess.Popen(["ip", "netns", "exec", "glbi", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    out = sh(f"ip netns exec glbh iperf3 -J -c 10.78.0.2 -t {SECONDS} {' '.join(words)}")
    server.wait()
    return json.loads(out)["end"]


def row(name: str, pid: int | None, *words: str) -> None:
    """Measure and print one row."""
    before, own_before, packets_before = busy(), own(pid) if pid else 0.0, sent()
    end = iperf(*words)
    cpu, packets = busy() - before, sent() - packets_before
    gateway = f"{(own(pid) - own_before) / packets * 1e6:8.2f}" if pid else "       -"
    rate = end["sum_received" if "sum_received" in end else "sum"]["bits_per_second"]
    lost = end["sum"].get("lost_percent", 0.0) if "sum" in end else 0.0
    print(f"{name:34}{rate / 1e6:10.0f}{packets:10}{cpu / packets * 1e6:10.2f}{gateway}{lost:8.1f}", flush=True)


def sent() -> int:
    """Packets that left both interfaces of the gateway."""
    return sum(
        int(sh(f"ip netns exec glbg cat /sys/class/net/{name}/statistics/tx_packets")) for name in ("lan", "wan")
    )


def gateway(program: str, text: str, *options: str) -> subprocess.Popen:
    """Start a gateway with this `[gateway]`."""
    path = Path(tempfile.mkdtemp()) / "policy.toml"
    path.write_text(POLICY.format(gateway=text))
    words = ["ip", "netns", "exec", "glbg", program, "run", "--lan", "lan", "--wan", "wan", str(path), *options]
    running = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    return running


def kernel(rate: str | None) -> None:
    """Bridge in the kernel instead, with htb for a rate."""
    sh(
        """ip -n glbg link add br0 type bridge forward_delay 0
        ip -n glbg link set lan master br0; ip -n glbg link set wan master br0; ip -n glbg link set br0 up"""
    )
    if rate:
        for name in ("lan", "wan"):
            sh(
                f"""ip netns exec glbg tc qdisc add dev {name} root handle 1: htb default 1
                ip netns exec glbg tc class add dev {name} parent 1: classid 1:1 htb rate {rate}"""
            )
    time.sleep(1.5)


def unkernel() -> None:
    """Take that bridge away."""
    sh(
        """ip -n glbg link del br0
        for i in lan wan; do ip netns exec glbg tc qdisc del dev $i root 2>/dev/null || :; done"""
    )


def end(running: subprocess.Popen) -> None:
    """End a gateway."""
    running.terminate()
    running.wait()


def main(program: str) -> None:
    """Print the table."""
    clean()
    network()
    fair = 'up = { queue = "fq_codel" }\ndown = { queue = "fq_codel" }'
    try:
        head = ["Mbit/s", "packets", "us/packet", "own us", "lost %"]
        print(f"{f'1500 B, {SECONDS} s':34}{head[0]:>10}{head[1]:>10}{head[2]:>10}{head[3]:>8}{head[4]:>8}")
        for rate in (None, "500mbit", "100mbit"):
            print(f"  load {os.getloadavg()[0]:.1f}")
            said = f", htb {rate}" if rate else ""
            kernel(rate)
            row(f"kernel bridge{said}, tcp", None)
            unkernel()
            shape = f'shape = "{rate}"\n' if rate else ""
            said = f", {rate}" if rate else ""
            for way in WAYS * (1 if rate else TURNS):
                running = gateway(program, shape + fair, "--io", way)
                row(f"gateway fq_codel{said}, {way}, tcp", running.pid)
                if not rate:
                    row(f"gateway fq_codel, {way}, tcp -R", running.pid, "-R")
                print("  ", engine(program), flush=True)
                end(running)
        with tempfile.TemporaryDirectory() as folder:
            running = gateway(program, fair, "--tap", f"{folder}/tap")
            row("gateway fq_codel with --tap, tcp", running.pid)
            print("  ", engine(program), flush=True)
            end(running)
        ping(program, fair)
    finally:
        clean()


def ping(program: str, fair: str) -> None:
    """Print round trips through an idle bridge and gateway, by either way."""
    words = "ip netns exec glbh ping -n -q -i 0.002 -c 1500 10.78.0.2"
    kernel(None)
    print(f"kernel bridge: {sh(words).strip().splitlines()[-1]}", flush=True)
    unkernel()
    for way in WAYS * TURNS:
        running = gateway(program, fair, "--io", way)
        print(f"gateway fq_codel, {way}: {sh(words).strip().splitlines()[-1]}", flush=True)
        end(running)


def engine(program: str) -> str:
    """What the gateway says of its loop, and of its tap."""
    status = json.loads(sh(f"ip netns exec glbg {program} status --json"))
    said = {key: status["engine"][key] for key in ("ring_full", "stalls", "late_us")}
    tap = {key: status["tap"][key] for key in ("bytes", "lost", "full")} if status.get("tap") else {}
    return json.dumps(said | tap)


class Time(ctypes.Structure):
    """`struct timespec`."""

    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


def timer(gap_us: int, count: int = 20_000) -> str:
    """Sleep every `gap_us`, as far as packets are apart, and do nothing else: no shaper can cost less."""
    libc, due_ns = ctypes.CDLL(None), time.monotonic_ns()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(count):
        due_ns += gap_us * 1000
        at = Time(*divmod(due_ns, 10**9))
        libc.clock_nanosleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(at), None)
    after = resource.getrusage(resource.RUSAGE_SELF)
    own_us = 1e6 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / count
    return f"a sleep alone, every {gap_us} us: {own_us:.1f} us of own time"


if __name__ == "__main__":
    print(timer(120))
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/gamelane-gateway")
