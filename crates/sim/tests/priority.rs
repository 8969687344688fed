//! Queues that tell classes apart, in a household: what but2006 claims of priority, and every other queue by its name.

mod common;

use gamelane_core::{DropReason, Seed};
use gamelane_sim::{Household, Outcome, Records, Summary};

const UP: usize = 0;

fn run(scenario: &str, overrides: &[(&str, &str)]) -> (Summary, Outcome<Records>) {
    let model = common::model(scenario, overrides);
    let outcome = Household::new(&model, Seed(1), Records::new(&model, false)).run();
    (Summary::new(&model, &outcome), outcome)
}

#[test]
fn loss_and_queueing_delay_of_the_game_fall_with_priority() {
    // Shorter than the modem's second of buffer, as the bridge's own bands are.
    let (fifo, _) = run("priority", &[("gateway.up.queue", "fifo"), ("gateway.up.limit", "10p")]);
    let (first, _) = run("priority", &[("gateway.up.limit", "10p")]);
    let [before, after] = [&fifo, &first].map(|summary| summary.flows[0].directions[UP]);
    assert!(before.loss > 0.01, "{before:?}");
    assert!(after.loss == 0.0, "{after:?}");
    assert!(before.queue_delay_ms.mean > 150.0, "{before:?}");
    assert!(after.queue_delay_ms.mean < before.queue_delay_ms.mean / 2.0, "{after:?}");
    // What is left of the link is the upload's.
    let goodput = [&fifo, &first].map(|summary| summary.flows[1].goodput_bps);
    assert!(goodput[1] > 0.5 * goodput[0], "{goodput:?}");
}

#[test]
fn redundant_acks_are_dropped_where_they_are_filtered() {
    for queue in ["priority", "cake"] {
        let fields = [("gateway.up.queue", queue), ("gateway.up.acks", "filter"), ("duration", "30s")];
        let first = ("gateway.priority", "[\"game\"]");
        let fields: Vec<_> = fields.into_iter().chain((queue == "priority").then_some(first)).collect();
        let (summary, outcome) = run("docsis", &fields);
        let dropped = outcome.hops[UP].counters.dropped.of(DropReason::AckFilter);
        assert!(dropped > 10, "{queue}: {dropped}");
        assert_eq!(summary.queues[UP].ack_filter_drops, dropped);
    }
}

#[test]
fn every_packet_sent_is_received_or_lost() {
    for queue in ["cake", "dualpi2"] {
        let (_, outcome) = run("docsis", &[("gateway.up.queue", queue), ("duration", "20s")]);
        for totals in outcome.recorder.flows.iter().flat_map(|flow| &flow.directions).map(|way| way.totals) {
            assert_eq!(totals.sent, totals.received + totals.lost, "{queue}");
        }
        assert!(outcome.hops.iter().all(|hop| hop.counters.balance(0)), "{queue}");
    }
}
