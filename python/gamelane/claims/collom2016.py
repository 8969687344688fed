"""collom2016: FIFO, PIE, CoDel, FQ-PIE and FQ-CoDel at a home gateway against shooter traffic.

Each function judges the claim of the same id in `collom2016.toml`. Where the paper is silent the base scenario
`collom2016.toml` says what we took instead; nothing in it was chosen by looking at these results."""

from __future__ import annotations

from collections.abc import Callable
import tomllib
from typing import Any

import numpy as np

from gamelane import _native
from gamelane.claims import judge
from gamelane.claims.evidence import Arm, Evidence, Numbers
from gamelane.claims.judge import Finding, cannot_tell, given

SCENARIO = "collom2016"
GAME, UPLOAD, WEB, DASH = "quake3", "upload", "web", "dash"

QUEUES = ("fifo", "pie", "codel", "fq_pie", "fq_codel")
GAMES = ("quake3", "quake4", "hldm", "hl2dm", "hlcs", "cssource", "et")
BASE_RTTS = ("0ms", "20ms", "40ms", "100ms", "160ms", "200ms", "300ms", "400ms")
SLOW, FAST = ("12mbit", "1mbit"), ("50mbit", "20mbit")

RTT_MAX = f"flows.{GAME}.rtt_ms.max"
RTT_MEAN = f"flows.{GAME}.rtt_ms.mean"
RTT_MEDIAN = f"flows.{GAME}.rtt_ms.p50"
CV_UP = f"flows.{GAME}.up.throughput_bps.cv"
CV_DOWN = f"flows.{GAME}.down.throughput_bps.cv"
THROUGHPUT_UP = f"flows.{GAME}.up.throughput_bps.mean"
THROUGHPUT_DOWN = f"flows.{GAME}.down.throughput_bps.mean"

Check = Callable[[Evidence], Finding]
CHECKS: dict[str, Check] = {}


def check(*ids: str) -> Callable[[Check], Check]:
    """Registers the judge of one or more claims."""

    def register(function: Check) -> Check:
        for claim in ids:
            CHECKS[f"collom2016.{claim}"] = function
        return function

    return register


# Arms ------------------------------------------------------------------------------------------------------------


def mixed(queue: str, packets: int, link: tuple[str, str] = SLOW, rtt: str = "40ms") -> Arm:
    """All traffic, both directions behind `queue`."""
    return Arm.of(
        {
            "gateway.*.queue": queue,
            "gateway.*.limit": f"{packets}p",
            "link.down": link[0],
            "link.up": link[1],
            "link.rtt": rtt,
        }
    )


def paper(queue: str) -> Arm:
    """The arm a figure of the paper shows: FIFO with 100 packets, everything else with 1000."""
    return mixed(queue, 100 if queue == "fifo" else 1000)


def without(arm: Arm, *flows: str) -> Arm:
    """The same with these flows switched off."""
    return arm.with_({f"flow.{flow}.enabled": "false" for flow in flows})


def bulk_only(queue: str) -> Arm:
    return without(paper(queue), WEB, DASH)


def dash_only(queue: str) -> Arm:
    return without(paper(queue), WEB, UPLOAD)


def alone() -> Arm:
    return without(mixed("fifo", 100, rtt="0ms"), WEB, DASH, UPLOAD)


def alone_at_40ms() -> Arm:
    return without(mixed("fifo", 100), WEB, DASH, UPLOAD)


def prefetch(evidence: Evidence) -> None:
    """Everything below, in one parallel batch."""
    arms = [mixed(queue, packets) for queue in QUEUES for packets in (100, 1000)]
    arms += [mixed(queue, packets, FAST) for queue in QUEUES for packets in (100, 1000)]
    arms += [bulk_only(queue) for queue in QUEUES] + [dash_only(queue) for queue in QUEUES]
    arms += [alone(), alone_at_40ms()]
    arms += [mixed("fq_codel", 1000, link, rtt) for link in (SLOW, FAST) for rtt in BASE_RTTS]
    arms += [paper(queue).with_({f"flow.{GAME}.model": game}) for queue in QUEUES for game in GAMES]
    arms += [arm for queue in ("fq_codel", "fq_pie") for arm in _every_game_and_rtt(queue)]
    arms += list(_fifo_variants().values())
    evidence.prepare(arms)


def _every_game_and_rtt(queue: str) -> list[Arm]:
    return [
        mixed(queue, 1000, rtt=rtt).with_({f"flow.{GAME}.model": game}) for game in GAMES for rtt in BASE_RTTS
    ]


def _fifo_variants() -> dict[str, Arm]:
    """What moves the FIFO peak: the window, the slots, and how many of them small packets take."""
    base = paper("fifo")
    return {
        "64 KiB receive window": base.with_({"tcp.receive_window": "64KiB"}),
        "50 slots (dummynet's default)": base.with_({"gateway.*.limit": "50p"}),
        "150000-byte limit instead of 100 slots": base.with_({"gateway.*.limit": "150000B"}),
        "the game's own client stream (30 packets/s instead of 100)": base.with_({f"flow.{GAME}.client": "game"}),
        "game and upload only": bulk_only("fifo"),
    }


# Inputs: the scenario says what the paper says --------------------------------------------------------------------


def _toml(evidence: Evidence, arm: Arm | None = None) -> dict[str, Any]:
    return tomllib.loads(evidence.scenario(arm or Arm(())).to_toml())


def _flow(evidence: Evidence, name: str) -> dict[str, Any]:
    flows: list[dict[str, Any]] = _toml(evidence)["flow"]
    return next(flow for flow in flows if flow["name"] == name)


@check("sweep")
def sweep(evidence: Evidence) -> Finding:
    cells = [
        mixed(queue, packets, link, rtt).with_({f"flow.{GAME}.model": game})
        for link in (SLOW, FAST)
        for rtt in BASE_RTTS
        for queue in QUEUES
        for packets in (100, 1000)
        for game in GAMES
    ]
    hashes = {evidence.scenario(cell).hash for cell in cells}
    return given(len(hashes) == 1120, f"{len(hashes)} different cells, each accepted as a scenario")


@check("bandwidths", "rttbase", "queues", "buffers", "games")
def grid_axes(evidence: Evidence) -> Finding:
    return given(
        all(evidence.scenario(mixed(q, p, link, rtt)) for q in QUEUES for p in (100, 1000) for link in (SLOW, FAST)
            for rtt in BASE_RTTS)
        and {game["name"] for game in _native.games()} >= set(GAMES),
        f"links {SLOW[0]}/{SLOW[1]} and {FAST[0]}/{FAST[1]}; RTTs {', '.join(BASE_RTTS)}; queues {', '.join(QUEUES)};"
        f" 100 and 1000 packets; games {', '.join(GAMES)}",
        "the RTT is split evenly over both directions, the limit holds per direction and, for FQ, over all sub-queues",
    )


@check("cc")
def congestion_control(evidence: Evidence) -> Finding:
    tcp = _toml(evidence)["tcp"]
    return given(
        tcp["congestion"] == "newreno",
        f"NewReno, {tcp['recovery']} recovery",
        "FreeBSD hosts are our own TCP with its settings, dummynet our queues with its parameters; not its kernel",
    )


@check("fourplayer")
def four_players(evidence: Evidence) -> Finding:
    flow = _flow(evidence, GAME)
    return given(flow["app"] == "game" and flow["players"] == 4, "one client, one server, sizes of 4 players")


@check("p2p-overhead")
def peer_to_peer(_: Evidence) -> Finding:
    return cannot_tell("no peer-to-peer game model yet")


@check("discovery")
def discovery(_: Evidence) -> Finding:
    return cannot_tell("server discovery is not modelled: it ends before the match begins")


@check("arma")
def arma(evidence: Evidence) -> Finding:
    sizes = {}
    for players in (2, 3, 4, 16, 32):
        arm = alone().with_({f"flow.{GAME}.players": str(players)})
        packets = evidence.values(arm, f"flows.{GAME}.down.received")
        rate = evidence.values(arm, THROUGHPUT_DOWN)
        sizes[players] = float(np.mean(rate * evidence.base.duration_s / 8 / packets)) - 28
    growth = np.diff([sizes[n] for n in (2, 3, 4)])
    return given(
        bool(np.all(growth > 0)) and abs(growth[0] / growth[1] - 1) < 0.15,
        ", ".join(f"{n} players {size:.0f} B" for n, size in sizes.items()),
        "ARMA(1,1) around a mean that grows with the players; the coefficients are our construction, the paper gives none",
    )


@check("bulk")
def bulk(evidence: Evidence) -> Finding:
    flow = _flow(evidence, UPLOAD)
    return given(
        flow["start"] == "10s" and flow["direction"] == "up" and "stop" not in flow, "up, from 10 s to the end"
    )


@check("web")
def web(evidence: Evidence) -> Finding:
    flow = _flow(evidence, WEB)
    return given(flow["every"] == "10s", f"every {flow['every']}, lasting {flow['lasting']}",
                 "the paper does not give the distribution")


@check("dash")
def dash(evidence: Evidence) -> Finding:
    flow = _flow(evidence, DASH)
    ours = (flow["chunk"], flow["rates"], flow["gap"], flow["period"])
    expected = ("5s", ["500kbit", "1000kbit", "5000kbit"], "2s", "10s")
    same = ours == expected or ours == ("5s", ["500kbit", "1mbit", "5mbit"], "2s", "10s")
    return given(same, f"chunks of {ours[0]} at {', '.join(ours[1])}, {ours[2]} apart, every {ours[3]}")


@check("t1.sydney", "t1.california", "t1.washington", "t1.london")
def live_servers(_: Evidence) -> Finding:
    return cannot_tell("pings to public servers of 2016; usable as link.rtt, not repeatable")


@check("lan-rtt", "qoe.wc3", "qoe.ut.loss", "qoe.ut.shoot", "qoe.ut.move", "qoe.q3.lat", "qoe.q3.loss", "qoe.mmo",
       "qoe.jitter", "qoe.serverchoice")
def literature(_: Evidence) -> Finding:
    return cannot_tell("a result of other papers that needs players")


@check("live.grid", "live.delay", "live.loss", "live.latency-over-loss")
def live_trial(_: Evidence) -> Finding:
    return cannot_tell("a trial with players: needs live impairment of a real interface, which is not built yet")


# Mechanisms -------------------------------------------------------------------------------------------------------


def _reasons(evidence: Evidence, arm: Arm) -> set[str]:
    def measure(run: _native.Run) -> set[str]:
        names = ("tail", "overlimit", "aqm-enqueue", "aqm-dequeue", "link", "path")
        return {names[reason] for reason in np.unique(run.tables()["drops"]["reason"])}

    return set().union(*evidence.derived(arm, "reasons", measure))


def _drops_only(queue: str, allowed: set[str], how: str) -> Check:
    def judge_drops(evidence: Evidence) -> Finding:
        reasons = _reasons(evidence, paper(queue))
        return given(bool(reasons) and reasons <= allowed, f"drops: {', '.join(sorted(reasons))}", how)

    return judge_drops


check("fifo.def")(_drops_only("fifo", {"tail"}, "order within each flow is a property every queue is tested for"))
check("pie.def")(_drops_only("pie", {"aqm-enqueue", "tail"}, "the law is RFC 8033's, tested step by step"))
check("codel.def")(_drops_only("codel", {"aqm-dequeue", "tail"}, "the law is RFC 8289's, tested drop by drop"))
check("fqcodel.def")(
    _drops_only("fq_codel", {"aqm-dequeue", "overlimit"}, "salted 5-tuple hash, DRR, CoDel in each queue (RFC 8290)")
)
check("fqpie.def")(
    _drops_only("fq_pie", {"aqm-enqueue", "overlimit"}, "the scheduler of FQ-CoDel with PIE in each queue")
)


@check("fifo.fastlink")
def fifo_fast_link(evidence: Evidence) -> Finding:
    mean = evidence.values(alone(), "queues.up.backlog_packets.mean")
    return given(float(mean.max()) < 0.1, f"mean backlog {judge.number(mean)} packets while 70 kbit/s use 1 Mbit/s")


@check("fifo.bufferbloat")
def bufferbloat(evidence: Evidence) -> Finding:
    return judge.less(
        "100 packets", evidence.values(mixed("fifo", 100), RTT_MEAN),
        "1000 packets", evidence.values(mixed("fifo", 1000), RTT_MEAN), "ms",
    )


@check("aqm.early")
def drops_early(evidence: Evidence) -> Finding:
    fifo = evidence.values(mixed("fifo", 1000), f"flows.{UPLOAD}.up.queue_delay_ms.mean")
    findings = []
    for queue in QUEUES[1:]:
        delay = evidence.values(mixed(queue, 1000), f"flows.{UPLOAD}.up.queue_delay_ms.mean")
        peak = evidence.values(mixed(queue, 1000), "queues.up.backlog_packets.max")
        findings.append(judge.less(f"{queue} delay", delay, "fifo delay", fifo, "ms"))
        findings.append(given(float(peak.max()) < 1000, f"{queue} peak {judge.number(peak)} of 1000 packets"))
    return judge.all_of(*findings)


# The game alone (Figs. 4 and 5) -----------------------------------------------------------------------------------


@check("alone.rtt")
def alone_rtt(evidence: Evidence) -> Finding:
    worst = evidence.values(alone(), RTT_MAX)
    return given(float(worst.max()) < 2, f"maximum {judge.number(worst)} ms", "serialisation of single packets")


@check("alone.loss")
def alone_loss(evidence: Evidence) -> Finding:
    return judge.zero(_lost(evidence, alone()), "packets")


@check("alone.throughput")
def alone_throughput(evidence: Evidence) -> Finding:
    own = alone().with_({f"flow.{GAME}.client": "game"})
    up, down = evidence.values(own, THROUGHPUT_UP) / 1e3, evidence.values(own, THROUGHPUT_DOWN) / 1e3
    finding = judge.less(
        "client to server", evidence.values(alone(), THROUGHPUT_UP) / 1e3,
        "server to client", evidence.values(alone(), THROUGHPUT_DOWN) / 1e3, "kbit/s",
    )
    return Finding(
        finding.verdict, finding.ours,
        "TEACUP's client sends 60 B every 10 ms, four times the server's packets; with the game's own client stream it is"
        f" {judge.number(up)} up and {judge.number(down)} kbit/s down, as the paper says",
    )


# Mixed traffic behind each queue (Figs. 6 to 19) ------------------------------------------------------------------


def _lost(evidence: Evidence, arm: Arm) -> Numbers:
    return evidence.values(arm, f"flows.{GAME}.up.lost") + evidence.values(arm, f"flows.{GAME}.down.lost")


def _loss_percent(evidence: Evidence, arm: Arm) -> Numbers:
    sent = evidence.values(arm, f"flows.{GAME}.up.sent") + evidence.values(arm, f"flows.{GAME}.down.sent")
    return 100 * _lost(evidence, arm) / sent


def _cv(evidence: Evidence, arm: Arm) -> Numbers:
    """Fluctuation of game throughput: the larger of the two directions, which is the congested one."""
    return np.maximum(evidence.values(arm, CV_UP), evidence.values(arm, CV_DOWN))


@check("upstream-first")
def upstream_first(evidence: Evidence) -> Finding:
    return judge.less(
        "down", evidence.values(paper("fifo"), f"flows.{GAME}.down.queue_delay_ms.mean"),
        "up", evidence.values(paper("fifo"), f"flows.{GAME}.up.queue_delay_ms.mean"), "ms",
    )


@check("rtt-floor")
def rtt_floor(evidence: Evidence) -> Finding:
    def measure(run: _native.Run) -> float:
        return float(run.tables()["rtt"]["rtt_ns"].min()) / 1e6

    lowest = {rtt: min(evidence.derived(mixed("fq_codel", 1000, rtt=rtt), "floor", measure)) for rtt in BASE_RTTS}
    return given(
        all(lowest[rtt] >= float(rtt.removesuffix("ms")) for rtt in BASE_RTTS),
        ", ".join(f"base {rtt}: least {least:.1f} ms" for rtt, least in lowest.items()),
    )


@check("bulk.fills")
def bulk_fills(evidence: Evidence) -> Finding:
    arm = bulk_only("fifo")
    share = evidence.values(arm, f"flows.{UPLOAD}.up.throughput_bps.mean")
    game = evidence.values(arm, THROUGHPUT_UP)
    return judge.near((share + game) / 1e6, 1.0, 0.10, "Mbit/s up, upload and game together")


@check("fifo.mixed-jump")
def fifo_jump(evidence: Evidence) -> Finding:
    jam = paper("fifo")
    findings = [
        judge.less("game alone", evidence.values(alone_at_40ms(), RTT_MEAN), f"{flow} in the mix",
                   evidence.values(jam, f"flows.{flow}.rtt_ms.mean"), "ms")
        for flow in (GAME, UPLOAD, WEB, DASH)
    ]
    return judge.all_of(*findings)


@check("fifo.peak")
def fifo_peak(evidence: Evidence) -> Finding:
    variants = {name: judge.number(evidence.values(arm, RTT_MAX)) for name, arm in _fifo_variants().items()}
    listed = "; ".join(f"{name}: {peak} ms" for name, peak in variants.items())
    share = evidence.derived(paper("fifo"), "slots", _game_share_of_uplink)
    return judge.near(
        evidence.values(paper("fifo"), RTT_MAX), 570, 0.30, "ms",
        "100 slots are not 100 full packets: of the packets that pass the uplink"
        f" {100 * float(np.mean(share)):.0f} % are 88 B game packets. With something else changed: {listed}",
    )


def _game_share_of_uplink(run: _native.Run) -> float:
    windows = run.tables()["windows"]
    up = windows["direction"] == 0
    late = windows["t_ns"] >= 20e9
    return float(windows["received"][up & late & (windows["flow"] == 0)].sum() / windows["received"][up & late].sum())


@check("fifo.gamestart")
def fifo_game_start(_: Evidence) -> Finding:
    return cannot_tell("the paper does not say why its plots begin near 8 s; our game runs from 0 s")


@check("fifo.cause")
def fifo_cause(evidence: Evidence) -> Finding:
    base = evidence.values(alone_at_40ms(), RTT_MEAN)
    down = evidence.values(without(paper("fifo"), UPLOAD), RTT_MEAN) - base
    return judge.less("DASH and web add", down, "the upload adds", evidence.values(bulk_only("fifo"), RTT_MEAN) - base, "ms")


def _dominant_period(run: _native.Run, table: str, direction: int | None) -> float:
    """The lag between 4 and 16 s at which the series of 0.5 s maxima of the game resembles itself most, in seconds."""
    rows = run.tables()[table]
    own = rows["flow"] == 0
    if direction is not None:
        own &= rows["direction"] == direction
    value = rows["rtt_ns" if table == "rtt" else "queue_delay_ns"][own] / 1e6
    bins = (rows["t_ns"][own] / 5e8).astype(int)
    series = np.zeros(120)
    np.maximum.at(series, np.minimum(bins, 119), value)
    series = series[20:] - series[20:].mean()
    lags = range(8, 33)
    if not series.any():
        return 0.0
    power = [float(np.dot(series[:-lag], series[lag:])) / (len(series) - lag) for lag in lags]
    return lags[int(np.argmax(power))] / 2


def _period(arm: Arm, name: str, table: str, direction: int | None) -> Callable[[Evidence], Numbers]:
    def periods(evidence: Evidence) -> Numbers:
        return np.array(evidence.derived(arm, name, lambda run: _dominant_period(run, table, direction)))

    return periods


@check("fifo.period")
def fifo_period(evidence: Evidence) -> Finding:
    periods = _period(paper("fifo"), "period-down", "delay", 1)(evidence)
    return judge.near(periods, 10, 0.10, "s between peaks of downstream queue delay")


@check("fifo.thr-fluct")
def fifo_fluctuation(evidence: Evidence) -> Finding:
    return judge.all_of(
        judge.less("cv alone", _cv(evidence, alone_at_40ms()), "mixed", _cv(evidence, paper("fifo")), ""),
        _same_throughput(evidence, paper("fifo")),
    )


def _same_throughput(evidence: Evidence, arm: Arm) -> Finding:
    ours = evidence.values(arm, THROUGHPUT_DOWN) + evidence.values(arm, THROUGHPUT_UP)
    base = evidence.values(alone_at_40ms(), THROUGHPUT_DOWN) + evidence.values(alone_at_40ms(), THROUGHPUT_UP)
    return judge.near(ours / base, 1, 0.10, "of the throughput alone")


@check("fifo.loss")
def fifo_loss(evidence: Evidence) -> Finding:
    return judge.above_zero(_loss_percent(evidence, paper("fifo")), "% of game packets")


@check("pie.peak")
def pie_peak(evidence: Evidence) -> Finding:
    return _peak(evidence, "pie", 420)


@check("codel.peak")
def codel_peak(evidence: Evidence) -> Finding:
    return _peak(evidence, "codel", 250)


@check("fqpie.max")
def fq_pie_peak(evidence: Evidence) -> Finding:
    return _peak(evidence, "fq_pie", 75)


@check("fqcodel.max")
def fq_codel_peak(evidence: Evidence) -> Finding:
    return _peak(evidence, "fq_codel", 80)


def _peak(evidence: Evidence, queue: str, theirs: float) -> Finding:
    finding = judge.near(evidence.values(paper(queue), RTT_MAX), theirs, 0.30, "ms")
    if finding.verdict == "reproduced":
        return finding
    return Finding(finding.verdict, finding.ours, _peak_cause(evidence, queue))


def _peak_cause(evidence: Evidence, queue: str) -> str:
    """Which traffic makes the peak, and what a smaller window does to it."""
    parts = {
        "upload only": bulk_only(queue),
        "DASH only": dash_only(queue),
        "no upload": without(paper(queue), UPLOAD),
        "64 KiB window": paper(queue).with_({"tcp.receive_window": "64KiB"}),
        "RFC parameters": paper(queue).with_({"gateway.*.parameters": "rfc"}),
        "Linux parameters": paper(queue).with_({"gateway.*.parameters": "linux"}),
        "game's own client stream": paper(queue).with_({f"flow.{GAME}.client": "game"}),
    }
    return "; ".join(f"{name}: {judge.number(evidence.values(arm, RTT_MAX))} ms" for name, arm in parts.items())


@check("pie.bulk")
def pie_majority(evidence: Evidence) -> Finding:
    def measure(run: _native.Run) -> float:
        rows = run.tables()["rtt"]
        own = rows["rtt_ns"][(rows["flow"] == 0) & (rows["t_ns"] >= 12e9)] / 1e6
        return float(np.median(own))

    median = np.array(evidence.derived(paper("pie"), "loaded-median", measure))
    return judge.between(median, 50 * 0.7, 60 * 1.3, "ms (median from 12 s on)")


def _below_fifo(queue: str) -> Check:
    def judge_queue(evidence: Evidence) -> Finding:
        return judge.all_of(*(
            judge.less(f"{queue} {name}", evidence.values(paper(queue), path), "fifo", evidence.values(paper("fifo"), path), "ms")
            for name, path in (("peak", RTT_MAX), ("mean", RTT_MEAN))
        ))

    return judge_queue


check("pie.lt-fifo")(_below_fifo("pie"))
check("codel.lt-fifo")(_below_fifo("codel"))


@check("codel.lt-pie")
def codel_below_pie(evidence: Evidence) -> Finding:
    return judge.less("codel", evidence.values(paper("codel"), RTT_MAX), "pie", evidence.values(paper("pie"), RTT_MAX), "ms")


@check("pie.spikes")
def pie_spikes(evidence: Evidence) -> Finding:
    return judge.near(
        _period(paper("pie"), "period-rtt", "rtt", None)(evidence), 10, 0.10, "s between spikes",
        "downstream spikes alone: "
        + judge.number(_period(paper("pie"), "period-down", "delay", 1)(evidence)) + " s",
    )


def _more_loss(queue: str) -> Check:
    def judge_queue(evidence: Evidence) -> Finding:
        same_buffer = ", ".join(
            f"{packets} packets: fifo {judge.number(_loss_percent(evidence, mixed('fifo', packets)))},"
            f" {queue} {judge.number(_loss_percent(evidence, mixed(queue, packets)))} %"
            for packets in (100, 1000)
        )
        return judge.less(
            "fifo", _loss_percent(evidence, paper("fifo")), queue, _loss_percent(evidence, paper(queue)), "%",
            f"the paper compares FIFO with 100 packets to {queue} with 1000; at equal limits, {same_buffer}",
        )

    return judge_queue


check("pie.loss-gt-fifo")(_more_loss("pie"))
check("codel.loss-gt-fifo")(_more_loss("codel"))


def _smoother(queue: str) -> Check:
    def judge_queue(evidence: Evidence) -> Finding:
        return judge.less(f"cv {queue}", _cv(evidence, paper(queue)), "fifo", _cv(evidence, paper("fifo")), "")

    return judge_queue


check("pie.thr-smooth")(_smoother("pie"))
check("codel.thr-smooth")(_smoother("codel"))


@check("codel-pie.thr-same")
def same_throughput(evidence: Evidence) -> Finding:
    return judge.all_of(*(_same_throughput(evidence, paper(queue)) for queue in ("codel", "pie")))


@check("fqpie.mean")
def fq_pie_mean(evidence: Evidence) -> Finding:
    return judge.near(evidence.values(paper("fq_pie"), RTT_MEAN), 60, 0.30, "ms")


@check("fqpie.added")
def fq_pie_added(evidence: Evidence) -> Finding:
    mean = evidence.values(paper("fq_pie"), RTT_MEAN) - 40
    peak = evidence.values(paper("fq_pie"), RTT_MAX) - 40
    return judge.all_of(
        judge.between(mean, 20 * 0.7, 35 * 1.3, "ms added in the mean"),
        judge.between(peak, 20 * 0.7, 35 * 1.3, "ms added at most"),
        why="a sparse flow waits for at most one 1500 B packet, 12 ms at 1 Mbit/s, and on the average for half of one",
    )


@check("fqcodel.vs-fqpie")
def fq_alike(evidence: Evidence) -> Finding:
    ratio = evidence.values(paper("fq_codel"), RTT_MAX) / evidence.values(paper("fq_pie"), RTT_MAX)
    return judge.near(ratio, 1, 0.30, "of FQ-PIE's maximum")


@check("fq.rtt-order")
def rtt_order(evidence: Evidence) -> Finding:
    peaks = {queue: evidence.values(paper(queue), RTT_MAX) for queue in QUEUES}
    peaks["fq"] = np.maximum(peaks["fq_pie"], peaks["fq_codel"])
    order = ("fq", "codel", "pie", "fifo")
    return judge.all_of(*(
        judge.less(a, peaks[a], b, peaks[b], "ms") for a, b in zip(order, order[1:], strict=False)
    ))


def _never_loses(queue: str) -> Check:
    def judge_queue(evidence: Evidence) -> Finding:
        lost = np.concatenate([_lost(evidence, arm) for arm in _every_game_and_rtt(queue)])
        return judge.zero(lost, "packets", "7 games at 8 round-trip times")

    return judge_queue


check("fqcodel.loss0")(_never_loses("fq_codel"))
check("fqpie.loss0")(_never_loses("fq_pie"))


@check("fq.thr")
def fq_throughput(evidence: Evidence) -> Finding:
    cv = {queue: _cv(evidence, paper(queue)) for queue in QUEUES}
    findings = [
        judge.less(f"cv {fq}", cv[fq], other, cv[other], "")
        for fq in ("fq_codel", "fq_pie")
        for other in ("codel", "pie", "fifo")
    ]
    return judge.all_of(*findings)


@check("fq.sparse")
def fq_sparse(evidence: Evidence) -> Finding:
    def measure(run: _native.Run) -> float:
        """Share of game packets that waited less than the 10 ms to the next one of their direction."""
        rows = run.tables()["delay"]
        own = (rows["flow"] == 0) & (rows["direction"] == 0) & (rows["t_ns"] >= 12e9)
        return float(np.mean(rows["queue_delay_ns"][own] < 10e6))

    findings = []
    for queue in ("fq_codel", "fq_pie"):
        share = np.array(evidence.derived(paper(queue), "sparse", measure)) * 100
        findings.append(judge.between(share, 50, 100, f"% of client packets left {queue} before the next came"))
    return judge.all_of(*findings)


@check("fq.base-sweep")
def fq_base_sweep(evidence: Evidence) -> Finding:
    added = {
        rtt: evidence.values(mixed("fq_codel", 1000, rtt=rtt), RTT_MEDIAN) - float(rtt.removesuffix("ms"))
        for rtt in BASE_RTTS
    }
    means = [float(values.mean()) for values in added.values()]
    return given(
        max(means) < 20 and max(means) - min(means) < 10,
        ", ".join(f"{rtt}: +{judge.number(values)}" for rtt, values in added.items()) + " ms",
    )


def _iqr(evidence: Evidence, arm: Arm) -> Numbers:
    return evidence.values(arm, f"flows.{GAME}.rtt_ms.p75") - evidence.values(arm, f"flows.{GAME}.rtt_ms.p25")


@check("fq.fast-link")
def fq_fast_link(evidence: Evidence) -> Finding:
    return judge.all_of(*(
        judge.less(
            f"{rtt}: 50/20", _iqr(evidence, mixed("fq_codel", 1000, FAST, rtt)),
            "12/1", _iqr(evidence, mixed("fq_codel", 1000, SLOW, rtt)), "ms",
        )
        for rtt in BASE_RTTS
    ))


@check("fast-link.no-aqm")
def fast_link_benefit(evidence: Evidence) -> Finding:
    def benefit(link: tuple[str, str]) -> Numbers:
        fifo = evidence.values(mixed("fifo", 100, link), RTT_MEAN)
        return fifo - evidence.values(mixed("fq_codel", 1000, link), RTT_MEAN)

    return judge.less("FQ-CoDel saves at 50/20", benefit(FAST), "at 12/1", benefit(SLOW), "ms")


@check("all-aqm-help")
def every_aqm_helps(evidence: Evidence) -> Finding:
    fifo = evidence.values(paper("fifo"), RTT_MEAN)
    return judge.all_of(*(
        judge.less(queue, evidence.values(paper(queue), RTT_MEAN), "fifo", fifo, "ms") for queue in QUEUES[1:]
    ))


@check("all-games-same")
def games_alike(evidence: Evidence) -> Finding:
    ranks, peaks = {}, {}
    for game in GAMES:
        means = [evidence.values(paper(queue).with_({f"flow.{GAME}.model": game}), RTT_MEAN).mean() for queue in QUEUES]
        ranks[game] = tuple(np.argsort(means)[-3:])
        peaks[game] = float(evidence.values(paper("fifo").with_({f"flow.{GAME}.model": game}), RTT_MAX).mean())
    spread = max(peaks.values()) / min(peaks.values()) - 1
    return given(
        len(set(ranks.values())) == 1 and spread < 0.30,
        "same order of queues by mean RTT in "
        f"{sum(rank == ranks['quake3'] for rank in ranks.values())} of {len(GAMES)} games, FIFO peaks within {spread:.0%}",
    )


# Upload against video (Figs. 22 to 25) ----------------------------------------------------------------------------


@check("dash.lt-mixed")
def dash_below_mixed(evidence: Evidence) -> Finding:
    return judge.all_of(*(
        judge.less(f"DASH only, {name}", evidence.values(dash_only("fifo"), path), "mixed", evidence.values(paper("fifo"), path), "ms")
        for name, path in (("peak", RTT_MAX), ("mean", RTT_MEAN))
    ))


@check("dash.shape")
def dash_shape(evidence: Evidence) -> Finding:
    return judge.near(_period(dash_only("fifo"), "period-rtt", "rtt", None)(evidence), 10, 0.10, "s")


@check("bulk.gt-dash", "load-kind")
def bulk_above_dash(evidence: Evidence) -> Finding:
    mixed_mean = evidence.values(paper("fifo"), RTT_MEAN)
    return judge.all_of(
        judge.less("DASH only", evidence.values(dash_only("fifo"), RTT_MEAN), "bulk only", evidence.values(bulk_only("fifo"), RTT_MEAN), "ms"),
        judge.near(evidence.values(bulk_only("fifo"), RTT_MEAN) / mixed_mean, 1, 0.30, "of the mixed mean"),
    )


@check("bulk.thr")
def bulk_fluctuates(evidence: Evidence) -> Finding:
    return judge.less("cv DASH", _cv(evidence, dash_only("fifo")), "bulk", _cv(evidence, bulk_only("fifo")), "")


@check("bulk.loss")
def bulk_loss(evidence: Evidence) -> Finding:
    return judge.above_zero(_loss_percent(evidence, bulk_only("fifo")), "% of game packets")


@check("dash.loss0")
def dash_no_loss(evidence: Evidence) -> Finding:
    small = dash_only("fifo").with_({"tcp.receive_window": "64KiB"})
    return judge.zero(
        _lost(evidence, dash_only("fifo")), "packets",
        f"a 5 Mbit/s chunk fills 100 packets when the window allows it; with a 64 KiB window {judge.zero(_lost(evidence, small), 'packets').ours}",
    )


@check("pie.dash.rtt")
def pie_dash_rtt(evidence: Evidence) -> Finding:
    return judge.less("pie", evidence.values(dash_only("pie"), RTT_MEAN), "fifo", evidence.values(dash_only("fifo"), RTT_MEAN), "ms")


@check("pie.dash.loss")
def pie_dash_loss(evidence: Evidence) -> Finding:
    few = _loss_percent(evidence, dash_only("pie"))
    return judge.all_of(
        judge.above_zero(few, "% with DASH only"),
        judge.less("DASH only", few, "mixed", _loss_percent(evidence, paper("pie")), "%"),
    )


@check("codel.dash.rtt")
def codel_dash_rtt(evidence: Evidence) -> Finding:
    return judge.near(
        evidence.values(dash_only("codel"), RTT_MAX), 80, 0.30, "ms at most",
        f"mean {judge.number(evidence.values(dash_only('codel'), RTT_MEAN))} ms; the paper does not say which it means",
    )


@check("codel.dash.loss0")
def codel_dash_loss(evidence: Evidence) -> Finding:
    return judge.zero(_lost(evidence, dash_only("codel")), "packets", "one head drop of a shared queue can hit anybody")


@check("fq.dash")
def fq_dash(evidence: Evidence) -> Finding:
    fast = evidence.values(mixed("fq_codel", 1000, FAST), RTT_MEAN) - 40
    return judge.all_of(*(
        judge.between(evidence.values(dash_only(queue), RTT_MEAN) - 40, 0, 5, f"ms added by {queue}")
        for queue in ("fq_codel", "fq_pie")
    ), why=f"at 50/20 with all traffic FQ-CoDel adds {judge.number(fast)} ms")


@check("bulk.aqm-same")
def bulk_like_mixed(evidence: Evidence) -> Finding:
    return judge.all_of(*(
        judge.near(
            evidence.values(bulk_only(queue), RTT_MEAN) / evidence.values(paper(queue), RTT_MEAN), 1, 0.30,
            f"of the mixed mean behind {queue}",
        )
        for queue in QUEUES
    ))
