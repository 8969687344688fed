"""Linux's queues set up by `tc`, by `gamelane-gateway run --engine kernel`, and `--engine user`, in turns.

Needs what bench/gateway.py needs: `python -m bench.engines target/release/gamelane-gateway`. All have a FIFO and carry
packets of 1500 B that no offload joins. The last lines are medians.
"""

from __future__ import annotations

import statistics
import sys

from bench.gateway import busy, clean, end, gateway, iperf, kernel, network, own, sent, unkernel

TURNS = 7
RATES = {"100 Mbit/s": "100mbit", "500 Mbit/s": "500mbit", "unshaped": None}
TC, KERNEL, USER = WAYS = ("tc", "kernel engine", "user-space engine")
FIFO = 'up = { queue = "fifo" }\ndown = { queue = "fifo" }\n'
BURST = 8 * 1000
"""HTB may send a millisecond at once: this share of a second, in bytes. The kernel engine sets it, too."""


def measure(program: str, way: str, rate: str | None) -> tuple[float, float, float]:
    """Return Mbit/s, us of CPU per packet, and the program's own of them."""
    running = None
    if way != USER:
        burst = f" burst {int(rate.removesuffix('mbit')) * 10**6 // BURST}" if rate else ""
        kernel(f"{rate}{burst} c{burst.strip()}" if rate and way == TC else None)
    if way != TC:
        shape = f'shape = "{rate}"\n' if rate else ""
        running = gateway(program, shape + FIFO, "--engine", "user" if way == USER else "kernel", "--user", "root")
    before, own_before, packets_before = busy(), own(running.pid) if running else 0.0, sent()
    done = iperf()
    cpu, packets = busy() - before, sent() - packets_before
    own_cpu = own(running.pid) - own_before if running else 0.0
    if running:
        end(running)
    if way != USER:
        unkernel()
    return done["sum_received"]["bits_per_second"] / 1e6, cpu / packets * 1e6, own_cpu / packets * 1e6


def main(program: str) -> None:
    """Print the table."""
    clean()
    network()
    try:
        head = f"{'':12}{'':20}{'Mbit/s':>10}{'us/packet':>11}{'own us':>9}"
        print(head)
        medians = []
        for label, rate in RATES.items():
            rows: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
            for turn in range(TURNS):
                # Which is first changes, in case the machine does.
                for way in WAYS[turn % 3 :] + WAYS[: turn % 3]:
                    row = measure(program, way, rate)
                    rows[way].append(row)
                    print(f"{label:12}{way:20}{row[0]:10.0f}{row[1]:11.2f}{row[2]:9.2f}", flush=True)
            for way in WAYS:
                row = tuple(statistics.median(column) for column in zip(*rows[way], strict=True))
                medians.append(f"{label:12}{way:20}{row[0]:10.0f}{row[1]:11.2f}{row[2]:9.2f}")
        print("medians", head[7:], *medians, sep="\n")
    finally:
        clean()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "target/release/gamelane-gateway")
