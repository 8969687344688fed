//! Finds the rate of a simulated link, and follows a link whose rate varies (but2006 section III.B and "further work").

use crate::common;
use gamelane_core::{Bitrate, Direction, Duration, Seed};
use gamelane_record::{Records, RunSummary};
use gamelane_scenario::Model;
use gamelane_sim::Household;
use gamelane_sim::trial::find_rate;
use gamelane_stage::FinderConfig;
use gamelane_stage::finder::{Found, Judgement};

fn found(name: &str, overrides: &[(&str, &str)], direction: Direction, payload: u32) -> (u64, u64) {
    let model = common::model(name, overrides);
    let config = FinderConfig { resolution: 10, ..FinderConfig::default() };
    let (found, trials) =
        // The modem forwards a burst of 3044 B at once, so the excess of a trial over its rate must be larger.
        find_rate(&model, direction, payload, Duration::from_secs(30), config, Seed(1));
    let Found::Rate { free, queued } = found else { panic!("{name}: {found:?}") };
    assert!(trials.len() < 60, "{name}: {} trials", trials.len());
    assert_eq!(trials[0].judgement, Judgement::Free);
    (free.bps(), queued.bps())
}

#[test]
fn the_finder_finds_the_192_kbit_of_the_docsis_upstream() {
    let (free, queued) = found("docsis", &[("link.docsis.load", "0%")], Direction::Up, 1470);
    assert!((188_000..=193_000).contains(&free), "{free}");
    assert!((free..=196_000).contains(&queued), "{queued}");
    // Small packets are 18 B larger on Ethernet, and over a third larger again on the channel, which has spare capacity.
    let (small, _) = found("docsis", &[("link.docsis.load", "0%")], Direction::Up, 72);
    assert!((186_000..=193_000).contains(&small), "{small}");
}

#[test]
fn a_modem_without_concatenation_is_slower_in_small_packets() {
    let modem = [
        ("link.docsis.load", "0%"),
        ("link.docsis.concatenation", "false"),
        ("link.docsis.map_interval", "10ms"),
    ];
    let (large, _) = found("docsis", &modem, Direction::Up, 1470);
    let (small, _) = found("docsis", &modem, Direction::Up, 72);
    assert!((188_000..=193_000).contains(&large), "{large}");
    assert!((85_000..=96_000).contains(&small), "{small}");
}

#[test]
fn a_wired_link_is_found_both_ways_and_a_faster_one_is_said_to_be_faster() {
    assert!((980_000..=1_003_000).contains(&found("queues", &[], Direction::Up, 1400).0));
    assert!((11_800_000..=12_040_000).contains(&found("queues", &[], Direction::Down, 1400).0));
    let model = common::model("queues", &[]);
    let config = FinderConfig { highest: Bitrate::from_bps(500_000), ..FinderConfig::default() };
    let (found, _) = find_rate(&model, Direction::Up, 1400, Duration::from_secs(10), config, Seed(1));
    assert_eq!(found, Found::AboveHighest);
}

/// Without autorate the shaper keeps its rate; `UNSHAPED` also removes the shaper.
const FIXED: (&str, &str) = ("gateway.autorate", "false");
const UNSHAPED: [(&str, &str); 3] = [FIXED, ("gateway.shape", "false"), ("gateway.down.queue", "fifo")];

/// p50 and p99 of the game's round trip, ms; goodput of the download, Mbit/s; and the run.
fn follow(model: &Model) -> ([f64; 2], f64, RunSummary) {
    let outcome = Household::new(model, Seed(1), Records::new(model)).run();
    let summary = outcome.summary(model, 1);
    let rtt = summary.flows[0].rtt_ms.quantiles;
    ([rtt[2], rtt[5]], summary.flows[2].goodput_bps / 1e6, summary)
}

#[test]
fn a_shaper_that_follows_keeps_the_queue_at_home_and_uses_the_link() {
    let run = |overrides: &[(&str, &str)]| follow(&common::model("autorate", overrides));
    let (unshaped, all, _) = run(&UNSHAPED);
    let (low, least, _) = run(&[FIXED, ("gateway.shape.down", "3mbit")]);
    let (high, _, _) = run(&[FIXED, ("gateway.shape.down", "8mbit")]);
    let (followed, kept, summary) = run(&[]);
    // The download alone gets 8.1 of a mean of 8.7 Mbit/s, and the game waits a second behind it.
    assert!(unshaped[0] > 500.0 && all > 7.5, "{unshaped:?}, {all}");
    // A fixed rate below the link wastes capacity; above it, the queue builds up at the provider.
    assert!(least < 0.35 * all && low[0] < 60.0, "{low:?}, {least}");
    assert!(high[0] > 80.0, "{high:?}");
    assert!(followed[0] < 60.0 && followed[1] < 300.0 && followed[1] < high[1], "{followed:?}");
    assert!(kept > 0.6 * all, "{kept} of {all}");
    let own = summary.autorate["down"];
    assert!((5e6..9e6).contains(&own.rate_bps.mean), "{own:?}");
    assert_eq!(own.probes, 0, "passing traffic gives enough signals, so no probe is needed");
    assert_eq!(summary.autorate.get("up"), None);
}

#[test]
fn each_signal_alone_is_enough() {
    for signal in ["tcp", "game", "probe"] {
        let signals = format!("[\"{signal}\"]");
        let more = if signal == "probe" { "[[flow]]\nname = \"probes\"\napp = \"probe\"\n" } else { "" };
        let model = common::with("autorate", more, &[("gateway.autorate.down.signals", &signals)]);
        let (followed, kept, summary) = follow(&model);
        assert!(followed[0] < 70.0 && followed[1] < 400.0, "{signal}: {followed:?}");
        assert!(kept > 4.0, "{signal}: {kept}");
        let counters = summary.autorate["down"];
        assert_eq!((counters.probes > 0, counters.signals > 0), (signal == "probe", signal != "probe"));
        if let Some(probes) = summary.flows.values().nth(3) {
            // Each probe is answered unless lost, and costs 64 B in each direction. Only the shaper's counters include the warm-up.
            let answered = u64::from(probes.down.received);
            assert!(answered <= counters.probes && answered > counters.probes * 9 / 10, "{counters:?}");
            assert_eq!(probes.up.sent_bytes, 64 * u64::from(probes.up.sent));
        }
    }
}

#[test]
fn a_cable_modem_that_tells_its_backlog_is_followed_upstream() {
    let overrides = [
        ("gateway.shape.up", "100kbit"),
        ("gateway.autorate", "{ up = { signals = [\"backlog\"], target = \"200ms\", highest = \"1mbit\" } }"),
    ];
    let (_, _, summary) = follow(&common::model("docsis", &overrides));
    let own = summary.autorate["up"];
    // A packet takes 62 ms at 192 kbit/s and 120 ms at 100 kbit/s; a target below that makes no sense.
    // The rate swings between 50 and 250 kbit/s within seconds, so only its mean says something.
    assert!((130e3..=195e3).contains(&own.rate_bps.mean), "{own:?}");
}
