//! The shipped scenarios. Each is accepted, begins with its question, and survives a round trip through its canonical text.

use std::path::{Path, PathBuf};

use gamelane_core::dist::Dist;
use gamelane_core::{Bitrate, Direction, Duration};
use gamelane_qdisc::{DisciplineConfig, Limit, ParameterSet, QueueConfig, QueueKind};
use gamelane_scenario::{HopModel, Model, Scenario};
use gamelane_tcp::DelayedAck;
use gamelane_traffic::config::{AppConfig, ClientStream, DashRequests, WebBurst};

#[test]
fn every_scenario_is_accepted_and_keeps_its_meaning() {
    let files = shipped();
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let scenario = read(&file, &[]);
        let model = model(&scenario);
        assert_eq!(file.file_stem().unwrap().to_str().unwrap(), scenario.name());
        assert!(scenario.question().ends_with('?'), "{}", scenario.question());
        let again = Scenario::parse(&scenario.to_toml(), file.to_str().unwrap(), &[])
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario, again);
        assert_eq!(scenario.hash(), again.hash());
        assert_eq!(model, again.to_model().unwrap());
        assert_eq!(scenario.describe_flows().len(), model.flows.len());
    }
}

#[test]
fn every_scenario_opens_with_a_question() {
    for file in shipped() {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("question = "), "{}", file.display());
    }
}

#[test]
fn the_household_is_as_its_file_says() {
    let model = model(&read(&folder().join("household.toml"), &[]));
    let up = model.hop(Direction::Up);
    assert_eq!((up.link.rate, plain(up).kind), (Bitrate::from_bps(1_000_000), QueueKind::Fifo));
    assert_eq!(plain(up).limit, Some(Limit::Packets(1000)));
    let [quake3, upload] = &model.flows[..] else { panic!("two flows") };
    assert_eq!(quake3.paths[0].delay + quake3.paths[1].delay, Duration::from_millis(40));
    assert_eq!(quake3.key.source.to_string(), "192.168.1.10:49152");
    assert_eq!(upload.key.source.to_string(), "192.168.1.11:49216");
    assert_eq!(upload.key.destination.to_string(), "198.51.100.11:443");
    assert_eq!(upload.tcp.receive_window.limit().bytes(), 65_536);
    assert_eq!(upload.schedule.start, Duration::from_secs(10));
}

#[test]
fn the_papers_household_has_its_traffic() {
    let model = model(&read(&folder().join("collom2016.toml"), &[]));
    assert_eq!(plain(model.hop(Direction::Down)).parameters, ParameterSet::Dummynet);
    let [game, upload, web, video] = &model.flows[..] else { panic!("four flows") };
    match &game.app {
        AppConfig::Game(game) => {
            assert_eq!(game.client, ClientStream::pktgen());
            assert_eq!(game.server.tick, Dist::Constant(0.05));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(upload.tcp.delayed_ack, DelayedAck::After(Duration::from_millis(100)));
    match &web.app {
        AppConfig::Web(web) => assert_eq!(web.burst, WebBurst::Lasting(Dist::Uniform { lo: 1.0, hi: 5.0 })),
        other => panic!("{other:?}"),
    }
    match &video.app {
        AppConfig::Dash(video) => {
            let (gap, period) = (Duration::from_secs(2), Duration::from_secs(10));
            assert_eq!(video.requests, DashRequests::Cycle { gap, period });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_replay_has_the_packets_of_its_capture() {
    let model = model(&read(&folder().join("match-replay.toml"), &[]));
    match &model.flows[0].app {
        // Numbers from scenarios/captures/README.md.
        AppConfig::Trace(trace) => assert_eq!((trace.up.len(), trace.down.len()), (3627, 2399)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn classes_become_bands_shares_and_a_tree() {
    let file = folder().join("household.toml");
    let own = [
        (
            "gateway.class",
            r#"[
            { name = "games", rate = "30%", ceil = "60%" },
            { name = "fast", parent = "games", rate = "100kbit", priority = 1, quantum = "600B" },
            { name = "slow", parent = "games", rate = "10%", queue = { queue = "fq_codel", flows = 16 } },
            { name = "rest", rate = { up = "500kbit" } },
        ]"#,
        ),
        (
            "gateway.rule",
            r#"[
            { name = "server", class = "slow", direction = "down", source_port = 27960 },
            { class = "fast", flows = ["quake3"], size = "..200B" },
            { class = "slow", ack = true },
        ]"#,
        ),
    ];
    let with = |queue| model(&read(&file, &[&own[..], &[("gateway.up.queue", queue)]].concat()));
    let queue = |queue| with(queue).hop(Direction::Up).queue.clone();
    let classifier = with("htb").gateway.classifier.unwrap();
    let classes: Vec<u8> = classifier.rules.iter().map(|rule| rule.class.0).collect();
    assert_eq!((classes, classifier.default.0, with("htb").gateway.classes), (vec![1, 0, 1], 2, 3));
    let DisciplineConfig::Htb(htb) = queue("htb") else { panic!() };
    let classes: Vec<_> = htb
        .tree
        .iter()
        .map(|class| (class.name.as_str(), class.parent, class.rate.bps() / 1000, class.ceil.bps() / 1000))
        .collect();
    assert_eq!(
        classes,
        [
            ("the link", None, 1000, 1000),
            ("games", Some(0), 300, 600),
            ("fast", Some(1), 100, 600),
            ("slow", Some(1), 100, 600),
            ("rest", Some(0), 500, 1000),
        ]
    );
    let leaf = |index: usize| match htb.tree[index].queue.as_deref() {
        Some(DisciplineConfig::Leaf(queue)) => Some((queue.kind, queue.limit, queue.flows)),
        _ => None,
    };
    assert_eq!(leaf(1), None);
    assert_eq!(leaf(2), Some((QueueKind::Fifo, Some(Limit::Packets(1000)), None)));
    assert_eq!(leaf(3), Some((QueueKind::FqCodel, None, Some(16))));
    let DisciplineConfig::Drr(drr) = queue("drr") else { panic!() };
    let quanta: Vec<u64> = drr.shares.iter().map(|share| share.quantum.bytes()).collect();
    assert_eq!(quanta, [600, 1500, 1500]);
    let DisciplineConfig::Priority(priority) = queue("priority") else { panic!() };
    assert_eq!(priority.bands.len(), 3);
    // Queues without classes ignore them.
    assert_eq!(with("fq_codel").gateway.classifier, None);
}

#[test]
fn what_goes_first_is_a_class_of_every_queue_that_has_classes() {
    let file = folder().join("household.toml");
    let queue = |sets: &[(&str, &str)]| {
        let first = [("gateway.priority", "[\"quake3\"]"), ("gateway.up.limit", "50p")];
        let model = model(&read(&file, &[&first, sets].concat()));
        let config = model.hop(Direction::Up).queue.clone();
        assert_eq!(config.check(model.gateway.classes), Ok(()));
        config
    };
    let DisciplineConfig::Drr(drr) = queue(&[("gateway.up.queue", "drr")]) else { panic!() };
    assert_eq!((drr.shares.len(), drr.classes.0), (2, vec![0, 1, 1]));
    let DisciplineConfig::Htb(htb) =
        queue(&[("gateway.up.queue", "htb"), ("gateway.up.acks", "filter"), ("gateway.shape", "900kbit")])
    else {
        panic!()
    };
    let rates: Vec<u64> = htb.tree.iter().map(|class| class.rate.bps() / 1000).collect();
    let priorities: Vec<u8> = htb.tree.iter().map(|class| class.priority).collect();
    assert_eq!((rates, priorities), (vec![900, 300, 300, 300], vec![0, 0, 0, 1]));
    assert!(matches!(htb.tree[2].queue.as_deref(), Some(DisciplineConfig::AckFilter(_))));
}

#[test]
fn parameters_of_cake_and_dualpi2_arrive() {
    let file = folder().join("household.toml");
    let sets = [
        (
            "gateway.up",
            r#"{ queue = "cake", bandwidth = "950kbit", tins = "diffserv4", isolation = "dual-srchost", rtt = "50ms", grace = "interval", overhead = { kind = "ptm", bytes = 22 }, acks = "filter-aggressive", ingress = true, wash = true }"#,
        ),
        (
            "gateway.down",
            r#"{ queue = "dualpi2", target = "20ms", update = "8ms", coupling = 1.5, alpha = 0.2, beta = 3, step = "800us..1200us", time_shift = "40ms" }"#,
        ),
    ];
    let model = model(&read(&file, &sets));
    insta::assert_debug_snapshot!("cake_and_dualpi2", model.hops.map(|hop| hop.queue));
}

#[test]
fn cake_has_the_rate_of_the_shaper() {
    let file = folder().join("household.toml");
    let rate = |sets: &[(&str, &str)]| {
        let all: Vec<_> =
            [("gateway.up", r#"{ queue = "cake" }"#)].into_iter().chain(sets.iter().copied()).collect();
        let model = model(&read(&file, &all));
        let DisciplineConfig::Cake(cake) = &model.hop(Direction::Up).queue else { panic!("another queue") };
        cake.bandwidth.map(|rate| rate.bps() / 1000)
    };
    let shape = ("gateway.shape", "900kbit");
    assert_eq!(rate(&[]), None, "a link is no shaper");
    assert_eq!(rate(&[shape]), Some(900));
    assert_eq!(rate(&[shape, ("gateway.up.bandwidth", "800kbit")]), Some(800));
    assert_eq!(rate(&[shape, ("gateway.up.bandwidth", "false")]), None);
    assert_eq!(rate(&[shape, ("gateway.autorate", "true")]), Some(900), "autorate sets both");
}

#[test]
fn parts_of_the_gateway_can_be_switched_off() {
    let model_of = |name: &str, sets: &[(&str, &str)]| model(&read(&folder().join(name), sets));
    assert!(model_of("voap.toml", &[]).gateway.voap.is_some());
    assert_eq!(model_of("voap.toml", &[("gateway.voap", "false")]).gateway.voap, None);
    let switched = model_of("household.toml", &[("gateway.voap", "{}"), ("gateway.voap.beta", "9ms")]);
    assert_eq!(switched.gateway.voap.unwrap().beta, Duration::from_millis(9));
    // So that queues without a shaper can be compared with queues that have one.
    model_of("household.toml", &[("gateway.up.bandwidth", "false"), ("gateway.up.acks", "plain")]);
    for key in ["gateway.shape", "gateway.shape.up"] {
        assert_eq!(model_of("docsis.toml", &[(key, "false")]).access.shape, [None, None]);
    }
}

#[test]
fn a_fingerprint_is_of_what_is_run() {
    let shipped = folder().join("household.toml");
    let of = |sets: &[(&str, &str)]| model(&read(&shipped, sets)).fingerprint();
    assert_eq!(of(&[]), of(&[("seed", "99"), ("link.up", "1000kbit")]));
    assert_ne!(of(&[]), of(&[("link.up", "1001kbit")]));
}

#[test]
fn a_fingerprint_has_the_contents_of_the_files_a_scenario_names() {
    let folder_of_mine = std::env::temp_dir().join(format!("gamelane-fingerprint-{}", std::process::id()));
    std::fs::create_dir_all(&folder_of_mine).unwrap();
    let quake3 =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/quake3.toml")).unwrap();
    let file = folder_of_mine.join("household.toml");
    std::fs::copy(folder().join("household.toml"), &file).unwrap();
    let of = |text: &str| {
        std::fs::write(folder_of_mine.join("mine.toml"), text).unwrap();
        let scenario = read(&file, &[("flow.quake3.model", "mine.toml")]);
        (scenario.hash(), model(&scenario).fingerprint())
    };
    let (before, after) = (of(&quake3), of(&quake3.replace("value_ms = 50", "value_ms = 51")));
    std::fs::remove_dir_all(&folder_of_mine).unwrap();
    assert_eq!(before.0, after.0);
    assert_ne!(before.1, after.1);
}

#[test]
fn the_papers_sweep_fits_its_scenario() {
    let file = folder().join("collom2016.toml");
    for queue in ["fifo", "pie", "codel", "fq_pie", "fq_codel"] {
        for game in gamelane_scenario::models().iter().filter(|each| each.app == "game") {
            let sets =
                [("gateway.*.queue", queue), ("gateway.*.limit", "1000p"), ("flow.game.model", game.name)];
            let scenario = read(&file, &sets);
            assert!(model(&scenario).hops.iter().all(|hop| plain(hop).limit == Some(Limit::Packets(1000))));
        }
    }
}

fn shipped() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        // A sweep file is not a scenario.
        .filter(|path| {
            !std::fs::read_to_string(path).unwrap().lines().any(|line| line.starts_with("base = "))
        })
        .collect();
    files.sort();
    files
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(file: &Path, sets: &[(&str, &str)]) -> Scenario {
    let text = std::fs::read_to_string(file).unwrap();
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::parse(&text, file.to_str().unwrap(), &sets).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn model(scenario: &Scenario) -> Model {
    scenario.to_model().unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// The queue of a hop, which must not consist of several queues.
fn plain(hop: &HopModel) -> &QueueConfig {
    match &hop.queue {
        DisciplineConfig::Leaf(queue) => queue,
        other => panic!("{other:?}"),
    }
}

#[test]
fn players_who_cannot_be_carried_are_warned_of() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/operator.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let caveats = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let scenario = Scenario::parse(&text, &file.to_string_lossy(), &sets).unwrap();
        scenario.describe_flows()[0].caveats.iter().filter(|caveat| caveat.contains("players offer")).count()
    };
    assert_eq!(caveats(&[]), 0);
    assert_eq!(caveats(&[("link.down", "60mbit")]), 1);
    let shared =
        [("flow.players.paths", "link"), ("flow.players.rtt", "200ms"), ("flow.players.carriage", "mux")];
    let with = |connections, carriers| {
        let more = [("flow.players.connections", connections), ("flow.players.carriers", carriers)];
        caveats(&[shared.as_slice(), &more].concat())
    };
    assert_eq!((with("1000", "16"), with("20000", "16"), with("5000", "1")), (0, 1, 1));
}
