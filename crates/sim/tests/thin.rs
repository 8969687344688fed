//! Games over TCP: every carriage delivers every message; they differ in head-of-line blocking.

use crate::common;
use gamelane_core::Seed;
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::Model;
use gamelane_sim::Household;

const CARRIAGES: [&str; 4] = ["direct", "mux", "streams", "datagrams"];

fn game(overrides: &[(&str, &str)]) -> Model {
    let base = [("duration", "120s"), ("flow.players.connections", "40"), ("flow.players.direction", "down")];
    common::model("griwodz2006", &base.iter().chain(overrides).copied().collect::<Vec<_>>())
}

fn run(model: &Model) -> (RunSummary, Records) {
    let outcome = Household::new(model, Seed(7), Records::new(model)).run();
    (outcome.summary(model, 1), outcome.recorder)
}

#[test]
fn every_carriage_delivers_the_same_messages_in_order() {
    let counts: Vec<usize> = CARRIAGES
        .iter()
        .map(|carriage| {
            let model = game(&[("flow.players.carriage", carriage), ("flow.players.loss", "2%")]);
            let records = run(&model).1;
            let mut newest = vec![0; 40];
            for row in &records.deliveries {
                let written = row.at.as_nanos() - row.delay.as_nanos();
                let before = &mut newest[row.player as usize];
                assert!(written >= *before, "{carriage}: a player's messages changed order");
                *before = written;
            }
            // Messages in flight at the end of the run differ.
            records
                .deliveries
                .iter()
                .filter(|row| row.at.as_nanos() - row.delay.as_nanos() < 110_000_000_000)
                .count()
        })
        .collect();
    // Direct connections open one by one, and write the messages that are due when they open.
    assert!(counts[0] > 2_000, "{counts:?}");
    assert_eq!([counts[0]; 4], counts[..], "{CARRIAGES:?}");
}

#[test]
fn without_loss_no_carriage_delays_anything() {
    for carriage in CARRIAGES {
        let model =
            game(&[("flow.players.carriage", carriage), ("flow.players.loss", "0%"), ("warmup", "10s")]);
        let (summary, _) = run(&model);
        let thin = summary.flows[0].thin.as_ref().unwrap();
        let delivery = thin.down.delivery_ms;
        assert!((delivery.all.quantiles[2] - 100.0).abs() < 0.1, "{carriage}: {delivery:?}");
        assert_eq!(thin.nth["1"].itself, 0, "{carriage}");
        assert!(thin.down.held_ms.max <= 0.0, "{carriage}");
    }
}

#[test]
fn independent_streams_wait_less_for_others() {
    let held = |carriage: &str| {
        let model = game(&[("flow.players.carriage", carriage), ("flow.players.loss", "2%")]);
        run(&model).0.flows[0].thin.as_ref().unwrap().down.held_ms.mean
    };
    let (mux, streams) = (held("mux"), held("streams"));
    assert!(streams < mux / 5.0, "held {streams} ms in streams, {mux} ms in one order");
}

#[test]
fn the_table_of_carriages() {
    let mut table = String::from("carriage   packets  again  messages  p50_us  p99_us  held_us\n");
    for carriage in CARRIAGES {
        let model = game(&[("flow.players.carriage", carriage), ("flow.players.loss", "2%")]);
        let (summary, _) = run(&model);
        let flow = &summary.flows[0];
        let thin = flow.thin.as_ref().unwrap();
        let down = &thin.down;
        let micros = |millis: f64| (millis * 1e3).round() as u64;
        table += &format!(
            "{carriage:<9} {:>8} {:>6} {:>9} {:>7} {:>7} {:>8}\n",
            flow.up.sent + flow.down.sent,
            thin.retransmitted_segments,
            down.messages,
            micros(down.delivery_ms.all.quantiles[2]),
            micros(down.delivery_ms.all.quantiles[5]),
            micros(down.held_ms.mean),
        );
    }
    insta::assert_snapshot!(table);
}
