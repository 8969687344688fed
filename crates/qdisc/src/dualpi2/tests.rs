use super::*;
use crate::config::Limit;
use crate::fixture::{Ledger, packet};
use gamelane_core::PacketMeta;
use std::vec::Vec;

fn with(ecn: Ecn, len: u32, body: u64) -> Packet<u64> {
    Packet { meta: PacketMeta { ..packet(len, ecn) }, body }
}

fn queue(scheduler: Scheduler) -> DualPi2<u64> {
    DualPi2::new(DualPi2Config { scheduler, ..DualPi2Config::default() }, IpLen(1500))
}

const WEIGHTED: Scheduler = Scheduler::Weighted { classic_percent: 10 };

#[test]
fn l4s_goes_first_but_classic_keeps_its_tenth() {
    let mut queue = queue(WEIGHTED);
    let mut ledger = Ledger::default();
    for number in 0..200 {
        queue.enqueue(with(Ecn::NotEct, 1500, number), Instant::ZERO, &mut ledger);
        queue.enqueue(with(Ecn::Ect1, 1500, 1000 + number), Instant::ZERO, &mut ledger);
    }
    let served: Vec<bool> =
        (0..100).map(|_| queue.dequeue(Instant::ZERO, &mut ledger).unwrap().body >= 1000).collect();
    assert!(served[0], "the L4S queue must be served first");
    assert_eq!(served.iter().filter(|l4s| !**l4s).count(), 10);
}

#[test]
fn a_time_shift_lets_classic_go_once_it_has_waited_longer() {
    let mut queue = queue(Scheduler::TimeShifted { shift: Duration::from_millis(30) });
    let mut ledger = Ledger::default();
    queue.enqueue(with(Ecn::NotEct, 100, 1), Instant::ZERO, &mut ledger);
    queue.enqueue(with(Ecn::Ect1, 100, 2), Instant::from_millis(20), &mut ledger);
    queue.enqueue(with(Ecn::Ect1, 100, 3), Instant::from_millis(31), &mut ledger);
    let now = Instant::from_millis(40);
    let order: Vec<u64> = core::iter::from_fn(|| queue.dequeue(now, &mut ledger)).map(|p| p.body).collect();
    // With the shift, packet 2 counts as queued at -10 ms, packet 1 at 0 ms and packet 3 at +1 ms.
    assert_eq!(order, [2, 1, 3]);
}

#[test]
fn l4s_is_marked_from_one_millisecond_on() {
    let marks = |waited_us: u64| {
        let mut queue = queue(WEIGHTED);
        let mut ledger = Ledger::default();
        for number in 0..10 {
            queue.enqueue(with(Ecn::Ect1, 1500, number), Instant::ZERO, &mut ledger);
        }
        while queue.dequeue(Instant::from_micros(waited_us), &mut ledger).is_some() {}
        ledger.marked
    };
    assert_eq!(marks(1_000), 0);
    // `recur` signals when its sum exceeds 1, so a probability of 1 marks from the second packet on. Of ten packets the
    // first only adds to the sum, and the last two are within the guard of 3000 B.
    assert_eq!(marks(1_001), 7);
}

#[test]
fn the_ramp_rises_from_800_to_1200_us() {
    let at = |us, left| L4sMarking::RAMP.probability(Duration::from_micros(us), left);
    assert!((at(800, 9), at(1200, 9), at(5000, 1)) == (0.0, 1.0, 0.0));
    assert!((at(1000, 9) - 0.5).abs() < 1e-9);
}

/// Shows the controller `delay_ms` in the Classic queue for some updates, then sends 1000 full packets of `ecn`.
/// Returns the marked packets, the dropped packets and the base probability.
fn signals(delay_ms: u64, updates: u64, ecn: Ecn) -> (u64, usize, f64) {
    let mut queue = queue(WEIGHTED);
    let mut ledger = Ledger::default();
    let start = Instant::from_secs(1);
    queue.enqueue(with(Ecn::NotEct, 1500, 0), start, &mut ledger);
    for update in 0..updates {
        let now = start + Duration::from_millis(16 * (update + 1));
        queue.classic.packets[0].meta.queued_at = now - Duration::from_millis(delay_ms);
        queue.handle_timeout(now);
    }
    let base = queue.controller.coupled() / 2.0;
    let now = start + Duration::from_millis(16 * updates);
    for number in 1..=1000 {
        queue.enqueue(with(ecn, 1500, number), now, &mut ledger);
    }
    while queue.dequeue(now, &mut ledger).is_some() {}
    (ledger.marked, ledger.dropped.len(), base)
}

#[test]
fn classic_sees_the_square_and_l4s_twice_the_base() {
    // The first update adds 0.16 (0.035 - 0.015) + 3.2 * 0.035 = 0.1152, each later one 0.0032.
    let (marked, dropped, base) = signals(35, 10, Ecn::NotEct);
    assert!((base - (0.1152 + 9.0 * 0.0032)).abs() < 1e-9);
    // p' = 0.144, so p_C = 0.0207 of 999 packets and p_CL = 0.288.
    assert_eq!((marked, dropped), (0, (999.0 * base * base) as usize));
    assert_eq!(signals(35, 10, Ecn::Ect0).0, (999.0 * base * base) as u64);
    let (marked, dropped, _) = signals(35, 10, Ecn::Ect1);
    assert_eq!(dropped, 0);
    assert!(marked.abs_diff((999.0 * 2.0 * base) as u64) <= 1, "{marked}");
}

#[test]
fn overload_drops_whatever_the_ecn_field_says() {
    // 500 ms of delay: the first update takes the base probability above 1/k.
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let (_, dropped, base) = signals(500, 1, ecn);
        assert!(base >= 0.5 && dropped > 900, "{ecn:?}: {dropped} at {base}");
    }
}

#[test]
fn a_quiet_queue_stops_its_clock() {
    let mut queue = queue(WEIGHTED);
    let mut ledger = Ledger::default();
    queue.enqueue(with(Ecn::NotEct, 1500, 0), Instant::ZERO, &mut ledger);
    assert_eq!(queue.poll_timeout(), Some(Instant::from_millis(16)));
    queue.dequeue(Instant::ZERO, &mut ledger);
    queue.handle_timeout(Instant::from_millis(16));
    assert_eq!(queue.poll_timeout(), None);
}

#[test]
fn configurations_are_checked() {
    let ok = DualPi2Config::default();
    assert_eq!(ok.check(), Ok(()));
    assert!(DualPi2Config { limit: Limit::Packets(0), ..ok }.check().is_err());
    assert!(DualPi2Config { scheduler: Scheduler::Weighted { classic_percent: 0 }, ..ok }.check().is_err());
    let marking = L4sMarking { from: Duration::from_millis(2), ..L4sMarking::STEP };
    assert!(DualPi2Config { marking, ..ok }.check().is_err());
}
