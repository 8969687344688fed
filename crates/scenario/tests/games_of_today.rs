//! The models of games that people play in 2026: their rates, and what the detector says of them.

use gamelane_core::Direction::{Down, Up};
use gamelane_core::dist::Mixture;
use gamelane_qdisc::classify::BehaviourParameters;
use gamelane_scenario::Scenario;
use gamelane_scenario::text::models;
use gamelane_traffic::config::AppConfig;

/// Application, model, and IP rates of one player down and up in kbit/s. The rates are those of our collection of
/// published figures and estimates, not of the files, except:
///
/// - `lol`: Riot's 64 and 14. The collection's own sizes give 62 and 13.
/// - `iracing`: the collection has the cap, 309 down. Its sizes give 301.
/// - `minecraft-java`: the middle of 111 to 222 down.
/// - `wow`: a player alone, of 8 to 50 down with raids.
/// - `osrs`, `mobile-mmo`: the collection has no rate. `mobile-mmo` has the 20 of Lineage II, both ways together.
const GAMES: [(&str, &str, f64, f64); 27] = [
    ("game", "cs2", 147.0, 71.0),
    ("game", "valorant", 193.0, 121.0),
    ("game", "fortnite", 93.0, 59.0),
    ("game", "apex", 490.0, 61.0),
    ("game", "warzone", 116.0, 57.0),
    ("game", "cod-6v6", 192.0, 59.0),
    ("game", "overwatch2", 139.0, 54.0),
    ("game", "rocket-league", 143.0, 42.0),
    ("game", "lol", 64.0, 14.0),
    ("game", "dota2", 79.0, 21.0),
    ("game", "pubg", 103.0, 47.0),
    ("game", "roblox", 109.0, 52.0),
    ("game", "ea-fc", 31.0, 31.0),
    ("game", "iracing", 301.0, 119.0),
    ("game", "minecraft-bedrock", 84.0, 14.0),
    ("game", "albion", 24.0, 9.0),
    ("game", "mobile-moba", 68.0, 47.0),
    ("mmo", "minecraft-java", 167.0, 14.7),
    ("mmo", "wow", 10.1, 2.0),
    ("mmo", "osrs", 7.4, 0.96),
    ("mmo", "mobile-mmo", 17.8, 1.7),
    ("cloud", "gfn-1080p", 25_000.0, 180.0),
    ("cloud", "gfn-4k", 45_000.0, 90.0),
    ("cloud", "xbox-cloud", 15_000.0, 90.0),
    ("cloud", "ps-remote", 15_000.0, 90.0),
    ("cloud", "ps-cloud", 13_000.0, 90.0),
    ("cloud", "moonlight", 20_000.0, 180.0),
];

fn app(app: &str, model: &str) -> AppConfig {
    let text = format!(
        "name = \"one\"\nlink = {{ up = \"100mbit\", down = \"100mbit\" }}\n\
         flow = [{{ name = \"game\", app = \"{app}\", model = \"{model}\" }}]"
    );
    let scenario = Scenario::parse(&text, "one.toml", &[]).unwrap_or_else(|refused| panic!("{refused}"));
    let model = scenario.to_model().unwrap_or_else(|refused| panic!("{refused}"));
    model.flows[0].app.clone()
}

#[test]
fn rates_are_those_of_the_collection() {
    for (kind, name, down, up) in GAMES {
        let app = app(kind, name);
        for (direction, kbit) in [(Down, down), (Up, up)] {
            let sent = app.offered_bps(direction) / 1e3;
            assert!((sent / kbit - 1.0).abs() < 0.02, "{name} {direction:?}: {sent:.2} kbit/s, not {kbit}");
        }
    }
}

#[test]
fn the_page_has_the_rates_of_the_files() {
    let page = include_str!("../../../models/README.md");
    let cell = |bps: f64| if bps < 20e3 { format!("{:.1}", bps / 1e3) } else { format!("{:.0}", bps / 1e3) };
    for (kind, name, ..) in GAMES {
        let app = app(kind, name);
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).expect(name);
        let rates = format!("| {} | {} |", cell(app.offered_bps(Down)), cell(app.offered_bps(Up)));
        assert!(row.contains(&rates), "{row}: {rates}");
        if let AppConfig::Game(_) = app {
            assert!(row.contains(if is_seen(&app) { "| seen" } else { "| missed" }), "{row}");
        }
    }
}

/// True if the mean rates and sizes of both directions are within the detector's bounds.
fn is_seen(app: &AppConfig) -> bool {
    let bounds = BehaviourParameters::default();
    let AppConfig::Game(game) = app else {
        let is_slow = app.offered_bps(Down) <= bounds.highest_rate.bps() as f64;
        assert!(!is_slow || matches!(app, AppConfig::Mmo(_)), "this application needs a verdict of its own");
        return false;
    };
    let intervals_s = [(Down, game.server.tick.mean()), (Up, Mixture::new(&game.client.interval).mean())];
    intervals_s.into_iter().all(|(direction, interval_s)| {
        let rate_bps = app.offered_bps(direction);
        let packets_per_second =
            f64::from(bounds.slowest_packets_per_second)..=f64::from(bounds.fastest_packets_per_second);
        packets_per_second.contains(&(1.0 / interval_s))
            && rate_bps * interval_s / 8.0 <= f64::from(bounds.largest_mean_len.0)
            && rate_bps <= bounds.highest_rate.bps() as f64
    })
}

#[test]
fn notes_say_what_the_detector_sees() {
    let models = models();
    for (kind, name, ..) in GAMES {
        let model = models.iter().find(|model| model.name == name).expect(name);
        let says = if is_seen(&app(kind, name)) { "The detector sees it" } else { "The detector misses it" };
        assert!(model.notes.contains(says), "{name}: {says}, but its notes say: {}", model.notes);
        let adapts = model.notes.contains("does not adapt");
        assert_eq!(adapts, kind == "cloud", "{name}: {}", model.notes);
    }
}

#[test]
fn a_preset_of_a_game_has_a_host_and_limits() {
    let models = models();
    for (kind, name, ..) in GAMES {
        let model = models.iter().find(|model| model.name == name).expect(name);
        assert!(model.host.is_some() && model.quality.is_some(), "{name}");
        assert_eq!(model.tcp.is_some(), kind == "mmo", "{name}");
    }
}
