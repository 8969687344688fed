//! VoAP over its free parameters: step, period and number of downloads, against a FIFO. Prints a Markdown table.
//! `cargo run --release -p gamelane-sim --example voap_sweep [KEY=VALUE ...]`; a key and value go over the scenario.

use std::path::Path;

use gamelane_core::{Direction, Seed};
use gamelane_scenario::Scenario;
use gamelane_sim::{Household, Records, Summary};

fn main() {
    let common: Vec<(String, String)> = std::env::args()
        .skip(1)
        .filter_map(|argument| {
            argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
        })
        .collect();
    println!(
        "| gateway | downloads | goodput, Mbit/s | delay mean, p50, p99, max, ms | mean, peak backlog | drops | fairness |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for downloads in [1, 2, 4, 8] {
        row("fifo", downloads, &common, None);
        for period in ["ack", "rtt", "50ms"] {
            for step in ["1", "2", "4", "8"] {
                row(&format!("{period}, {step}"), downloads, &common, Some((period, step)));
            }
        }
    }
}

fn row(label: &str, downloads: u32, common: &[(String, String)], voap: Option<(&str, &str)>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/voap.toml");
    let mut text = std::fs::read_to_string(&file).expect("the shipped scenario is readable");
    for extra in 2..=downloads {
        let start = 2 * extra;
        text += &format!(
            "\n[[flow]]\nname = \"download{extra}\"\napp = \"bulk\"\ndirection = \"down\"\nstart = \"{start}s\"\n"
        );
    }
    // The paper's game beside the downloads would blur what the step does.
    let mut overrides = vec![("flow.game.enabled".to_owned(), "false".to_owned())];
    overrides.extend_from_slice(common);
    if let Some((period, step)) = voap {
        overrides.push(("gateway.voap.period".into(), period.into()));
        overrides.push(("gateway.voap.step".into(), step.into()));
    }
    let mut model = Scenario::parse(&text, &file.to_string_lossy(), &overrides)
        .and_then(|scenario| scenario.to_model())
        .unwrap_or_else(|error| panic!("{error}"));
    if voap.is_none() {
        model.gateway.voap = None;
    }
    let outcome = Household::new(&model, Seed(1), Records::new(&model, false)).run();
    let summary = Summary::new(&model, &outcome);
    let down = Direction::Down.index();
    let mut delays: Vec<f64> = outcome
        .recorder
        .flows
        .iter()
        .flat_map(|flow| &flow.directions[down].arrivals)
        .filter(|row| row.at.as_secs_f64() >= model.warmup.as_secs_f64())
        .map(|row| row.queue_delay.as_millis_f64())
        .collect();
    delays.sort_by(f64::total_cmp);
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize];
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / 1e6;
    let queue = &summary.queues[down];
    let each = || summary.flows.iter().map(|flow| flow.goodput_bps);
    let fairness =
        each().sum::<f64>().powi(2) / (each().map(|rate| rate * rate).sum::<f64>() * f64::from(downloads));
    println!(
        "| {label} | {downloads} | {goodput:.2} | {mean:.1}, {:.1}, {:.1}, {:.1} | {:.1}, {} | {} | {fairness:.2} |",
        at(0.5),
        at(0.99),
        at(1.0),
        queue.mean_backlog,
        queue.peak_backlog,
        queue.tail_drops
    );
}
