//! Whole households: conservation, repeatability, and results that need no statistics.

use crate::common;

use crate::common::queues::QUEUES;
use gamelane_core::{Direction, Duration, Instant, Seed};
use gamelane_record::Records;
use gamelane_scenario::Model;
use gamelane_sim::payload::{Content, Tap};
use gamelane_sim::{Household, Outcome};

fn run(model: &Model, seed: u64) -> Outcome<Records> {
    Household::new(model, Seed(seed), Records::new(model)).run()
}

/// Returns every round trip and every drop of a run as text, for comparison.
fn fingerprint(outcome: &Outcome<Records>) -> String {
    let records = &outcome.recorder;
    let mut text = format!("{:?}\n{:?}\n", outcome.hops, records.drops);
    for flow in &records.flows {
        text += &format!("{:?}\n{:?}\n", flow.rtt, flow.directions);
    }
    text
}

#[test]
fn every_packet_sent_is_received_or_lost() {
    for queue in QUEUES {
        let model = common::model("collom2016", &[("gateway.*.queue", queue), ("duration", "20s")]);
        let outcome = run(&model, 1);
        for flow in &outcome.recorder.flows {
            for direction in &flow.directions {
                let totals = direction.totals;
                assert_eq!(totals.sent, totals.received + totals.lost, "{queue}");
            }
        }
        for hop in &outcome.hops {
            assert!(hop.counters.balance(0), "{queue}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let model = common::model("collom2016", &[("gateway.*.queue", "pie"), ("duration", "20s")]);
    assert_eq!(fingerprint(&run(&model, 1)), fingerprint(&run(&model, 1)));
    assert_ne!(fingerprint(&run(&model, 1)), fingerprint(&run(&model, 2)));
}

/// A page of 1 MiB takes 8 s at 1 Mbit/s, and after 5 s the browser goes on to the next.
#[test]
fn a_page_that_is_left_is_answered_with_resets_until_its_server_stops() {
    let page =
        "[[flow]]\nname = \"web\"\napp = \"web\"\ndirection = \"down\"\nsize = \"1MiB\"\nevery = \"5s\"\n";
    let model = common::with("household", page, &[("link.down", "1mbit"), ("duration", "14s")]);
    let flow = model.flows.iter().position(|flow| flow.name == "web").expect("it was added");
    let outcome = Household::with_packets(&model, Seed(1), Records::new(&model)).run();
    let at_home =
        outcome.packets.iter().filter(|packet| packet.tap == Tap::Lan && packet.meta.flow.index() == flow);
    let (mut left, mut resets, mut opened) = (0, 0, 0);
    for packet in at_home {
        let Content::Segment(segment) = &packet.payload.content else { continue };
        match packet.direction {
            Direction::Down => left += u32::from(packet.payload.connection < opened),
            Direction::Up if segment.flags.rst() => resets += 1,
            Direction::Up => opened = packet.payload.connection,
        }
    }
    assert_eq!(opened, 2);
    assert!(resets > 20, "{resets}");
    assert_eq!(resets, left);
}

#[test]
fn stopping_to_look_changes_nothing() {
    let model = common::model("collom2016", &[("gateway.*.queue", "fq_pie"), ("duration", "15s")]);
    let mut household = Household::new(&model, Seed(1), Records::new(&model));
    let mut until = Instant::ZERO;
    while household.run_until(until) {
        until += Duration::from_micros(12_345);
    }
    assert_eq!(fingerprint(&household.finish()), fingerprint(&run(&model, 1)));
}

#[test]
fn a_game_alone_on_the_link_takes_under_two_milliseconds() {
    // collom2016 Fig. 4. By hand: 59 to 103 B up at 1 Mbit/s take 0.47 to 0.82 ms, about 180 B down at 12 Mbit/s 0.12 ms.
    let model = common::model("game-alone", &[("link.rtt", "0ms")]);
    let outcome = run(&model, 1);
    let summary = outcome.summary(&model, 1);
    let game = &summary.flows[0];
    assert!(game.rtt_ms.count > 1000);
    assert!(game.rtt_ms.max < 2.0 && game.rtt_ms.quantiles[0] > 0.47 + 0.05, "{:?}", game.rtt_ms);
    assert!([game.up, game.down].iter().all(|direction| direction.lost == 0));
}

#[test]
fn an_upload_fills_the_uplink_it_is_given() {
    let model = common::model("household", &[("gateway.up.queue", "fifo"), ("gateway.up.limit", "100p")]);
    let summary = run(&model, 1).summary(&model, 1);
    let up: f64 = summary.flows.values().map(|flow| flow.up.throughput_bps.mean).sum();
    assert!(up > 0.97e6 && up < 1.001e6, "{up}");
}

#[test]
fn retransmissions_of_every_connection_count() {
    // A page of 1 MiB every 10 s, each over a connection of its own, through a queue of 20 packets.
    let web =
        "[[flow]]\nname = \"web\"\napp = \"web\"\ndirection = \"down\"\nsize = \"1MiB\"\nevery = \"10s\"\n";
    let overrides = [("gateway.down.limit", "20p"), ("flow.upload.enabled", "false")];
    let model = common::with("household", web, &overrides);
    let outcome = run(&model, 1);
    let totals = outcome.totals(&model);
    let web = outcome.recorder.flows.len() - 1;
    let lost = outcome.recorder.flows[web]
        .directions
        .iter()
        .map(|direction| direction.totals.lost)
        .map(u64::from)
        .sum::<u64>();
    assert!(lost > 20, "{lost}");
    let resent = totals.flows.last().unwrap().retransmissions;
    // Six pages; every lost segment is sent again, except the last ones of the run.
    assert!(resent >= lost * 9 / 10, "{resent} for {lost} losses");
}
