//! Properties of every text. No input panics. An accepted scenario survives a round trip through its canonical text. The
//! hash depends on the values and not on how they are written.

use std::path::Path;

use gamelane_core::Direction;
use gamelane_qdisc::{DisciplineConfig, QueueKind};
use gamelane_scenario::Scenario;
use gamelane_tcp::Nagle;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        answer(&text, &[]);
    }

    #[test]
    fn any_value_is_answered(value in ".{0,20}", key in 0..VALID.len()) {
        answer(HOUSEHOLD, &[(VALID[key].0.into(), value)]);
    }

    #[test]
    fn any_key_is_answered(key in "[a-z_.*\"]{0,16}|(link|gateway|flow|tcp|flow.game)[.][a-z_.*]{0,10}", value in "[0-9a-z{}=\"]{0,9}") {
        answer(HOUSEHOLD, &[(key, value)]);
    }

    #[test]
    fn a_household_with_holes_and_patches_is_answered(
        cuts in prop::collection::vec((any::<Index>(), 0..12usize, "[0-9a-z.\"={}\\[\\] \n-]{0,6}"), 1..5),
    ) {
        let mut text: Vec<char> = HOUSEHOLD.chars().collect();
        for (at, length, patch) in cuts {
            let from = at.index(text.len());
            let to = (from + length).min(text.len());
            text.splice(from..to, patch.chars());
        }
        answer(&text.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn what_is_accepted_is_the_same_after_a_round_trip(sets in subsequence(VALID.to_vec(), 0..VALID.len())) {
        let sets: Vec<(String, String)> = sets.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let scenario = parse(HOUSEHOLD, &sets);
        let again = parse(&scenario.to_toml(), &[]);
        prop_assert_eq!(&scenario, &again);
        prop_assert_eq!(scenario.to_toml(), again.to_toml());
        prop_assert_eq!(scenario.hash(), again.hash());
        if let Ok(model) = scenario.to_model() {
            prop_assert_eq!(&model, &again.to_model().unwrap());
        }
    }

    #[test]
    fn the_order_of_keys_and_comments_do_not_change_the_hash(
        seed in any::<u32>(),
        keys in Just(KEYS.to_vec()).prop_shuffle(),
        link in Just(LINK.to_vec()).prop_shuffle(),
        game in Just(GAME.to_vec()).prop_shuffle(),
    ) {
        let text = |keys: &[&str], link: &[&str], game: &[&str]| {
            format!("{}\n[link]\n{}\n[[flow]]\n{}\n", keys.join("\n"), link.join(" # why\n"), game.join("\n\n"))
        };
        let one = parse(&text(&KEYS, &LINK, &GAME), &[]);
        let two = Scenario::parse(&text(&keys, &link, &game), "elsewhere/other.toml", &[("seed".into(), seed.to_string())]);
        prop_assert_eq!(one.hash(), two.unwrap().hash());
    }
}

#[test]
fn the_hash_is_sixteen_digits_that_follow_the_values() {
    let hash = |key: &str, value: &str| parse(HOUSEHOLD, &[(key.into(), value.into())]).hash();
    let plain = parse(HOUSEHOLD, &[]).hash();
    assert_eq!(plain.len(), 16);
    assert!(plain.chars().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(plain, hash("link.up", "1000kbit"));
    assert_eq!(plain, hash("seed", "77"));
    assert_ne!(plain, hash("link.up", "2mbit"));
    assert_ne!(plain, hash("flow.game.players", "5"));
}

#[test]
fn a_star_reaches_every_key_of_its_table_and_missing_tables_are_made() {
    let model = |key: &str, value: &str| parse(HOUSEHOLD, &[(key.into(), value.into())]).to_model().unwrap();
    let fq_pie = model("gateway.*.queue", "fq_pie");
    assert!(
        fq_pie
            .hops
            .iter()
            .all(|hop| matches!(&hop.queue, DisciplineConfig::Leaf(queue) if queue.kind == QueueKind::FqPie))
    );
    let late = model("flow.*.start", "5s");
    assert!(late.flows.iter().all(|flow| flow.schedule.start == gamelane_core::Duration::from_secs(5)));
}

#[test]
fn a_flow_switched_off_leaves_the_others_as_they_were() {
    let all = parse(HOUSEHOLD, &[]).to_model().unwrap();
    let scenario = parse(HOUSEHOLD, &[("flow.udp.enabled".into(), "false".into())]);
    let without = scenario.to_model().unwrap();
    let others: Vec<_> = all.flows.into_iter().filter(|flow| flow.name != "udp").collect();
    assert_eq!(without.flows, others);
    assert_eq!(scenario.describe_flows().len(), others.len());
}

#[test]
fn one_direction_of_a_value_for_both_can_be_set() {
    let sets = [("link.jitter", "3ms"), ("link.jitter.up", "8ms"), ("link.loss.down", "2%")];
    let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let model = parse(HOUSEHOLD, &sets).to_model().unwrap();
    let link = |direction| &model.hop(direction).link;
    assert_eq!(link(Direction::Up).jitter.to_string(), "8ms");
    assert_eq!(link(Direction::Down).jitter.to_string(), "3ms");
    assert_eq!(link(Direction::Up).loss, gamelane_core::loss::LossModel::None);
    assert_eq!(link(Direction::Down).loss, gamelane_core::loss::LossModel::Random(0.02));
}

#[test]
fn a_flows_tcp_goes_over_the_scenarios_key_by_key() {
    let sets =
        [("tcp.receive_window", "1MiB"), ("tcp.nagle", "false"), ("flow.bulk.tcp.receive_window", "64KiB")];
    let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let model = parse(HOUSEHOLD, &sets).to_model().unwrap();
    let tcp = |name: &str| &model.flows.iter().find(|flow| flow.name == name).unwrap().tcp;
    assert_eq!((tcp("bulk").receive_window.limit().bytes(), tcp("bulk").nagle), (64 << 10, Nagle::Off));
    assert_eq!((tcp("web").receive_window.limit().bytes(), tcp("web").nagle), (1 << 20, Nagle::Off));
}

/// Parses and builds. An error must have a message, and nothing may panic.
fn answer(text: &str, sets: &[(String, String)]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("nowhere.toml");
    let answer = Scenario::parse(text, file.to_str().unwrap(), sets).and_then(|scenario| scenario.to_model());
    if let Err(refusal) = answer {
        assert!(!refusal.message.is_empty());
        assert!(refusal.line.is_none_or(|line| (1..=text.lines().count() + 1).contains(&line)));
    }
}

fn parse(text: &str, sets: &[(String, String)]) -> Scenario {
    Scenario::parse(text, "household.toml", sets).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

const KEYS: [&str; 4] = ["name = \"a\"", "question = \"?\"", "duration = \"10s\"", "hosts = [\"tv\"]"];
const LINK: [&str; 4] = ["up = \"1mbit\"", "down = \"12mbit\"", "rtt = \"40ms\"", "loss = { up = \"1%\" }"];
const GAME: [&str; 4] = ["name = \"game\"", "app = \"game\"", "model = \"quake3\"", "host = \"tv\""];

/// Every application with its required keys.
const HOUSEHOLD: &str = r#"
name = "everything"

[link]
down = "12mbit"
up = "1mbit"

[[flow]]
name = "game"
app = "game"
model = "quake3"

[[flow]]
name = "udp"
app = "udp"
direction = "down"
rate = "300kbit"
size = "160B"

[[flow]]
name = "voip"
app = "voip"

[[flow]]
name = "bulk"
app = "bulk"
direction = "up"

[[flow]]
name = "web"
app = "web"
size = "1MiB"

[[flow]]
name = "dash"
app = "dash"
"#;

/// Settings that can be parsed in any combination. A few of them exclude each other.
const VALID: [(&str, &str); 57] = [
    ("question", "why?"),
    ("duration", "1.5s"),
    ("warmup", "100ms"),
    ("seed", "9223372036854775807"),
    ("hosts", "[\"tv\", \"phone\"]"),
    ("link.kind", "wired"),
    ("link.rtt", "33us"),
    ("link.delay", "1ns"),
    ("link.jitter", "{ down = \"2ms\" }"),
    ("link.jitter.up", "0.25ms"),
    ("link.loss", "0.333333%"),
    ("link.loss.down", "{ good_to_bad = \"1%\", bad_to_good = \"20%\" }"),
    ("link.overhead", "{ kind = \"atm\", bytes = 10 }"),
    ("link.overhead.up", "ptm"),
    ("link.mtu", "1492"),
    ("gateway.up.queue", "pie"),
    ("gateway.up.max_burst", "0ms"),
    ("gateway.*.limit", "64KiB"),
    ("gateway.down.queue", "fq_codel"),
    ("gateway.down.parameters", "ns3"),
    ("gateway.down.quantum", "300B"),
    ("gateway.down.flows", "64"),
    ("gateway.down.ecn", "true"),
    ("gateway.priority", "[\"game\"]"),
    ("gateway.up.bandwidth", "900kbit"),
    ("gateway.up.acks", "plain"),
    ("gateway.up.step", "800us..1200us"),
    ("gateway.modem.queue", "htb"),
    ("gateway.shape", "{ up = \"900kbit\" }"),
    ("gateway.shape.up", "false"),
    ("gateway.voap", "true"),
    (
        "gateway.class",
        "[{ name = \"a\", rate = \"20%\", ceil = { up = \"0.5mbit\" }, queue = \"pie\" }, { name = \"b\" }]",
    ),
    (
        "gateway.rule",
        "[{ class = \"a\", port = \"1000..\", size = \"..200B\", gap_deviation = \"..110%\", dscp = 0 }]",
    ),
    ("tcp.delayed_ack", "off"),
    ("tcp.initial_window", "rfc5681"),
    ("tcp.timer", "rfc6298"),
    ("flow.game.host", "tv"),
    ("flow.game.players", "12"),
    ("flow.web.enabled", "false"),
    ("flow.game.client", "pktgen"),
    ("flow.game.dscp", "CS4"),
    ("flow.voip.dscp", "45"),
    ("flow.voip.codec", "g729"),
    ("flow.udp.size", "1472B"),
    ("flow.*.start", "20ms"),
    ("flow.bulk.stop", "1s"),
    ("flow.bulk.rtt", "7ms"),
    ("flow.bulk.loss.up", "1%"),
    ("flow.bulk.path_jitter", "1ms"),
    ("flow.bulk.size", "10MiB"),
    ("flow.bulk.tcp.recovery", "newreno"),
    ("flow.bulk.tcp.initial_window", "3"),
    ("flow.web.size", "{ min = \"10KiB\", max = \"1MiB\" }"),
    ("flow.web.every", "2s"),
    ("flow.dash.rates", "[\"1mbit\", \"2mbit\"]"),
    ("flow.dash.gap", "0s"),
    ("flow.dash.tcp.congestion", "newreno"),
];
