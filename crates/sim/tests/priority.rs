//! Queues with classes in a household: the claims of but2006 on priority, then each other queue.

use crate::common;
use gamelane_core::{DropReason, Seed};
use gamelane_record::{Records, RunSummary};
use gamelane_sim::{Household, Outcome};

const UP: usize = 0;

fn run(scenario: &str, overrides: &[(&str, &str)]) -> (RunSummary, Outcome<Records>) {
    let model = common::model(scenario, overrides);
    let outcome = Household::new(&model, Seed(1), Records::new(&model)).run();
    (outcome.summary(&model, 1), outcome)
}

#[test]
fn loss_and_queueing_delay_of_the_game_fall_with_priority() {
    // Shorter than the modem's buffer of one second, like the bridge's own bands.
    let (fifo, _) = run("priority", &[("gateway.up.queue", "fifo"), ("gateway.up.limit", "10p")]);
    let (first, _) = run("priority", &[("gateway.up.limit", "10p")]);
    let [before, after] = [&fifo, &first].map(|summary| summary.flows[0].up);
    assert!(before.loss > 0.01, "{before:?}");
    assert!(after.loss == 0.0, "{after:?}");
    assert!(before.queue_delay_ms.mean > 150.0, "{before:?}");
    assert!(after.queue_delay_ms.mean < before.queue_delay_ms.mean / 2.0, "{after:?}");
    // The upload gets the rest of the link.
    let goodput = [&fifo, &first].map(|summary| summary.flows[1].goodput_bps);
    assert!(goodput[1] > 0.5 * goodput[0], "{goodput:?}");
}

#[test]
fn priority_in_the_modem_needs_no_shaper() {
    let unshaped = [("gateway.shape", "{}"), ("gateway.priority", "[\"game\"]"), ("duration", "60s")];
    let with = |key| run("docsis", &[&unshaped[..], &[(key, "priority")]].concat()).0.flows[0].up;
    let (bridge, modem) = (with("gateway.up.queue"), with("gateway.modem.queue"));
    assert!(bridge.queue_delay_ms.mean > 500.0, "a queue builds up in the modem: {bridge:?}");
    assert!(modem.queue_delay_ms.mean < 50.0 && modem.loss == 0.0, "{modem:?}");
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
        assert_eq!(summary.queues["up"].drops.ack_filter, dropped);
    }
}

#[test]
fn every_packet_sent_is_received_or_lost() {
    for queue in ["cake", "dualpi2", "drr", "htb"] {
        let first = ("gateway.priority", "[\"game\"]");
        let (_, outcome) = run("docsis", &[("gateway.up.queue", queue), ("duration", "20s"), first]);
        for totals in outcome.recorder.flows.iter().flat_map(|flow| &flow.directions).map(|way| way.totals) {
            assert_eq!(totals.sent, totals.received + totals.lost, "{queue}");
        }
        assert!(outcome.hops.iter().all(|hop| hop.counters.balance(0)), "{queue}");
    }
}

#[test]
fn classes_that_share_the_link_keep_the_game_from_waiting() {
    let game = |sets: &[(&str, &str)]| {
        let (summary, _) = run("priority", &[sets, &[("duration", "60s")]].concat());
        (summary.flows[0].up, summary.flows[1].goodput_bps)
    };
    let (fifo, alone) = game(&[("gateway.up.queue", "fifo"), ("gateway.up.limit", "50p")]);
    for queue in ["drr", "htb"] {
        let (shared, upload) = game(&[("gateway.up.queue", queue)]);
        assert!(shared.queue_delay_ms.mean < fifo.queue_delay_ms.mean / 5.0, "{queue}: {shared:?}");
        assert!(shared.loss == 0.0, "{queue}: {shared:?}");
        assert!(upload > 0.8 * alone, "{queue}: {upload} of {alone}");
    }
}

#[test]
fn a_ceiling_holds_a_class_that_nobody_else_keeps_waiting() {
    let classes = r#"[{ name = "game", rate = "60%" }, { name = "bulk", rate = "20%", ceil = "25%" }]"#;
    let rules = r#"[{ class = "game", protocol = "udp" }]"#;
    let sets = [
        ("gateway.up.queue", "htb"),
        ("gateway.class", classes),
        ("gateway.rule", rules),
        ("link.up", "2mbit"),
    ];
    let (summary, _) = run("household", &sets);
    // A quarter of 2 Mbit/s, less 40 of 1500 B for headers, for 50 of the 60 s.
    let upload = summary.flows[1].goodput_bps;
    assert!((450e3..500e3).contains(&upload), "{upload}");
}

#[test]
fn priority_inside_the_modem_needs_no_shaper() {
    let game = |sets: &[(&str, &str)]| {
        let (summary, _) = run("docsis", &[&[("gateway.shape", "false")], sets].concat());
        summary.flows[0].up
    };
    let modem = game(&[]);
    let first = game(&[("gateway.modem.queue", "priority"), ("gateway.priority", "[\"game\"]")]);
    assert!(first.queue_delay_ms.mean < modem.queue_delay_ms.mean / 5.0, "{first:?} {modem:?}");
}
