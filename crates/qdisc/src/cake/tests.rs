use super::*;
use crate::QueueDiscipline;
use crate::ack_filter::AckFilterMode;
use crate::fixture::{ACK, Ledger, packet};
use gamelane_core::{Bitrate, ByteCount, Duration, Ecn, FlowId, Overhead, PacketMeta};
use std::vec::Vec;

fn from(flow: u32, hosts: [u32; 2], len: u32, dscp: u8, body: u64) -> Packet<u64> {
    let meta = PacketMeta {
        flow: FlowId(flow),
        flow_hash: flow.wrapping_mul(0x9e37_79b9),
        hosts,
        dscp,
        ..packet(len, Ecn::NotEct)
    };
    Packet { meta, body }
}

fn mbit(rate: u64) -> Option<Bitrate> {
    Some(Bitrate::from_bps(rate * 1_000_000))
}

fn cake(config: CakeConfig) -> Cake<u64> {
    config.check().unwrap();
    Cake::new(&config, Seed(1), "cake")
}

/// Sends `rounds` packets while each of `flows` (hosts, length, dscp) always has ten packets waiting. Returns the bytes
/// that each flow got. Time advances only as far as the shaper needs, too little for Cobalt to signal.
fn shares(config: CakeConfig, flows: &[([u32; 2], u32, u8)], rounds: usize) -> Vec<u64> {
    let mut queue = cake(config);
    let mut ledger = Ledger::default();
    let (mut waiting, mut got) =
        (Vec::from_iter(flows.iter().map(|_| 0)), Vec::from_iter(flows.iter().map(|_| 0)));
    let mut now = Instant::from_secs(1);
    for _ in 0..rounds {
        for (flow, &(hosts, len, dscp)) in flows.iter().enumerate() {
            while waiting[flow] < 10 {
                queue.enqueue(from(flow as u32 + 1, hosts, len, dscp, flow as u64), now, &mut ledger);
                waiting[flow] += 1;
            }
        }
        now = now.max(queue.ready_at().unwrap());
        let packet = queue.dequeue(now, &mut ledger).expect("a packet at the time `ready_at` returned");
        let flow = packet.meta.flow.index() - 1;
        waiting[flow] -= 1;
        got[flow] += packet.meta.len.bytes();
        for (body, _) in ledger.dropped.drain(..) {
            waiting[body as usize] -= 1;
        }
    }
    got
}

#[test]
fn it_sends_at_its_rate_without_a_burst() {
    let mut queue =
        cake(CakeConfig { bandwidth: mbit(1), overhead: Overhead::Docsis, ..CakeConfig::default() });
    let mut ledger = Ledger::default();
    let mut times = Vec::new();
    let mut now = Instant::from_secs(1);
    for number in 0..4 {
        queue.enqueue(from(1, [1, 2], 1482, 0, number), now, &mut ledger);
    }
    while let Some(ready) = queue.ready_at() {
        assert!(ready <= now || queue.dequeue(now, &mut ledger).is_none());
        now = now.max(ready);
        times.push((queue.dequeue(now, &mut ledger).unwrap().body, now.as_nanos() / 1000));
    }
    // (1482 + 18) B at 1 Mbit/s take 12 ms.
    assert_eq!(times, [(0, 1_000_000), (1, 1_012_000), (2, 1_024_000), (3, 1_036_000)]);
}

#[test]
fn hosts_share_before_flows_do() {
    // Upstream: one host has one flow, the other has four, to different servers. Each host gets half.
    let flows: Vec<_> =
        [(1, 10), (2, 20), (2, 21), (2, 22), (2, 23)].map(|(s, d)| ([s, d], 1500, 0)).to_vec();
    let config = |isolation| CakeConfig { isolation, bandwidth: mbit(100), ..CakeConfig::default() };
    let share = |isolation| {
        let got = shares(config(isolation), &flows, 4_000);
        got[0] * 100 / got.iter().sum::<u64>()
    };
    assert!((48..=52).contains(&share(Isolation::DualSource)), "{}", share(Isolation::DualSource));
    assert!((48..=52).contains(&share(Isolation::Triple)));
    // Fairness between five flows or five destinations: a fifth for each.
    assert!((18..=22).contains(&share(Isolation::Flows)));
    assert!((18..=22).contains(&share(Isolation::DualDestination)));
}

#[test]
fn a_tin_above_its_threshold_loses_precedence_but_starves_nobody() {
    // One greedy flow in the voice tin and one in best effort. Voice has precedence up to a quarter of the rate.
    let tins = [([1, 10], 1500, 46), ([2, 20], 1500, 0)];
    let config = CakeConfig { bandwidth: mbit(10), ..CakeConfig::default() };
    let got = shares(config, &tins, 4_000);
    let voice = got[0] * 100 / (got[0] + got[1]);
    assert!((20..=30).contains(&voice), "{voice} %");
    // Without a shaper the tins share by weight, 256 to 1024.
    let got = shares(CakeConfig::default(), &tins, 4_000);
    let voice = got[0] * 100 / (got[0] + got[1]);
    assert!((18..=22).contains(&voice), "{voice} %");
}

#[test]
fn a_voice_packet_within_its_threshold_is_next() {
    let mut queue = cake(CakeConfig { bandwidth: mbit(1), ..CakeConfig::default() });
    let mut ledger = Ledger::default();
    for number in 0..50 {
        queue.enqueue(from(1, [1, 2], 1500, 0, number), Instant::ZERO, &mut ledger);
    }
    let mut now = Instant::ZERO;
    for round in 0..20 {
        now = now.max(queue.ready_at().unwrap()) + Duration::from_millis(1);
        assert!(queue.dequeue(now, &mut ledger).unwrap().body < 50);
        queue.enqueue(from(2, [3, 4], 200, 46, 100 + round), now, &mut ledger);
        now = now.max(queue.ready_at().unwrap());
        assert_eq!(queue.dequeue(now, &mut ledger).unwrap().body, 100 + round);
    }
}

#[test]
fn colliding_flows_find_a_way_of_their_own() {
    // Among 100 flows in 1024 plain buckets some collide almost surely; with eight-way sets none does.
    let overhead = Overhead::Ethernet;
    let mut queue = cake(CakeConfig { bandwidth: mbit(100), overhead, ..CakeConfig::default() });
    let mut ledger = Ledger::default();
    for round in 0..2 {
        for flow in 1..=100 {
            queue.enqueue(from(flow, [flow, 1000 + flow], 1500, 0, round), Instant::ZERO, &mut ledger);
        }
    }
    // At 100 Mbit/s the quantum is 1514 B and a packet costs 1538 B, so each flow sends one packet per round: all first
    // packets leave before any second one.
    let mut now = Instant::ZERO;
    let mut bodies = Vec::new();
    while let Some(ready) = queue.ready_at() {
        now = now.max(ready);
        bodies.extend(queue.dequeue(now, &mut ledger).map(|packet| packet.body));
    }
    assert!(bodies.len() == 200 && bodies[..100].iter().all(|body| *body == 0), "{bodies:?}");
}

#[test]
fn an_overflow_takes_from_the_longest_queue_of_all_tins() {
    let memory = Some(ByteCount(30_000));
    let mut queue = cake(CakeConfig { bandwidth: mbit(1), memory, ..CakeConfig::default() });
    let mut ledger = Ledger::default();
    for number in 0..15 {
        queue.enqueue(from(1, [1, 2], 1500, 8, number), Instant::ZERO, &mut ledger);
    }
    for number in 100..106 {
        queue.enqueue(from(2, [3, 4], 1500, 0, number), Instant::ZERO, &mut ledger);
    }
    assert_eq!(ledger.dropped, [(0, gamelane_core::DropReason::Overlimit)], "21 packets, room for 20");
    assert_eq!(queue.backlog(), Backlog { packets: 20, bytes: 30_000 });
}

#[test]
fn an_idle_flow_forgets_while_others_send() {
    // Bodies of the packets of flow 1 that are dropped. `others` packets of flow 2 leave while flow 1 is idle.
    let dropped = |others: u64| {
        let mut queue = cake(CakeConfig { bandwidth: mbit(100), ..CakeConfig::default() });
        let mut ledger = Ledger::default();
        let ms = Instant::from_millis;
        let enqueue = |queue: &mut Cake<u64>, ledger: &mut Ledger, flow, bodies, at| {
            for body in bodies {
                queue.enqueue(from(flow, [flow, 9], 1500, 0, body), ms(at), ledger);
            }
        };
        // Late packets of a fresh queue: 0 passes, 1 is dropped, 2 and 3 pass. count is 2 and drop_next 1090.7 ms.
        enqueue(&mut queue, &mut ledger, 1, 0..4, 1_000);
        for at in 1_020..1_023 {
            assert!(queue.dequeue(ms(at), &mut ledger).is_some());
        }
        // Each dequeue visits one decaying queue. Three visits take the count to 0 and the queue to rest.
        for other in 0..others {
            enqueue(&mut queue, &mut ledger, 2, 100..101, 2_000 + 50 * other);
            assert!(queue.dequeue(ms(2_000 + 50 * other), &mut ledger).is_some());
        }
        enqueue(&mut queue, &mut ledger, 1, 10..13, 9_000);
        for at in 9_020..9_022 {
            queue.dequeue(ms(at), &mut ledger);
        }
        ledger.dropped.iter().map(|drop| drop.0).collect::<Vec<_>>()
    };
    // `cake_dequeue` returns at once while no packet waits, so nothing is forgotten. 10 is overdue, and so is 11: the
    // drop put drop_next only to 1148.4 ms. 12 is the last packet and stays.
    assert_eq!(dropped(0), [1, 10, 11]);
    // Forgotten: 10 is the first one above target.
    assert_eq!(dropped(20), [1, 11]);
}

#[test]
fn an_emptied_flow_leaves_its_tin_before_others_send() {
    let mut queue = cake(CakeConfig { bandwidth: mbit(1), ..CakeConfig::default() });
    let mut ledger = Ledger::default();
    let mut now = Instant::from_secs(1);
    let send = |queue: &mut Cake<u64>, ledger: &mut Ledger, now: &mut Instant| {
        *now = (*now).max(queue.ready_at().unwrap());
        queue.dequeue(*now, ledger).unwrap().body
    };
    queue.enqueue(from(1, [1, 9], 200, 46, 0), now, &mut ledger);
    queue.enqueue(from(2, [2, 9], 1500, 0, 10), now, &mut ledger);
    queue.enqueue(from(2, [2, 9], 1500, 0, 11), now, &mut ledger);
    let order: Vec<_> = (0..3).map(|_| send(&mut queue, &mut ledger, &mut now)).collect();
    assert_eq!(order, [0, 10, 11]);
    // At the last dequeue the voice tin was within its threshold again, and `sparse_flow_count` was 1. So flow 1 left,
    // and begins with a whole quantum of 300 B: two packets before the new flow 3.
    for (flow, body) in [(1, 1), (3, 30), (1, 2)] {
        queue.enqueue(from(flow, [flow, 9], 200, 46, body), now, &mut ledger);
    }
    let order: Vec<_> = (0..3).map(|_| send(&mut queue, &mut ledger, &mut now)).collect();
    assert_eq!(order, [1, 2, 30]);
}

#[test]
fn the_memory_is_four_intervals_within_bounds() {
    // `cake_reconfigure`: at least 4 MiB, at most sch->limit (10240) * psched_mtu (1514).
    let limit = |bandwidth| CakeConfig { bandwidth, ..CakeConfig::default() }.resolved_limit().bytes();
    assert_eq!(
        [mbit(1), mbit(200), mbit(1_000), None].map(limit),
        [4 << 20, 10_000_000, 15_503_360, 15_503_360]
    );
}

#[test]
fn acks_are_filtered_in_their_flow() {
    let config =
        CakeConfig { bandwidth: mbit(1), ack_filter: AckFilterMode::Aggressive, ..CakeConfig::default() };
    let mut queue = cake(config);
    let mut ledger = Ledger::default();
    for number in 0..5 {
        let mut ack = from(1, [1, 2], ACK, 0, u64::from(number));
        (ack.meta.ack, ack.meta.ack_number) = (gamelane_core::AckKind::Plain, number * 1000);
        queue.enqueue(ack, Instant::ZERO, &mut ledger);
        queue.enqueue(from(2, [1, 2], 1500, 0, 10 + u64::from(number)), Instant::ZERO, &mut ledger);
    }
    assert_eq!(ledger.dropped.iter().map(|drop| drop.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(queue.backlog().packets, 6);
}

#[test]
fn code_points_go_where_the_manual_says() {
    let tins =
        |diffserv: Diffserv, points: &[u8]| points.iter().map(|&dscp| diffserv.tin(dscp)).collect::<Vec<_>>();
    // CS0, LE, CS1, AF41, CS4, CS5, VA, EF, CS6, CS7.
    let points = [0, 1, 8, 34, 32, 40, 44, 46, 48, 56];
    assert_eq!(tins(Diffserv::Three, &points), [0, 1, 1, 0, 0, 0, 2, 2, 2, 2]);
    assert_eq!(tins(Diffserv::Four, &points), [0, 1, 1, 2, 3, 3, 3, 3, 3, 3]);
    assert_eq!(tins(Diffserv::Eight, &points), [2, 0, 1, 3, 6, 6, 6, 6, 7, 7]);
    // TOS 2, TOS 4, CS2, AF21, CS3, AF31.
    assert_eq!(tins(Diffserv::Eight, &[2, 4, 16, 18, 24, 26]), [1, 4, 5, 4, 3, 3]);
    assert_eq!(tins(Diffserv::Precedence, &points), [0, 0, 1, 4, 4, 5, 5, 5, 6, 7]);
    for diffserv in
        [Diffserv::BestEffort, Diffserv::Three, Diffserv::Four, Diffserv::Eight, Diffserv::Precedence]
    {
        assert!((0..=255).all(|dscp| diffserv.tin(dscp) < diffserv.shares().len()));
    }
}

/// What `tc -s qdisc show` of Linux 6.12 prints as `thresh` for `cake bandwidth 8mbit diffserv8`, and the quanta of `cake_config_diffserv8`.
#[test]
fn each_of_eight_tins_has_seven_eighths_of_the_one_before() {
    let shares = Diffserv::Eight.shares();
    let thresholds: Vec<u64> =
        shares.iter().map(|share| share.threshold(Bitrate::from_bps(8_000_000)).bps() / 1000).collect();
    assert_eq!(thresholds, [8000, 7000, 6125, 5359, 4689, 4103, 3590, 3141]);
    assert_eq!(
        Vec::from_iter(shares.iter().map(|share| share.quantum)),
        [256, 224, 196, 171, 149, 130, 113, 98]
    );
}

#[test]
fn what_is_not_told_apart_shares_a_queue() {
    // Flows of 1514 B from host 1 to hosts 7 and 8, and one of 300 B from host 2 to host 7.
    let flows = [([1, 7], 1500, 0), ([1, 8], 1500, 0), ([2, 7], 300, 0)];
    let of = |isolation| {
        let config = CakeConfig { isolation, ..CakeConfig::default() };
        let got = shares(config, &flows, 3000);
        let all: u64 = got.iter().sum();
        Vec::from_iter(got.iter().map(|bytes| (100 * bytes + all / 2) / all))
    };
    // In one queue, packets take turns: the lengths decide.
    assert_eq!(of(Isolation::Blind), [45, 45, 9]);
    assert_eq!(of(Isolation::Sources), [25, 25, 50]);
    assert_eq!(of(Isolation::Destinations), [42, 50, 8]);
    assert_eq!(of(Isolation::Hosts), [33, 33, 33]);
}

#[test]
fn another_rate_holds_from_the_next_packet_on_and_thresholds_follow() {
    let config = CakeConfig { bandwidth: mbit(1), ..CakeConfig::default() };
    let (mut queue, mut ledger, mut times) = (cake(config), Ledger::default(), Vec::new());
    for body in 0..5 {
        queue.enqueue(from(1, [1, 2], 1250, 0, body), Instant::ZERO, &mut ledger);
    }
    while let Some(at) = queue.ready_at() {
        if times.len() == 3 {
            queue.set_rate(Bitrate::from_bps(2_000_000));
        }
        queue.dequeue(at, &mut ledger).unwrap();
        times.push(at.as_nanos() / 1_000_000);
    }
    // 10 ms apart at 1 Mbit/s. The fourth was due before the change.
    assert_eq!(times, [0, 10, 20, 30, 35]);
    assert_eq!(queue.tins[2].threshold.rate, Some(Bitrate::from_bps(500_000)));
    // Without a rate of its own it takes none.
    let mut plain = cake(CakeConfig::default());
    plain.enqueue(from(1, [1, 2], 1250, 0, 0), Instant::ZERO, &mut ledger);
    QueueDiscipline::<u64>::set_rate(&mut plain, Bitrate::from_bps(1));
    assert_eq!(plain.ready_at(), Some(Instant::ZERO));
}

/// Times in ms at which all packets of `queue` leave, each as soon as it may.
fn departures(queue: &mut Cake<u64>, ledger: &mut Ledger) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(at) = queue.ready_at() {
        if queue.dequeue(at, ledger).is_some() {
            times.push(at.as_nanos() / 1_000_000);
        } else {
            assert!(queue.ready_at().is_none_or(|ready| ready > at), "a driver would loop");
        }
    }
    times
}

/// Gives the queue packets of flow 1 at time 0, each of 1250 B, which take 10 ms at 1 Mbit/s.
fn fill(queue: &mut Cake<u64>, ledger: &mut Ledger, packets: u64) {
    for body in 0..packets {
        queue.enqueue(from(1, [1, 2], 1250, 0, body), Instant::ZERO, ledger);
    }
}

#[test]
fn in_ingress_mode_what_an_overflow_drops_takes_its_time_as_far_as_the_failsafe_lets_it() {
    let memory = Some(ByteCount(5000));
    let times = |ingress, packets| {
        let (mut ledger, config) =
            (Ledger::default(), CakeConfig { bandwidth: mbit(1), memory, ingress, ..CakeConfig::default() });
        let mut queue = cake(config);
        fill(&mut queue, &mut ledger, packets);
        assert_eq!(ledger.dropped.len() as u64, packets - 4);
        departures(&mut queue, &mut ledger)
    };
    assert_eq!(times(false, 5), [0, 10, 20, 30]);
    // `time_next_packet` is at 10 ms after the drop and 20 ms after the first departure, `failsafe_next_packet` at 0 and 15
    // ms. Then they are at 30 and 30, 40 and 45, and the first decides.
    assert_eq!(times(true, 5), [0, 15, 30, 40]);
    // Ten drops: the failsafe decides.
    assert_eq!(times(true, 14), [0, 15, 30, 45]);
}

#[test]
fn after_a_long_time_without_drops_the_failsafe_is_far_ahead() {
    let config = CakeConfig {
        bandwidth: mbit(1),
        memory: Some(ByteCount(5000)),
        ingress: true,
        ..CakeConfig::default()
    };
    let (mut queue, mut ledger) = (cake(config), Ledger::default());
    fill(&mut queue, &mut ledger, 2);
    // There is always a packet waiting. The failsafe gets 5 ms ahead with each packet sent.
    for number in 0..20 {
        let at = queue.ready_at().unwrap();
        assert_eq!(at, Instant::from_millis(number * 10));
        queue.dequeue(at, &mut ledger).unwrap();
        queue.enqueue(from(1, [1, 2], 1250, 0, 0), at, &mut ledger);
    }
    let now = Instant::from_millis(200);
    assert_eq!(queue.ready_at(), Some(now));
    // Forty drops would take 400 ms. The failsafe lets go at 20 x 15 ms.
    for _ in 0..42 {
        queue.enqueue(from(1, [1, 2], 1250, 0, 0), now, &mut ledger);
    }
    assert_eq!(ledger.dropped.len(), 40);
    assert_eq!(queue.ready_at().map(|at| at.as_nanos() / 1_000_000), Some(300));
}

#[test]
fn in_ingress_mode_a_filtered_ack_takes_its_time_too() {
    let at_last = |ingress| {
        let config = CakeConfig {
            bandwidth: mbit(1),
            ack_filter: AckFilterMode::Aggressive,
            ingress,
            ..CakeConfig::default()
        };
        let (mut queue, mut ledger) = (cake(config), Ledger::default());
        for number in 0..3 {
            let mut ack = from(1, [1, 2], 125, 0, u64::from(number));
            (ack.meta.ack, ack.meta.ack_number) = (gamelane_core::AckKind::Plain, number * 1000);
            queue.enqueue(ack, Instant::ZERO, &mut ledger);
        }
        assert_eq!(ledger.dropped.len(), 2);
        fill(&mut queue, &mut ledger, 2);
        departures(&mut queue, &mut ledger)
    };
    // 1 ms per ACK and 10 ms per packet. In ingress mode the two filtered ACKs put the shaper at 3 ms, but the failsafe lets
    // the first packet go at 1.5 ms. The second waits until 13 ms.
    assert_eq!(at_last(false), [0, 1, 11]);
    assert_eq!(at_last(true), [0, 1, 13]);
}

#[test]
fn in_ingress_mode_drops_use_up_the_threshold_of_their_own_tin() {
    let first = |ingress| {
        let memory = Some(ByteCount(5001));
        let config = CakeConfig { bandwidth: mbit(1), memory, ingress, ..CakeConfig::default() };
        let (mut queue, mut ledger) = (cake(config), Ledger::default());
        // The fifth packet of the voice makes the queue drop the first. Voice goes before others while it is within its
        // threshold.
        for body in 0..5 {
            queue.enqueue(from(1, [1, 2], 1250, 46, body), Instant::ZERO, &mut ledger);
        }
        assert_eq!(ledger.dropped.len(), 1);
        queue.enqueue(from(2, [3, 4], 1, 0, 10), Instant::ZERO, &mut ledger);
        queue.dequeue(queue.ready_at().unwrap(), &mut ledger).unwrap().body
    };
    assert_eq!(first(false), 1);
    assert_eq!(first(true), 10);
}

#[test]
fn in_ingress_mode_both_clocks_follow_another_rate() {
    let memory = Some(ByteCount(5000));
    let config = CakeConfig { bandwidth: mbit(1), memory, ingress: true, ..CakeConfig::default() };
    let (mut queue, mut ledger) = (cake(config), Ledger::default());
    fill(&mut queue, &mut ledger, 4);
    queue.set_rate(Bitrate::from_bps(2_000_000));
    fill(&mut queue, &mut ledger, 10);
    assert_eq!(ledger.dropped.len(), 10);
    // 5 ms per packet; ten drops, so the failsafe decides.
    assert_eq!(departures(&mut queue, &mut ledger), [0, 7, 15, 22]);
}

#[test]
fn in_ingress_mode_a_flow_pays_for_what_its_law_drops() {
    // Two flows of equal packets. The law drops those of flow 1 and marks those of flow 2.
    let drops = |ingress| {
        let config = CakeConfig { bandwidth: mbit(10), ingress, ..CakeConfig::default() };
        let (mut queue, mut ledger) = (cake(config), Ledger::default());
        fill(&mut queue, &mut ledger, 400);
        for body in 400..800 {
            let mut capable = from(2, [3, 4], 1250, 0, body);
            capable.meta.ecn = Ecn::Ect0;
            queue.enqueue(capable, Instant::ZERO, &mut ledger);
        }
        let (mut now, mut got) = (Instant::ZERO, [0_u64; 2]);
        while now < Instant::from_millis(390) {
            now = now.max(queue.ready_at().unwrap());
            if let Some(packet) = queue.dequeue(now, &mut ledger) {
                got[packet.meta.flow.index() - 1] += 1;
            }
        }
        (got, ledger.dropped.len() as u64)
    };
    // 1 ms per packet, so 391 in all. Both flows get the same, unless drops count.
    let ([first, second], dropped) = drops(false);
    assert!(dropped > 5 && first.abs_diff(second) <= 1, "{first} {second} {dropped}");
    let ([first, second], dropped) = drops(true);
    assert!(dropped > 5 && (first + dropped).abs_diff(second) <= 1, "{first} {second} {dropped}");
    assert!((first + second + dropped).abs_diff(391) <= 1, "{first} {second} {dropped}");
}

#[test]
fn wash_clears_the_code_point_once_the_tin_is_known() {
    let code_points = |wash| {
        let mut queue = cake(CakeConfig { bandwidth: mbit(1), wash, ..CakeConfig::default() });
        let mut ledger = Ledger::default();
        queue.enqueue(from(1, [1, 2], 1250, 8, 0), Instant::ZERO, &mut ledger);
        queue.enqueue(from(2, [3, 4], 200, 46, 1), Instant::ZERO, &mut ledger);
        let mut next = || {
            let packet = queue.dequeue(queue.ready_at().unwrap(), &mut ledger).unwrap();
            (packet.body, packet.meta.dscp)
        };
        [next(), next()]
    };
    assert_eq!(code_points(false), [(1, 46), (0, 8)]);
    assert_eq!(code_points(true), [(1, 0), (0, 0)]);
}

#[test]
fn nothing_is_refused() {
    let ok = CakeConfig::default();
    assert!(CakeConfig { bandwidth: Some(Bitrate::from_bps(0)), ..ok }.check().is_err());
    assert!(CakeConfig { rtt: Duration::ZERO, ..ok }.check().is_err());
    assert!(CakeConfig { memory: Some(ByteCount(100)), ..ok }.check().is_err());
}
