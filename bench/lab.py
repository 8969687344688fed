"""The household on real hosts beside the same household simulated, behind each queue: the game's round trips.

usage: .venv/bin/python bench/lab.py [lab|kernel|kernel-vm] [REPEATS] [KEY=VALUE ...]
       lab and kernel as root; default: the lab, once, scenarios/household.toml

kernel-vm is `--engine kernel --vm`: in virtual time. The others run in real time.

Agreement is 10 % or 3 ms at the median and the 95th percentile, and the same order of the queues. Linux finds losses
by RACK, so `flow.upload.tcp.recovery=rack` compares like with like. The load is that of the whole machine before a
run: processes that want a core, over a minute.
"""

from __future__ import annotations

import os
import platform
import sys
import time

from gamelane import experiment, host
from gamelane.commands.engines import real as real_engine
from gamelane.experiment import Hooks
from gamelane.records.results import Results

QUEUES = ("fifo", "pie", "codel", "fq_pie", "fq_codel")
GAME, UPLOAD = "quake3", "upload"
SHARE, MS = 0.10, 3.0


def main() -> None:
    """Run both and print them."""
    words = sys.argv[1:]
    name = words.pop(0) if words and not words[0].isdigit() and "=" not in words[0] else "lab"
    repeats = int(words.pop(0)) if words and words[0].isdigit() else 1
    chosen = experiment.load("household").with_(dict(word.split("=", 1) for word in words))
    variants = {queue: {"gateway.*.queue": queue} for queue in QUEUES}
    loads: list[float] = []

    def say(words: str) -> None:
        loads.append(os.getloadavg()[0])
        print(f"{words}; load {loads[-1]:.1f}", file=sys.stderr)

    say(f"{name} begins")
    hosts = real_engine(name.removesuffix("-vm"), chosen, None, vm=name.endswith("-vm"), tell=say)
    began = time.monotonic()
    real = experiment.compare(chosen, variants, seeds=repeats, hooks=Hooks(engine=hosts))
    took_s = time.monotonic() - began
    simulated = experiment.compare(chosen, variants, seeds=repeats)
    print(f"{platform.platform()}, {host.cores()} cores, {chosen.scenario.duration_s:g} s, {repeats} runs each")
    print(
        f"{name}, {real.host['kernel']}: {took_s:.0f} s for {len(QUEUES) * repeats} runs, load {max(loads):.1f} at most"
    )
    print("           game RTT p50, ms      game RTT p95, ms      upload, Mbit/s")
    print("queue        sim   real            sim   real             sim  real")
    for queue in QUEUES:
        sides = [_figures(results, queue) for results in (simulated, real)]
        (p50, p95, up), (lab50, lab95, labup) = sides
        print(
            f"{queue:9} {p50:6.1f} {lab50:6.1f} {_verdict(p50, lab50):8}"
            f" {p95:6.1f} {lab95:6.1f} {_verdict(p95, lab95):8} {up:6.2f} {labup:5.2f}"
        )
    for at, name in ((0, "p50"), (1, "p95")):
        orders = [sorted(QUEUES, key=lambda queue: _figures(results, queue)[at]) for results in (simulated, real)]
        print(f"order by {name}: {' < '.join(orders[0])} (sim); {' < '.join(orders[1])} (real)")


def _figures(results: Results, queue: str) -> tuple[float, float, float]:
    flows = results[queue].summary["flows"]
    rtt, throughput = flows[GAME]["rtt_ms"], flows[UPLOAD]["up"]["throughput_bps"]["mean"]
    return rtt["p50"]["mean"], rtt["p95"]["mean"], throughput["mean"] / 1e6


def _verdict(simulated: float, real: float) -> str:
    off = real - simulated
    return f"{off:+.1f}{'' if abs(off) <= max(SHARE * simulated, MS) else ' (!)'}"


if __name__ == "__main__":
    main()
