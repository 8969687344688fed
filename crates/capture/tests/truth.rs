//! Captures of our own TCP endpoints over a lossy path, compared with the endpoints' own records: each retransmission
//! and its cause, each loss, and round trips to the nanosecond.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{key, open};
use gamelane_capture::analysis::{Method, Retransmission, RoundTrip, TransportReport};
use gamelane_capture::pair::{compare, watch};
use gamelane_capture::tcp::Cause;
use gamelane_capture::{Analyzer, FlowReport, PacketHeader, PcapngWriter, Sink, TcpNumbers, WriteOptions};
use gamelane_core::{ByteCount, Duration, Ecn, FlowKey, Instant, Protocol, Seed};
use gamelane_tcp::{Nagle, RecoveryKind, Segment, TcpConfig, TcpEndpoint, TcpTuning};

/// The endpoints' actions in a run, and both captures of it.
struct Truth {
    /// Retransmissions of the server's data: time, stream offset, cause.
    resent: Vec<(u64, u64, Cause)>,
    /// Retransmissions that answer a probe with new data. The cause may be the probe or the ACK; both are correct.
    drawn: BTreeSet<(u64, u64)>,
    /// Lost packets of the server, and of the client.
    lost: [u64; 2],
    at_server: Vec<u8>,
    at_client: Vec<u8>,
    /// Both captures as two interfaces of one file, the client's first.
    at_both: Vec<u8>,
}

struct Path {
    one_way: Duration,
    loss: f64,
}

fn client() -> FlowKey {
    key("192.168.1.2:40000", "203.0.113.5:7000", Protocol::Tcp)
}

/// Ten minutes of a thin or bulk stream from the server; the client answers sometimes.
fn run(path: &Path, config: &TcpConfig, write_every: Duration, bytes: u64, seed: u64) -> Truth {
    let mut random = Seed(seed).stream("path");
    let mut writers = [(); 2].map(|()| PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap());
    let interfaces = [0, 1].map(|at: usize| writers[at].add_interface("tap").unwrap());
    let mut both = PcapngWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let of_both = [0, 1].map(|_| both.add_interface("tap").unwrap());
    let mut ends = [TcpEndpoint::connect(config.clone(), Instant::ZERO), TcpEndpoint::listen(config.clone())];
    let mut flying: BTreeMap<(u64, u64), (usize, Segment, u16)> = BTreeMap::new();
    let mut truth = Truth {
        resent: vec![],
        drawn: BTreeSet::new(),
        lost: [0; 2],
        at_server: vec![],
        at_client: vec![],
        at_both: vec![],
    };
    let (mut number, mut ids, mut highest) = (0u64, [0u16; 2], 0u64);
    // New data sent as a probe (its end and time), and the time of the last recovery.
    let (mut probed_to, mut entered, mut recoveries) = (None, Instant::ZERO, 0);
    let end = Instant::from_secs(600);
    let mut next_write = [Instant::from_millis(1500), Instant::from_secs(1)];
    let numbers = TcpNumbers { initial_sequence: 0, peer_initial_sequence: 0, maximum_segment_size: 1460 };
    let mut now = Instant::ZERO;
    let mut record = |tap: usize, from: usize, segment: &Segment, id: u16, at: Instant| {
        let key = if from == 0 { client() } else { client().reverse() };
        let header = PacketHeader { at, key, ecn: Ecn::NotEct, dscp: 0, id };
        writers[tap].write_tcp(interfaces[tap], &header, segment, &numbers).unwrap();
        both.write_tcp(of_both[tap], &header, segment, &numbers).unwrap();
    };
    loop {
        for side in 0..2 {
            if now >= next_write[side] && now < end - Duration::from_secs(20) {
                ends[side].write(ByteCount(if side == 1 { bytes } else { 20 }));
                next_write[side] = now + if side == 1 { write_every } else { Duration::from_millis(437) };
            }
            if ends[side].poll_timeout().is_some_and(|at| at <= now) {
                ends[side].handle_timeout(now);
            }
            if side == 1 && ends[1].counters().fast_recoveries > recoveries {
                (recoveries, entered) = (ends[1].counters().fast_recoveries, now);
            }
            loop {
                let before = *ends[side].counters();
                let Some(segment) = ends[side].poll_transmit(now) else { break };
                let after = ends[side].counters();
                if side == 1 && segment.len > 0 {
                    let answered = |&(to, at): &(u64, Instant)| {
                        after.bytes_acked.bytes() + 1 < to && entered >= at + path.one_way + path.one_way
                    };
                    let drawn = probed_to.as_ref().is_some_and(answered);
                    if after.tail_probes > before.tail_probes && segment.seq >= highest {
                        probed_to = Some((segment.seq + u64::from(segment.len), now));
                    }
                    let cause = if after.tail_probes > before.tail_probes && segment.seq < highest {
                        Some(Cause::TailLossProbe)
                    } else if after.fast_retransmissions > before.fast_retransmissions {
                        Some(Cause::Fast)
                    } else if after.timeout_retransmissions > before.timeout_retransmissions {
                        Some(Cause::Timeout)
                    } else {
                        None
                    };
                    if let Some(cause) = cause {
                        truth.resent.push((now.as_nanos(), segment.seq, cause));
                        if drawn && cause == Cause::Fast {
                            truth.drawn.insert((now.as_nanos(), segment.seq));
                        }
                    }
                    highest = highest.max(segment.seq + u64::from(segment.len));
                }
                ids[side] = ids[side].wrapping_add(1);
                record(side, side, &segment, ids[side], now);
                if random.chance(path.loss) {
                    truth.lost[side] += 1;
                } else {
                    number += 1;
                    flying.insert(((now + path.one_way).as_nanos(), number), (1 - side, segment, ids[side]));
                }
            }
        }
        let timers = ends.iter().filter_map(TcpEndpoint::poll_timeout);
        let writes = next_write.into_iter().filter(|&at| at < end - Duration::from_secs(20));
        let arrival = flying.first_key_value().map(|(&(at, _), _)| Instant::from_nanos(at));
        let Some(next) = timers.chain(writes).chain(arrival).min().filter(|&at| at < end) else { break };
        now = next.max(now);
        while let Some(entry) = flying.first_entry().filter(|entry| entry.key().0 <= now.as_nanos()) {
            let (to, segment, id) = entry.remove();
            record(to, 1 - to, &segment, id, now);
            ends[to].handle_segment(&segment, false, now);
        }
    }
    let [client, server] = writers.map(|writer| writer.finish_file().unwrap());
    (truth.at_client, truth.at_server, truth.at_both) = (client, server, both.finish_file().unwrap());
    truth
}

#[derive(Default)]
struct Found {
    flows: Vec<FlowReport>,
    resent: Vec<Retransmission>,
    trips: Vec<RoundTrip>,
    start_ns: u64,
}

impl Sink for Found {
    fn flow(&mut self, report: FlowReport) {
        self.flows.push(report);
    }
    fn retransmission(&mut self, row: &Retransmission) {
        self.resent.push(*row);
    }
    fn round_trip(&mut self, row: &RoundTrip) {
        self.trips.push(*row);
    }
}

fn analysed(bytes: &[u8]) -> Found {
    let mut found = Found::default();
    let mut analyzer = Analyzer::default();
    gamelane_capture::analyze(&mut open(bytes.to_vec()).unwrap(), &mut analyzer, &mut found).unwrap();
    found.start_ns = analyzer.clock().start_ns.unwrap();
    found
}

/// Found causes against true ones, after the sender's habits settled the ambiguous ones.
fn confusion(truth: &Truth, found: &Found) -> Vec<(Cause, Cause)> {
    let TransportReport::Tcp(tcp) = &found.flows[0].transport else { panic!("TCP") };
    let settled = tcp.halves[1].settled;
    let ours: BTreeMap<(u64, u64), Cause> = found
        .resent
        .iter()
        .filter(|row| row.direction == 1)
        .map(|row| {
            (
                (row.t_ns + found.start_ns, row.start),
                if row.cause == Cause::TimeoutOrProbe { settled } else { row.cause },
            )
        })
        .collect();
    let theirs: BTreeSet<(u64, u64)> = truth.resent.iter().map(|&(at, seq, _)| (at, seq)).collect();
    assert_eq!(
        ours.keys().copied().collect::<BTreeSet<_>>(),
        theirs,
        "each retransmission is found, and no other"
    );
    let judged = truth.resent.iter().map(|&(at, seq, was)| {
        let is = ours[&(at, seq)];
        let probes = is == Cause::TailLossProbe && truth.drawn.contains(&(at, seq));
        (if probes { is } else { was }, is)
    });
    judged.filter(|(was, is)| was != is).collect()
}

fn rack(nagle: Nagle) -> TcpConfig {
    let tuning = TcpTuning { duplicate_sack: true, ..TcpTuning::default() };
    TcpConfig { recovery: RecoveryKind::Rack, nagle, tuning, ..TcpConfig::default() }
}

#[test]
fn every_retransmission_and_its_cause_is_what_the_sender_knows() {
    let path = Path { one_way: Duration::from_millis(50), loss: 0.02 };
    let sack = TcpConfig { nagle: Nagle::Off, ..TcpConfig::default() };
    let newreno = TcpConfig { recovery: RecoveryKind::NewReno, ..sack.clone() };
    // With one packet in flight, probe and timer are due at the same time. If the sender's other behaviour does not
    // decide, the case is in `undecided`. In the two runs of SACK with one mistaken cause, the third sign of loss came in
    // the same nanosecond as the expiry. RACK finds losses during the repair after a timeout, too. It also waits
    // longer if the last acknowledged packet was sent long before the lost one. One retransmission in about 150 is then taken
    // for the other kind, or stays unexplained.
    for (name, config, every_ms, bytes, undecided, mistaken) in [
        ("thin, RACK", rack(Nagle::Off), 120, 60, [0; 3], [0; 3]),
        ("very thin, RACK", rack(Nagle::Off), 400, 60, [47, 0, 0], [0; 3]),
        ("thin, SACK without probes", sack.clone(), 120, 60, [0; 3], [0; 3]),
        ("thin, NewReno", newreno.clone(), 120, 60, [0; 3], [0; 3]),
        ("very thin, NewReno", newreno.clone(), 400, 60, [0; 3], [0; 3]),
        ("bursts, NewReno", newreno, 500, 20_000, [0; 3], [0; 3]),
        ("bursts, SACK", sack.clone(), 500, 20_000, [0; 3], [0, 1, 0]),
        ("bursts apart from the clock, SACK", sack, 530, 20_000, [0; 3], [0, 1, 0]),
        ("bursts, RACK", rack(Nagle::Any), 500, 20_000, [0; 3], [5, 2, 4]),
        ("bursts apart from the clock, RACK", rack(Nagle::Any), 530, 20_000, [0; 3], [1, 1, 1]),
    ] {
        for (seed, (undecided, mistaken)) in (7..).zip(undecided.into_iter().zip(mistaken)) {
            let truth = run(&path, &config, Duration::from_millis(every_ms), bytes, seed);
            let mut wrong = confusion(&truth, &analysed(&truth.at_server));
            let all = wrong.len();
            wrong.retain(|(was, is)| !(was.is_timed() && *is == Cause::TimeoutOrProbe));
            assert!(truth.resent.len() > 40, "{name}, seed {seed}: {}", truth.resent.len());
            assert_eq!(wrong.len(), mistaken, "{name}, seed {seed}, was and is: {wrong:?}");
            assert_eq!(all - wrong.len(), undecided, "{name}, seed {seed}");
        }
    }
}

#[test]
fn losses_and_round_trips_are_exact_at_both_ends() {
    let path = Path { one_way: Duration::from_millis(50), loss: 0.05 };
    let truth = run(&path, &rack(Nagle::Off), Duration::from_millis(120), 60, 3);
    let seen = [(0, &truth.at_client), (1, &truth.at_server)].map(|(end, bytes)| {
        let mut found = Found::default();
        let mut capture = open(bytes.clone()).unwrap();
        let (seen, error) = watch(&mut capture, &mut Analyzer::default(), &mut found);
        assert!(error.is_none());
        // From data to ACK, or from timestamp to echo, at the sender: the round trip of the path if no ACK was delayed,
        // and never less.
        for method in [Method::Acknowledgement, Method::Timestamp, Method::BothHalves] {
            let own = found.trips.iter().filter(|trip| trip.method == method);
            let own = own.filter(|trip| method == Method::BothHalves || trip.direction == end);
            assert_eq!(own.map(|trip| trip.rtt_ns).min(), Some(100_000_000), "{method:?}");
        }
        seen
    });
    let found = compare(&seen[0], &seen[1]);
    let of_one_file = [0, 1].map(|interface| {
        let mut capture = open(truth.at_both.clone()).unwrap();
        capture.only_interface(interface);
        watch(&mut capture, &mut Analyzer::default(), &mut Found::default()).0
    });
    assert_eq!(format!("{found:?}"), format!("{:?}", compare(&of_one_file[0], &of_one_file[1])));
    let flows = found.flows;
    assert_eq!(flows[0].first_is_near_client, Some(true));
    for (direction, lost) in flows[0].directions.iter().zip(truth.lost) {
        assert!(lost > 100);
        let losses = direction.losses.as_ref().unwrap();
        assert_eq!((losses.lost, losses.undecided, losses.unsent), (lost, 0, 0));
        assert_eq!(direction.one_way.above_least.max(), Some(0));
    }
    let rtt = &flows[0].rtt;
    assert!(rtt.count() > 1000);
    assert_eq!((rtt.min(), rtt.max()), (Some(100_000_000), Some(100_000_000)));
    // Everything that was not late because of a loss took exactly the path's delay from its first transmission to
    // delivery.
    let delivery = flows[0].directions[1].delivery.as_ref().unwrap();
    let late: u64 = delivery.late.iter().sum();
    assert!(late > 50 && delivery.lag.median() == Some(0.0), "{late}");
}
