"""Throughput and CPU per packet of the gateway beside a kernel bridge with htb, and its delay, between namespaces.

Needs root, iproute2, ethtool and iperf3, and a release build: `python bench/gateway.py target/release/gamelane-gateway`.
Prints a table row by row. CPU is that of the whole machine from /proc/stat (busy time of all processors, iperf3's ends
included) over the packets that iperf3 sent, and for the gateway its own besides.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 5
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
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script}\n{done.stderr}")
    return done.stdout


def network() -> None:
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
    for place in "hgi":
        subprocess.run(
            ["sh", "-c", f"ip netns pids glb{place} | xargs -r kill -9; ip netns del glb{place}"],
            stderr=subprocess.DEVNULL,
            check=False,
        )


def busy() -> float:
    user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq) / HZ


def own(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HZ


def iperf(*words: str) -> dict:
    server = subprocess.Popen(["ip", "netns", "exec", "glbi", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    out = sh(f"ip netns exec glbh iperf3 -J -c 10.78.0.2 -t {SECONDS} {' '.join(words)}")
    server.wait()
    return json.loads(out)["end"]


def row(name: str, pid: int | None, *words: str) -> None:
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


def gateway(program: str, text: str) -> tuple[subprocess.Popen, Path]:
    path = Path(tempfile.mkdtemp()) / "policy.toml"
    path.write_text(POLICY.format(gateway=text))
    words = ["ip", "netns", "exec", "glbg", program, "run", "--lan", "lan", "--wan", "wan", str(path)]
    running = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    return running, path


def kernel(rate: str | None) -> None:
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
    sh(
        "ip -n glbg link del br0; for i in lan wan; do ip netns exec glbg tc qdisc del dev $i root 2>/dev/null || :; done"
    )


def main(program: str) -> None:
    clean()
    network()
    fair = 'up = { queue = "fq_codel" }\ndown = { queue = "fq_codel" }'
    try:
        print(
            f"{'1500 B, ' + str(SECONDS) + ' s':34}{'Mbit/s':>10}{'packets':>10}{'us/packet':>10}{'own us':>8}{'lost %':>8}"
        )
        for rate in (None, "500mbit", "100mbit"):
            said = f", htb {rate}" if rate else ""
            kernel(rate)
            row(f"kernel bridge{said}, tcp", None)
            unkernel()
            shape = f'shape = "{rate}"\n' if rate else ""
            said = f", shaped to {rate}" if rate else ""
            running, _ = gateway(program, shape + fair)
            row(f"gateway fq_codel{said}, tcp", running.pid)
            if not rate:
                row("gateway fq_codel, tcp -R", running.pid, "-R")
            print("  ", engine(program), flush=True)
            running.terminate()
            running.wait()
        for name in ("kernel bridge", "gateway fq_codel"):
            running = None
            if name == "kernel bridge":
                kernel(None)
            else:
                running, _ = gateway(program, fair)
            ping = sh("ip netns exec glbh ping -n -q -i 0.002 -c 1500 10.78.0.2").strip().splitlines()[-1]
            print(f"{name}: {ping}", flush=True)
            if running:
                running.terminate()
                running.wait()
            else:
                unkernel()
    finally:
        clean()


def engine(program: str) -> str:
    status = json.loads(sh(f"ip netns exec glbg {program} status --json"))
    return json.dumps({key: status["engine"][key] for key in ("ring_full", "stalls", "late_us")})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/gamelane-gateway")
