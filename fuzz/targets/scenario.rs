//! A stranger's scenario, profile or game model: nothing may panic, what is read prints to the same, and what is refused names its
//! file.

use std::sync::LazyLock;

use gamelane_scenario::text::Impair;
use gamelane_scenario::{Model, Scenario, ScenarioError};

/// A scenario. Each byte from 128 on is a word of the format.
pub(crate) fn text(bytes: &[u8]) {
    let text = in_words(bytes);
    let scenario = match Scenario::parse(&text, "fuzz.toml", &[]) {
        Ok(scenario) => scenario,
        Err(error) => return refused(&error),
    };
    let again = Scenario::parse(&scenario.to_toml(), "again.toml", &[]).expect("we wrote it");
    assert_eq!(again, scenario);
    assert_eq!(again.hash(), scenario.hash());
    match (scenario.to_model(), again.to_model()) {
        (Ok(model), Ok(same)) => {
            assert_eq!(model, same);
            bounded(&model);
        }
        (Err(error), Err(_)) => refused(&error),
        (model, same) => panic!("{model:?} and {same:?}"),
    }
}

/// A profile of impairment, and a key and a value over it in the first line.
pub(crate) fn impair(bytes: &[u8]) {
    let text = in_words(bytes);
    let (set, text) = text.split_once('\n').unwrap_or(("", &text));
    let set: Vec<(String, String)> = set
        .split_once('=')
        .map(|(key, value)| (key.trim().into(), value.trim().into()))
        .into_iter()
        .collect();
    let impair = match Impair::parse(text, "fuzz.toml", &set) {
        Ok(impair) => impair,
        Err(error) => return refused(&error),
    };
    let again = Impair::parse(&impair.to_toml(), "again.toml", &[]).expect("we wrote it");
    assert_eq!(again.to_toml(), impair.to_toml());
    match (impair.to_configs(), again.to_configs()) {
        (Ok(configs), Ok(same)) => assert_eq!(configs, same),
        (Err(error), Err(_)) => refused(&error),
        (configs, same) => panic!("{configs:?} and {same:?}"),
    }
}

/// A game model beside a scenario: of a game over UDP, or of one over TCP.
pub(crate) fn model(bytes: &[u8]) {
    static FOLDER: LazyLock<tempfile::TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("there is room"));
    static SCENARIOS: LazyLock<[Scenario; 2]> = LazyLock::new(|| {
        ["game", "mmo"].map(|app| {
            let text = format!(
                "name = \"a\"\n[link]\nup = \"1mbit\"\ndown = \"1mbit\"\n[[flow]]\nname = \"a\"\napp = \"{app}\"\nmodel = \"m.toml\"\n"
            );
            let file = FOLDER.path().join("s.toml");
            Scenario::parse(&text, file.to_str().expect("it is plain"), &[]).expect("it is ours")
        })
    });
    let scenarios = &*SCENARIOS;
    std::fs::write(FOLDER.path().join("m.toml"), in_words(bytes)).expect("there is room");
    for scenario in scenarios {
        match scenario.to_model() {
            Ok(model) => bounded(&model),
            Err(error) => refused(&error),
        }
    }
}

fn refused(error: &ScenarioError) {
    let text = error.to_string();
    assert!(!text.trim().is_empty());
}

/// The fingerprint covers the whole model, and the same model has the same.
fn bounded(model: &Model) {
    assert_eq!(model.fingerprint(), model.clone().fingerprint());
}

fn in_words(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match WORDS.get(usize::from(byte).wrapping_sub(128)) {
            Some(word) => text.push_str(word),
            None => text.push(byte.into()),
        }
    }
    text
}

const WORDS: [&str; 128] = [
    "name = \"a\"\n",
    "[link]\n",
    "up = ",
    "down = ",
    "\"1mbit\"\n",
    "\"40ms\"\n",
    "\"100p\"\n",
    "\"64KiB\"\n",
    "\"1%\"\n",
    "[gateway]\n",
    "[[flow]]\n",
    "app = ",
    "\"game\"\n",
    "model = ",
    "\"quake3\"\n",
    "\"bulk\"\n",
    "direction = ",
    "\"up\"\n",
    "\"down\"\n",
    "\"voip\"\n",
    "\"web\"\n",
    "\"dash\"\n",
    "\"udp\"\n",
    "rate = ",
    "size = ",
    "\"mmo\"\n",
    "\"cloud\"\n",
    "\"trace\"\n",
    "trace = ",
    "queue = ",
    "\"fq_codel\"",
    "\"cake\"",
    "\"pie\"",
    "\"codel\"",
    "\"fifo\"",
    "\"htb\"",
    "\"drr\"",
    "\"priority\"",
    "\"dualpi2\"",
    "\"fq_pie\"",
    "\"cobalt\"",
    "limit = ",
    "target = ",
    "interval = ",
    "ecn = true\n",
    "shape = ",
    "autorate = true\n",
    "voap = {}\n",
    "priority = [\"a\"]\n",
    "[[gateway.rule]]\n",
    "[[gateway.class]]\n",
    "class = ",
    "dscp = ",
    "\"ef\"\n",
    "protocol = \"udp\"\n",
    "port = ",
    "source = ",
    "destination = ",
    "\"10.0.0.0/8\"\n",
    "behaviour = \"real-time\"\n",
    "kind = ",
    "\"wifi\"\n",
    "\"docsis\"\n",
    "\"wired\"\n",
    "[link.wifi]\n",
    "[link.docsis]\n",
    "stations = ",
    "channel = ",
    "modems = ",
    "delay = ",
    "jitter = ",
    "loss = ",
    "burst = ",
    "overhead = ",
    "mtu = ",
    "isp = ",
    "[tcp]\n",
    "congestion = ",
    "\"cubic\"\n",
    "\"newreno\"\n",
    "duration = ",
    "warmup = ",
    "seed = ",
    "hosts = [\"a\"]\n",
    "host = \"a\"\n",
    "start = ",
    "stop = ",
    "rtt = ",
    "connections = ",
    "players = ",
    "carriers = ",
    "carriage = ",
    "\"mux\"\n",
    "{ ",
    " }",
    ", ",
    "= ",
    "\n",
    "[",
    "]",
    "\"",
    "0",
    "1",
    "9999999999999999999",
    "0.5",
    "-1",
    "1e308",
    "title = \"a\"\n",
    "[source]\nserver = \"measured: a\"\n",
    "notes = \"a\"\n",
    "[client]\n",
    "[server]\n",
    "interval = ",
    "[[server.size]]\n",
    "weight = ",
    "mean = ",
    "deviation = ",
    "distribution = ",
    "\"normal\"",
    "\"lognormal\"",
    "spread = ",
    "shape = \"pareto\"",
    "correlation = ",
    "reorder = ",
    "duplicate = ",
    "table = ",
    "min = ",
    "max = ",
];
