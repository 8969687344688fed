//! Households on DOCSIS, trace and Wi-Fi links.

use crate::common;
use gamelane_core::Seed;
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::{Model, Scenario};
use gamelane_sim::{Household, Outcome};

fn run(model: &Model) -> Outcome<Records> {
    Household::new(model, Seed(1), Records::new(model)).run()
}

fn summary(name: &str, overrides: &[(&str, &str)]) -> RunSummary {
    let model = common::model(name, overrides);
    run(&model).summary(&model, 1)
}

/// Median upstream queue delay of the first flow, the game, in milliseconds.
fn game_delay_up(summary: &RunSummary) -> f64 {
    summary.flows[0].up.queue_delay_ms.quantiles[2]
}

#[test]
fn every_packet_is_received_or_lost_on_every_link() {
    let relays = [("link.wifi.relays", "2")];
    for (name, overrides) in [("docsis", &[][..]), ("wifi", &[]), ("wifi", &relays), ("lte", &[])] {
        let overrides: Vec<_> = [("duration", "40s")].iter().chain(overrides).copied().collect();
        let model = common::model(name, &overrides);
        let outcome = run(&model);
        for flow in &outcome.recorder.flows {
            for direction in &flow.directions {
                let totals = direction.totals;
                assert_eq!(totals.sent, totals.received + totals.lost, "{name}");
                assert!(totals.received > 100, "{name}");
            }
        }
        for (queue, other) in &outcome.others {
            assert!(other.counters.balance(0), "{name} {queue}");
        }
    }
}

#[test]
fn a_shaped_gateway_empties_the_modem_and_an_unshaped_one_does_not() {
    // but2006 section III.B: without a shaper the bridge forwards at 100 Mbit/s, so its queue stays empty, whatever the
    // discipline.
    let modem = |model: &Model| {
        let outcome = run(model);
        let (name, modem) = &outcome.others[0];
        assert_eq!(name, "modem");
        (
            modem.mean_backlog.expect("the simulator measures the mean backlog"),
            game_delay_up(&outcome.summary(model, 1)),
        )
    };
    let shaped = common::model("docsis", &[]);
    let mut unshaped = shaped.clone();
    unshaped.access.shape[0] = None;
    let (shaped, delay_shaped) = modem(&shaped);
    let (unshaped, delay_unshaped) = modem(&unshaped);
    assert!(shaped < 1.5, "{shaped}");
    assert!(unshaped > 8.0, "{unshaped}");
    assert!(delay_shaped < 100.0 && delay_unshaped > 600.0, "{delay_shaped} {delay_unshaped}");
}

#[test]
fn queue_management_in_the_modem_needs_no_shaper() {
    let mut model = common::model("docsis", &[("gateway.modem.queue", "fq_codel")]);
    model.access.shape[0] = None;
    let delay = game_delay_up(&run(&model).summary(&model, 1));
    assert!(delay < 100.0, "{delay}");
}

#[test]
fn an_idle_modem_adds_what_request_and_grant_take() {
    let alone =
        [("flow.upload.enabled", "false"), ("flow.download.enabled", "false"), ("link.docsis.load", "0%")];
    let summary = summary("docsis", &alone);
    let game = &summary.flows[0];
    // In the modem a packet waits U(0, 2 ms) for the next request interval, 2 ms for the grant, and 0.2 ms for the
    // opportunities at the start of the interval. The shaper's queue is empty.
    let delay = &game.up.queue_delay_ms;
    assert!((delay.mean - 3.2).abs() < 0.15, "{}", delay.mean);
    assert_eq!(game.up.lost, 0);
}

#[test]
fn the_access_points_queue_is_where_a_download_waits() {
    let busy = summary("wifi", &[("flow.backup.enabled", "false")]);
    let down = &busy.flows[0].down.queue_delay_ms;
    // 250 packets of 1500 B at some 24 Mbit/s (ACKs share the air) are 125 ms.
    assert!((60.0..160.0).contains(&down.quantiles[2]), "{:?}", down.quantiles);
    assert_eq!(busy.queues["down"].backlog_packets.max, 250);
    let rate = busy.flows[1].down.throughput_bps.mean;
    assert!((20e6..28e6).contains(&rate), "{rate}");
    let fair = summary("wifi", &[("flow.backup.enabled", "false"), ("gateway.down.queue", "fq_codel")]);
    let down = &fair.flows[0].down.queue_delay_ms;
    assert!(down.quantiles[5] < 6.0, "{:?}", down.quantiles);
}

#[test]
fn a_trace_link_carries_what_its_trace_does() {
    let summary = summary("lte", &[("flow.game.enabled", "false"), ("warmup", "0s")]);
    let model = common::model("lte", &[]);
    let gamelane_scenario::Medium::Trace([_, Some(trace)]) = &model.access.medium else {
        panic!("the scenario has no downstream trace");
    };
    let rate = summary.flows[0].down.throughput_bps.mean;
    let mean = trace.mean().bps() as f64;
    assert!(rate / mean > 0.85 && rate / mean <= 1.0, "{rate} of {mean}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for name in ["docsis", "wifi", "lte"] {
        let model = common::model(name, &[("duration", "20s")]);
        let text = |outcome: &Outcome<Records>| {
            let rows =
                outcome.recorder.flows.iter().map(|flow| format!("{:?}{:?}", flow.rtt, flow.directions));
            rows.collect::<String>() + &format!("{:?}{:?}", outcome.others, outcome.stations)
        };
        assert_eq!(text(&run(&model)), text(&run(&model)), "{name}");
    }
}

#[test]
fn stations_are_hosts_and_their_airtime_is_counted() {
    let model = common::model("wifi", &[]);
    let gamelane_scenario::Medium::WifiG(wifi) = &model.access.medium else {
        panic!("the scenario has no wifi-g link")
    };
    let names: Vec<&str> = wifi.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["console", "laptop", "phone"]);
    let outcome = run(&model);
    let seconds: Vec<f64> = outcome.stations.iter().map(|own| own.airtime.as_secs_f64()).collect();
    assert!(seconds.iter().sum::<f64>() < 60.0, "{seconds:?}");
    assert!(seconds[1] > seconds[0] && seconds[2] > seconds[0], "{seconds:?}");
    assert!(outcome.stations[2].errors > 0 && outcome.stations[1].errors == 0);
    assert!(outcome.stations.iter().all(|own| own.collisions > 0));
}

#[test]
fn a_flow_without_a_host_is_a_station_of_its_own() {
    let text = "name = \"x\"\n[link]\nkind = \"wifi-g\"\nup = \"1mbit\"\ndown = \"1mbit\"\n[[flow]]\nname = \"a\"\napp = \"voip\"\n";
    let model = Scenario::parse(text, "x.toml", &[]).and_then(|scenario| scenario.to_model()).unwrap();
    assert!(run(&model).stations[0].attempts > 1000);
}
