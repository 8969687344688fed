//! All results of the household of collom2016, as integers. Every change of behaviour shows here. Read the difference before
//! you accept it (`INSTA_UPDATE=always cargo test -p gamelane-sim golden`).

use crate::common;

use std::fmt::Write;

use crate::common::queues::QUEUES;
use gamelane_core::{Direction, DropReason, Seed};
use gamelane_record::Records;
use gamelane_sim::Household;

#[test]
fn the_household_of_collom2016() {
    let mut table = String::new();
    for (link, down, up) in [("12/1", "12mbit", "1mbit"), ("50/20", "50mbit", "20mbit")] {
        for queue in QUEUES {
            let limit = if queue == "fifo" { "100p" } else { "1000p" };
            let overrides = [
                ("gateway.*.queue", queue),
                ("gateway.*.limit", limit),
                ("link.down", down),
                ("link.up", up),
                ("duration", "30s"),
            ];
            let model = common::model("collom2016", &overrides);
            let outcome = Household::new(&model, Seed(1), Records::new(&model)).run();
            writeln!(table, "{link} {queue}: {} events", outcome.events).unwrap();
            for direction in Direction::BOTH {
                let hop = &outcome.hops[direction.index()];
                let drops = DropReason::ALL
                    .iter()
                    .filter(|reason| hop.counters.dropped.of(**reason) > 0)
                    .map(|reason| format!(" {} {}", hop.counters.dropped.of(*reason), reason.name()))
                    .collect::<String>();
                writeln!(
                    table,
                    "  {:<4} {} packets, peak {}, dropped{}",
                    direction.name(),
                    hop.counters.arrived,
                    hop.peak_backlog,
                    if drops.is_empty() { " none" } else { &drops },
                )
                .unwrap();
            }
            for (flow, records) in model.flows.iter().zip(&outcome.recorder.flows) {
                let rtt_sum: u128 = records.rtt.iter().map(|(_, rtt)| u128::from(rtt.as_nanos())).sum();
                let [up, down] = [0, 1].map(|direction: usize| records.directions[direction].totals);
                writeln!(
                    table,
                    "  {:<7} up {}/{} down {}/{} rtt {} samples, {} ns in all",
                    flow.name,
                    up.received,
                    up.sent,
                    down.received,
                    down.sent,
                    records.rtt.len(),
                    rtt_sum,
                )
                .unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}
