use super::*;
use crate::aqm::Cobalt;
use crate::aqm::cobalt::{CobaltParameters, Grace};
use crate::fixture::{Ledger, in_class};
use gamelane_core::{Duration, PacketMeta, Seed};
use std::cell::Cell;

/// Notes whether queue 0 was idle when a packet arrived.
struct Noting<'a>(&'a Cell<bool>);

impl FlowSelector for Noting<'_> {
    fn select(&mut self, _packet: &PacketMeta, is_idle: impl Fn(u32) -> bool) -> u32 {
        self.0.set(is_idle(0));
        0
    }
}

#[test]
fn a_decaying_queue_belongs_to_its_flow() {
    let idle = Cell::new(false);
    let law = CobaltParameters::for_rate(Duration::from_millis(100), Duration::ZERO, Grace::Linux);
    let parameters = FqParameters {
        requeue_empty_new: Requeue::Never,
        ..crate::parameters::fq(QueueKind::FqCodel, crate::config::ParameterSet::Linux)
    };
    let cobalt = |_| Cobalt::new(law, Seed(1).stream("cobalt"));
    let mut queues = FlowQueues::with_selector(parameters, Noting(&idle), cobalt);
    let mut ledger = Ledger::default();
    let mut was_idle = |at_ms: u64, visit_ms: u64| {
        let at = Instant::from_millis(at_ms);
        queues.enqueue(in_class(0, 1500, 0), at, &mut ledger);
        assert!(queues.dequeue(at, &mut ledger).is_some());
        assert!(queues.dequeue(at, &mut ledger).is_none());
        queues.visit_decaying(Instant::from_millis(visit_ms));
        idle.get()
    };
    // A packet below target holds the queue for an interval (`cake_dequeue` looks at drop_next).
    assert!(was_idle(1_000, 1_099));
    assert!(!was_idle(1_099, 1_199));
    assert!(was_idle(1_199, 1_199));
}
