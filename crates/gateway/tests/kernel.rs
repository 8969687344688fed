//! Linux's own queues, set up by the program. This machine's kernel need not have every discipline; `tests/guest/test_kernel_gateway.py`
//! has one that does.

use std::path::PathBuf;

use gamelane_gateway::status::State;
use gamelane_gateway::tap::replay::{Ended, recorded};

use crate::common::{
    Net, PATIENCE, PROGRAM, Place, SERVER, SERVER_V6, in_time, net, up_to_three_times, wait, write_text,
};

/// Both interfaces as ports of a bridge of the kernel.
fn bridged(mtu: u32, programs: &[&str]) -> Option<Net> {
    let net = net(mtu, &[programs, &["tc", "nft"]].concat())?;
    at_gateway(
        &net,
        "ip link add br0 type bridge; ip link set lan master br0; ip link set wan master br0; ip link set br0 up",
    );
    Some(net)
}

/// Both interfaces as those of a router that translates no addresses.
pub(crate) fn routed() -> Option<Net> {
    let net = net(1500, &["iperf3", "tc", "nft"])?;
    at_gateway(
        &net,
        "ip addr add 10.78.0.254/24 dev lan; ip addr add 10.77.0.254/24 dev wan; sysctl -qw net.ipv4.ip_forward=1",
    );
    net.run(
        Place::Home,
        &[
            "sh",
            "-ec",
            "ip addr flush dev eth0; ip addr add 10.78.0.1/24 dev eth0; ip route add default via 10.78.0.254",
        ],
    );
    net.run(Place::Internet, &["ip", "route", "add", "10.78.0.0/24", "via", "10.77.0.254"]);
    Some(net)
}

/// A policy of this `[gateway]`, without flows.
pub(crate) fn policy(net: &Net, gateway: &str) -> PathBuf {
    let path = net.folder.path().join("policy.toml");
    write_text(&path, &format!("[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n[gateway]\n{gateway}\n"));
    path
}

/// Offloads that join or split packets.
fn offloads(net: &Net) -> String {
    at_gateway(
        net,
        "for dev in lan wan; do ethtool -k $dev | grep -E '^(tcp|generic|large).*(segmentation|receive)'; done",
    )
}

/// Everything that a gateway changes.
fn state(net: &Net) -> String {
    format!("{}\n{}", settings(net), offloads(net))
}

pub(crate) fn at_gateway(net: &Net, script: &str) -> String {
    net.run(Place::Gateway, &["sh", "-ec", script])
}

/// Everything that a gateway sets, in the kernel's own words. Counters and offloads are left out.
fn settings(net: &Net) -> String {
    let said = at_gateway(
        net,
        "tc qdisc show; for dev in $(ls /sys/class/net); do tc class show dev $dev || true; tc filter show dev $dev || true; done
         tc filter show dev wan ingress || true; nft list ruleset; ls /sys/class/net",
    );
    let counter = |line: &str| line.split(" direct_packets_stat").next().unwrap().trim_end().to_owned();
    // The number of an action depends on those before it.
    said.lines().filter(|line| !line.contains("index ")).map(counter).collect::<Vec<_>>().join("\n")
}

const SHAPED: &str = "shape = { up = \"8mbit\", down = \"16mbit\" }\n";
/// A class for all that is no game.
const OTHERS: &str = "up = { queue = \"htb\" }
[[gateway.class]]\nname = \"first\"\nrate = \"50%\"\n[[gateway.class]]\nname = \"rest\"\nrate = \"50%\"
[[gateway.rule]]\nclass = \"first\"\nbehaviour = \"other\"";
/// Games first, without a port.
const GAMES: &str = "shape = { up = \"8mbit\", down = \"16mbit\" }\npriority = [\"game\"]
up = { queue = \"htb\" }\ndown = { queue = \"htb\" }";
pub(crate) const FIFO: &str = "shape = { up = \"8mbit\", down = \"16mbit\" }\nup = { queue = \"fifo\", limit = \"60p\" }\ndown = { queue = \"fifo\" }";
/// Classes that HTB serves, by every condition that nftables can test.
const CLASSES: &str = "shape = { up = \"8mbit\", down = \"16mbit\" }
up = { queue = \"htb\" }
down = { queue = \"htb\" }
[[gateway.class]]\nname = \"first\"\nrate = \"40%\"
[[gateway.class]]\nname = \"second\"\nrate = \"10%\"
[[gateway.class]]\nname = \"rest\"\nrate = \"10%\"
[[gateway.rule]]\nclass = \"first\"\ndscp = \"EF\"
[[gateway.rule]]\nclass = \"first\"\ndscp = \"AF41..AF43\"
[[gateway.rule]]\nclass = \"second\"\nprotocol = \"udp\"\nport = \"27015..27030\"
[[gateway.rule]]\nclass = \"second\"\nsource = \"10.78.0.0/20\"\nsize = \"..200B\"
[[gateway.rule]]\nclass = \"second\"\naddress = \"fd77::/60\"\ndirection = \"down\"
[[gateway.rule]]\nclass = \"first\"\nack = true";

/// Classes below classes.
const NESTED: &str = "shape = { up = \"8mbit\", down = \"16mbit\" }
up = { queue = \"htb\" }
down = { queue = \"htb\" }
[[gateway.class]]\nname = \"people\"\nrate = \"60%\"\nceil = \"80%\"
[[gateway.class]]\nname = \"games\"\nparent = \"people\"\nrate = \"20%\"\nburst = \"3000B\"
[[gateway.class]]\nname = \"web\"\nparent = \"people\"\nrate = \"20%\"\npriority = 1\nquantum = \"3000B\"
[[gateway.class]]\nname = \"rest\"\nrate = \"40%\"
[[gateway.rule]]\nclass = \"games\"\ndscp = \"EF\"
[[gateway.rule]]\nclass = \"web\"\nprotocol = \"tcp\"\nport = \"443\"";

#[test]
fn the_lines_of_a_dry_run_set_what_the_program_sets_and_undo_it() {
    for (net, gateway) in [
        (bridged(1500, &[]), CLASSES),
        (bridged(1500, &[]), FIFO),
        (bridged(1500, &[]), GAMES),
        (routed(), CLASSES),
        (routed(), FIFO),
        (routed(), GAMES),
        (routed(), NESTED),
    ] {
        let Some(net) = net else { return };
        let before = state(&net);
        let file = policy(&net, gateway);
        let words = ["run", "--engine", "kernel", "--lan", "lan", "--wan", "wan", file.to_str().unwrap()];
        let (code, lines, error) = net.program(&[&words[..], &["--dry-run"]].concat());
        assert_eq!(code, 0, "{error}");
        let running = net.gateway_with(&file, &["--engine", "kernel"]);
        let by_program = settings(&net);
        assert_eq!(running.end("TERM"), Some(0));
        assert_eq!(state(&net), before, "it leaves nothing behind");
        let script = net.folder.path().join("lines");
        // Twice, because they can be pasted again.
        for _ in 0..2 {
            std::fs::write(&script, &lines).unwrap();
            at_gateway(&net, &format!("sh {}", script.display()));
            assert_eq!(settings(&net), by_program, "{lines}");
        }
        let (undo, _) = lines.split_once("\n\n").unwrap();
        std::fs::write(&script, undo).unwrap();
        net.command(Place::Gateway, &["sh", script.to_str().unwrap()]).status().unwrap();
        assert_eq!(state(&net), before, "{undo}");
    }
}

#[test]
fn traffic_keeps_to_the_rates_at_a_router_and_at_a_bridge() {
    for net in [bridged(1500, &["iperf3"]), routed()] {
        let Some(net) = net else { return };
        for options in [&[][..], &["--queue-down", "lan"]] {
            let path = policy(&net, FIFO);
            let gateway = net.gateway_with(&path, options);
            assert_eq!(gateway.status().io.kind, "kernel", "auto takes Linux where it forwards");
            // Of 1500 B, TCP with timestamps leaves 1448 B for the application.
            for (words, rate) in [(&["-t", "3"][..], 8e6), (&["-t", "3", "-R"][..], 16e6)] {
                up_to_three_times(|| {
                    let result = net.iperf(words);
                    let goodput = result["end"]["sum_received"]["bits_per_second"]
                        .as_f64()
                        .ok_or(result.to_string())?;
                    let full = rate * 1448.0 / 1500.0;
                    in_time((0.9 * full..1.03 * full).contains(&goodput), || {
                        format!("{words:?}: {goodput} of {full}")
                    })
                });
            }
            let status = gateway.status();
            let (up, watch) = (&status.queues["up"], status.watch.as_ref().unwrap());
            assert!(up.packets > 1000 && up.drops > 0 && up.drop_reasons["tail"] == up.drops, "{up:?}");
            // Two more may be on their way from the queue to the interface. A packet that is not seen to leave counts as waiting.
            assert!((30..=62 + watch.unseen).contains(&u64::from(up.peak_qlen)), "{up:?} {watch:?}");
            assert!(gateway.status().queues["down"].packets > 2000);
        }
    }
}

#[test]
fn a_game_behind_a_queue_of_the_kernel_is_seen_to_wait_and_for_whom() {
    for net in [bridged(1500, &["iperf3", "irtt"]), routed()] {
        let Some(net) = net else { return };
        let file = policy(&net, "shape = { up = \"7mbit\" }\nup = { queue = \"fifo\", limit = \"50p\" }");
        up_to_three_times(|| {
            let gateway = net.gateway_with(&file, &["--engine", "kernel"]);
            let _server = net.serve(&["irtt", "server", "-b", &format!("{SERVER}:2112")], "-luH", ":2112");
            let flood = net.flood();
            assert!(wait(PATIENCE, || gateway.status().queues["up"].qlen > 40), "{:?}", gateway.status());
            let words = ["irtt", "client", "-i", "20ms", "-d", "5s", "-l", "92", "-q", "-o", "-"];
            let tries = format!("--timeouts={}", ["400ms"; 20].join(","));
            let said = net.run(Place::Home, &[&words[..], &[tries.as_str(), SERVER]].concat());
            let status = gateway.status();
            drop(flood);
            let said: serde_json::Value = serde_json::from_str(&said).unwrap();
            let up_ms = said["stats"]["send_delay"]["median"].as_f64().unwrap() / 1e6;
            let game = status.flows.iter().find(|flow| flow.server == format!("{SERVER}:2112")).unwrap();
            let waited = game.up.sojourn_ms.p50;
            let why = &status.verdict.why;
            let is_told = game.behaviour == "real-time" && status.verdict.state == State::Suffering;
            in_time(is_told && game.down.sojourn_ms.p95 < 5.0, || format!("{game:?} {why:?}"))?;
            assert!(game.down.packets > 0, "{game:?}");
            // A loss comes first.
            let waits = why.iter().find(|why| why.contains("waits")).cloned().unwrap_or_default();
            in_time(why[0].contains("lost") && waits.contains("to 10.77.0.2:5201"), || format!("{why:?}"))?;
            assert!(waits.contains("shares its queue"), "{waits}");
            let queue = &status.queues["up"];
            let by_kernel: u64 = queue.kernel_reasons.values().sum();
            assert!(by_kernel.abs_diff(queue.drops) < queue.drops / 50 + 20, "{queue:?}");
            assert!(queue.kernel_reasons.keys().all(|name| name.starts_with("QDISC_")), "{queue:?}");
            // Both ends share one clock. Quantiles are exact within an eighth.
            in_time((up_ms - waited).abs() < waited / 8.0 + 2.0 && waited > 50.0, || {
                format!("{up_ms} ms one way, {waited} ms in the queue")
            })
        });
    }
}

#[test]
fn a_recording_of_the_kernels_queues_gives_the_records_of_the_run() {
    let Some(net) = bridged(1500, &["iperf3", "irtt"]) else { return };
    let file = policy(&net, "shape = { up = \"7mbit\" }\nup = { queue = \"fifo\", limit = \"50p\" }");
    let folder = net.folder.path().join("tap");
    let gateway = net.gateway_with(&file, &["--engine", "kernel", "--tap", folder.to_str().unwrap()]);
    let _server = net.serve(&["irtt", "server", "-b", &format!("{SERVER}:2112")], "-luH", ":2112");
    let flood = net.flood();
    net.run(Place::Home, &["irtt", "client", "-i", "20ms", "-d", "3s", "-l", "92", "-Q", SERVER]);
    drop(flood);
    assert!(wait(PATIENCE, || gateway.status().queues["up"].qlen == 0));
    let status = gateway.status();
    assert!(status.tap.as_ref().is_some_and(|tap| tap.frames > 1000 && tap.lost == 0), "{:?}", status.tap);
    assert_eq!(gateway.end("TERM"), Some(0));
    let recorded = recorded(&folder).unwrap();
    assert_eq!(recorded.report.ended, Ended::Whole);
    // Nothing but stray packets came in between.
    let (up, own) = (&recorded.summary.queues["up"], &status.queues["up"]);
    assert!(up.packets.abs_diff(own.arrived) < 20, "{up:?} {own:?}");
    assert_eq!(up.drops.tail, own.kernel_reasons.values().sum::<u64>());
    for flow in &status.flows {
        let name = format!("{} {} {}", flow.protocol, flow.home, flow.server);
        let Some(records) = recorded.summary.flows.get(&name) else { panic!("{name} is missing") };
        for (records, flow) in [(&records.up, &flow.up), (&records.down, &flow.down)] {
            let dropped: u64 = flow.drops.values().sum();
            assert!(u64::from(records.received).abs_diff(flow.packets) < 5, "{records:?} {flow:?}");
            assert_eq!(u64::from(records.lost), dropped);
            let [exact, bucket] = [records.queue_delay_ms.quantiles[4], flow.sojourn_ms.p95];
            // Few packets have no 95th percentile.
            let is_near = (exact - bucket).abs() <= exact / 8.0 + 0.1;
            assert!(is_near || flow.packets < 100, "{exact} {bucket}");
        }
    }
    let (code, _, error) = net.program(&["replay", folder.to_str().unwrap()]);
    assert!(code != 0 && error.contains("decisions of Linux"), "{error}");
}

#[test]
fn rules_put_packets_into_their_classes() {
    for net in [bridged(1500, &[]), routed()] {
        let Some(net) = net else { return };
        let file = policy(&net, CLASSES);
        let _gateway = net.gateway_with(&file, &[]);
        let packets = |dev: &str, class: &str| -> u64 {
            let said = at_gateway(&net, &format!("tc -s class show dev {dev} classid {class}"));
            said.split_whitespace().skip_while(|word| *word != "bytes").nth(1).unwrap().parse().unwrap()
        };
        let counted =
            || ["6a0:2", "6a0:3", "6a0:4"].map(|class| packets("wan", class) + packets("lan", class));
        let differs = |words: &[&str]| {
            let before = counted();
            net.ping(&[words, &["-c", "20", SERVER]].concat());
            let after = counted();
            std::array::from_fn::<u64, 3, _>(|index| after[index] - before[index])
        };
        // Expedited forwarding in both directions; the answer has the code point of the question.
        let [first, ..] = differs(&["-Q", "0xb8", "-s", "400"]);
        assert!(first >= 40, "{first}");
        let [.., rest] = differs(&["-s", "400"]);
        assert!(rest >= 40, "{rest}");
        // A code point just above the range.
        let [.., rest] = differs(&["-Q", "0xa0", "-s", "400"]);
        assert!(rest >= 40, "{rest}");
        if at_gateway(&net, "ls /sys/class/net").contains("br0") {
            continue;
        }
        // Small ones from that network; their answers are not from there.
        let [_, second, rest] = differs(&["-s", "56"]);
        assert!(second >= 20 && rest >= 20, "{second} {rest}");
        // This machine's own packets to the home are not shaped.
        let before = counted();
        at_gateway(&net, "ping -n -q -c 5 -i 0.05 10.78.0.1");
        assert!(counted()[2] - before[2] < 5);
    }
}

#[test]
fn a_game_finds_its_class_without_a_port_whatever_others_do_to_the_set() {
    for net in [bridged(1500, &["irtt"]), routed()] {
        let Some(net) = net else { return };
        let file = policy(&net, GAMES);
        let gateway = net.gateway_with(&file, &[]);
        let server = net.serve(&["irtt", "server", "-b", "0.0.0.0:2112"], "-luH", ":2112");
        let packets = |dev: &str| -> u64 {
            let said = at_gateway(&net, &format!("tc -s class show dev {dev} classid 6a0:2"));
            said.split_whitespace().skip_while(|word| *word != "bytes").nth(1).unwrap().parse().unwrap()
        };
        let set = |name: &str| {
            at_gateway(
                &net,
                &format!("nft list set $(nft list tables | grep gamelane | cut -d' ' -f2,3) {name}"),
            )
        };
        for (server, name) in [(SERVER, "games4"), (SERVER_V6, "games6")] {
            if name == "games6" && !at_gateway(&net, "ls /sys/class/net").contains("br0") {
                continue;
            }
            let _server = (name == "games6")
                .then(|| net.serve(&["irtt", "server", "-b", "[::]:2113"], "-luH", ":2113"));
            let server = if name == "games6" { format!("[{server}]:2113") } else { server.into() };
            up_to_three_times(|| {
                let before = [packets("wan"), packets("lan")];
                net.run(
                    Place::Home,
                    &["irtt", "client", "-i", "20ms", "-d", "5s", "-l", "92", "-Q", &server],
                );
                let (listed, after) = (set(name), [packets("wan"), packets("lan")]);
                // Two seconds of five to be recognised.
                let is_served = (0..2).all(|way| after[way] - before[way] > 100);
                in_time(is_served && listed.contains(". 211") && listed.contains(". udp"), || {
                    format!("{before:?} {after:?} {listed}")
                })
            });
            let game = gateway.status().flows.into_iter().find(|flow| flow.behaviour == "real-time").unwrap();
            assert_eq!((game.class, game.up.drops.len()), (0, 0));
        }
        // A firewall that starts again removes the set; the games come back.
        at_gateway(&net, "nft flush ruleset");
        assert!(wait(PATIENCE, || gateway.log().contains("it is back") && set("games4").contains(". 2112")));
        let table = at_gateway(&net, "nft list tables | grep gamelane");
        let games = table.trim().replacen("table ", "", 1) + " games4";
        let bogus = "10.9.9.9 . 9 . 10.9.9.8 . 9 . udp";
        at_gateway(&net, &format!("nft flush set {games}; nft add element {games} '{{ {bogus} }}'"));
        assert!(
            wait(2 * PATIENCE, || set("games4").contains(". 2112") && !set("games4").contains("10.9.9.9"))
        );
        drop(server);
    }
}

#[test]
fn packets_are_seen_on_after_a_policy_is_refused_and_a_queue_taken_away_ends_nothing() {
    let Some(net) = bridged(1500, &[]) else { return };
    let has = |kind: &str| {
        let words = ["tc", "qdisc", "add", "dev", "lo", "root", kind];
        net.command(Place::Gateway, &words).output().is_ok_and(|out| out.status.success())
    };
    let follows = "autorate = { up = { lowest = \"1mbit\", highest = \"9mbit\" } }";
    let file = policy(&net, &format!("{FIFO}\n{follows}"));
    let gateway = net.gateway_with(&file, &["--engine", "kernel"]);
    let down = || gateway.status().flows.iter().map(|flow| flow.down.packets).sum::<u64>();
    let pings = |count: &str| net.ping(&["-c", count, SERVER]);
    pings("20");
    assert!(wait(PATIENCE, || down() >= 20), "{}", down());
    match ["fq_codel", "dualpi2"].iter().find(|kind| !has(kind)) {
        None => eprintln!("skipped: this kernel has every discipline"),
        Some(kind) => {
            // The IFB interface is made again, with another number.
            policy(&net, &format!("{SHAPED}down = {{ queue = \"{kind}\" }}"));
            assert!(wait(PATIENCE, || gateway.status().policy_refused.is_some()), "{}", gateway.log());
            std::thread::sleep(std::time::Duration::from_millis(500));
            pings("20");
            assert!(wait(PATIENCE, || down() >= 40), "{}", down());
        }
    }
    at_gateway(&net, "tc qdisc replace dev wan root pfifo");
    assert!(wait(PATIENCE, || gateway.log().contains("somebody replaced its queue")));
    // Without load the rate drifts.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(gateway.status().autorate.contains_key("up"));
    assert_eq!(gateway.end("TERM"), Some(0));
}

#[test]
fn however_it_ends_nothing_stays_unless_asked() {
    let Some(net) = bridged(1500, &[]) else { return };
    let before = state(&net);
    let file = policy(&net, CLASSES);
    let gone = |net: &Net| wait(PATIENCE, || state(net) == before);
    for signal in ["TERM", "INT", "KILL"] {
        let gateway = net.gateway_with(&file, &["--engine", "kernel"]);
        assert_ne!(state(&net), before);
        gateway.end(signal);
        assert!(gone(&net), "{signal}: {}", settings(&net));
    }
    for signal in ["TERM", "KILL"] {
        let gateway = net.gateway_with(&file, &["--engine", "kernel", "--persist"]);
        let set = settings(&net);
        gateway.end(signal);
        assert_eq!(settings(&net), set, "{signal}");
        // The next one takes over what is its own kind's.
        net.gateway_with(&file, &["--engine", "kernel", "--persist"]).end("TERM");
        assert_eq!(settings(&net), set, "{signal}");
        let (code, out, error) = net.program(&["undo", "--lan", "lan", "--wan", "wan"]);
        assert_eq!(code, 0, "{out}{error}");
        assert!(out.contains("root=wan") && out.contains("table=bridge"), "{out}");
        at_gateway(&net, "for dev in lan wan; do ethtool -K $dev tso on gso on; done");
        assert_eq!(state(&net), before);
    }
    let (code, out, _) = net.program(&["undo", "--lan", "lan", "--wan", "wan"]);
    assert_eq!((code, out.as_str()), (0, "There was nothing to undo.\n"));
}

#[test]
fn what_others_set_is_named_and_stays_without_replace() {
    let Some(net) = bridged(1500, &[]) else { return };
    let file = policy(&net, FIFO);
    let run = |more: &[&str]| {
        let words = ["run", "--engine", "kernel", "--lan", "lan", "--wan", "wan", file.to_str().unwrap()];
        net.program(&[&words[..], more].concat())
    };
    let before = offloads(&net);
    for (theirs, named) in [
        ("tc qdisc add dev wan root handle 1: htb", "htb 1:"),
        ("tc qdisc add dev wan ingress", "ingress ffff:"),
    ] {
        at_gateway(&net, theirs);
        let set = settings(&net);
        let (code, _, error) = run(&[]);
        assert!(code != 0 && error.contains(named) && error.contains("--replace"), "{error}");
        assert_eq!((settings(&net), offloads(&net)), (set, before.clone()), "nothing changed");
        let gateway = net.gateway_with(&file, &["--engine", "kernel", "--replace"]);
        assert!(gateway.log().contains(named), "{}", gateway.log());
        let (code, _, error) = run(&["--replace"]);
        assert!(code != 0 && error.contains("another gateway runs on it"), "{error}");
        gateway.end("TERM");
    }
}

#[test]
fn a_changed_policy_changes_the_queues_and_loses_nothing_if_they_stay_the_same() {
    let Some(net) = bridged(1500, &["iperf3"]) else { return };
    let write = |gateway: &str| -> PathBuf { policy(&net, gateway) };
    let file = write(&CLASSES.replace("8mbit", "1mbit"));
    let gateway = net.gateway_with(&file, &["--engine", "kernel"]);
    let flood = net.flood();
    assert!(wait(PATIENCE, || gateway.status().queues["up"].qlen >= 50), "{:?}", gateway.status().queues);
    let hash = gateway.status().policy_hash;
    write(CLASSES);
    assert!(wait(PATIENCE, || gateway.status().policy_hash != hash), "{}", gateway.log());
    assert_eq!(gateway.status().reloads, 1);
    assert!(!gateway.log().contains("lost"), "{}", gateway.log());
    assert!(settings(&net).contains("rate 8Mbit"), "{}", settings(&net));
    drop(flood);
    // Refused ones change nothing: what no kernel can do, and what is wrong.
    let set = settings(&net);
    for (wrong, why) in
        [(format!("{SHAPED}voap = {{}}"), "TCP windows"), (FIFO.replace("fifo", "fofi"), "fifo")]
    {
        write(&wrong);
        assert!(
            wait(PATIENCE, || gateway.status().policy_refused.is_some_and(|said| said.contains(why))),
            "{}",
            gateway.log()
        );
        assert_eq!(settings(&net), set);
    }
    // Other queues: what waits is lost, and that is said.
    write(FIFO);
    assert!(wait(PATIENCE, || gateway.log().contains("packets that waited are lost")), "{}", gateway.log());
    assert!(settings(&net).contains("gl-wan") && !settings(&net).contains("table"), "{}", settings(&net));
    // A firewall that starts again.
    write(CLASSES);
    assert!(wait(PATIENCE, || settings(&net).contains("table bridge gamelane")));
    at_gateway(&net, "nft flush ruleset");
    assert!(wait(PATIENCE, || settings(&net).contains("table bridge gamelane")), "{}", gateway.log());
    assert!(wait(PATIENCE, || gateway.log().contains("it is back")));
    at_gateway(&net, "tc qdisc replace dev wan root pfifo");
    assert!(wait(PATIENCE, || gateway.log().contains("somebody replaced its queue")));
    assert_eq!(gateway.end("TERM"), Some(0));
    let left = settings(&net);
    assert!(left.contains("pfifo") && !left.contains("6a0:"), "theirs stays: {left}");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_changes() {
    let Some(net) = bridged(1500, &[]) else { return };
    let before = state(&net);
    let refused = |gateway: &str, more: &[&str]| {
        let file = policy(&net, gateway);
        let words = ["run", "--engine", "kernel", "--lan", "lan", "--wan", "wan", file.to_str().unwrap()];
        let (code, _, error) = net.program(&[&words[..], more].concat());
        assert_ne!(code, 0, "{gateway}");
        assert_eq!(state(&net), before, "{gateway}");
        error
    };
    for (gateway, key) in [
        (format!("{SHAPED}voap = {{}}"), "`gateway.voap`"),
        (format!("{SHAPED}up = {{ queue = \"fifo\", parameters = \"rfc\" }}"), "`gateway.up.parameters`"),
        (format!("{SHAPED}up = {{ queue = \"pie\", max_burst = \"100ms\" }}"), "`gateway.up.max_burst`"),
        (format!("{SHAPED}up = {{ queue = \"codel\", limit = \"64KiB\" }}"), "`gateway.up.limit`"),
        (format!("{SHAPED}up = {{ queue = \"cake\", grace = \"interval\" }}"), "`gateway.up.grace`"),
        (format!("{SHAPED}down = {{ queue = \"dualpi2\", step = \"1ms..2ms\" }}"), "`gateway.down.step`"),
        (format!("{SHAPED}{OTHERS}"), "does not behave like"),
        (
            format!("{SHAPED}priority = [\"game\"]\nup = {{ queue = \"priority\", acks = \"filter\" }}"),
            "`gateway.up.acks`",
        ),
    ] {
        let error = refused(&gateway, &[]);
        assert!(error.contains(key) && error.contains("--engine user"), "{gateway}: {error}");
    }
    let error = refused(CLASSES, &["--queue-down", "wan"]);
    assert!(error.contains("--queue-down lan"), "{error}");
    let error = refused(FIFO, &["--io", "xdp"]);
    assert!(error.contains("--io is for --engine user"), "{error}");
    // A discipline that this kernel lacks. What was done before it is undone.
    let lacks = |kind: &&str| {
        net.command(Place::Gateway, &["tc", "qdisc", "add", "dev", "lo", "root", kind])
            .output()
            .is_ok_and(|out| !out.status.success())
    };
    match ["fq_codel", "fq_pie", "dualpi2"].iter().find(|kind| lacks(kind)) {
        None => eprintln!("skipped: this kernel has every discipline"),
        Some(kind) => {
            for more in [&[][..], &["--persist"]] {
                let error = refused(&format!("{SHAPED}down = {{ queue = \"{kind}\" }}"), more);
                assert!(error.contains(&format!("no sch_{kind}")) && error.contains("modprobe"), "{error}");
            }
        }
    }
}

/// Regression: a bridge towards the home joined packets at its ports, and the queues counted them as one.
#[test]
fn offloads_of_a_bridges_ports_are_off_meanwhile() {
    let Some(net) = routed() else { return };
    at_gateway(
        &net,
        "ip link add br-lan type bridge; ip addr flush dev lan; ip link set lan master br-lan
         ip addr add 10.78.0.254/24 dev br-lan; ip link set br-lan up",
    );
    let before = offloads(&net);
    let file = policy(&net, FIFO);
    let mut gateway = net
        .command(
            Place::Gateway,
            &[PROGRAM, "run", "--lan", "br-lan", "--wan", "wan", "--listen", "none", file.to_str().unwrap()],
        )
        .spawn()
        .unwrap();
    assert!(
        wait(PATIENCE, || !offloads(&net).contains("generic-segmentation-offload: on")),
        "{}",
        offloads(&net)
    );
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert!(wait(PATIENCE, || offloads(&net) == before), "{}", offloads(&net));
}

/// Regression: the second took the first's table away.
#[test]
fn two_gateways_at_other_interfaces_leave_each_other_alone() {
    let Some(net) = routed() else { return };
    at_gateway(
        &net,
        "ip link add lan.3 type veth peer name home3; ip link add wan.3 type veth peer name internet3
         for dev in lan.3 wan.3 home3 internet3; do ip link set $dev up; done
         ip addr add 10.80.0.1/24 dev lan.3; ip addr add 10.81.0.1/24 dev wan.3",
    );
    let gateway = net.gateway_with(&policy(&net, GAMES), &[]);
    let before = settings(&net);
    let other = net.folder.path().join("other.toml");
    write_text(&other, &format!("[link]\ndown = \"1gbit\"\nup = \"1gbit\"\n[gateway]\n{CLASSES}\n"));
    let words = ["run", "--lan", "lan.3", "--wan", "wan.3", other.to_str().unwrap(), "--listen", "none"];
    let mut second = net.command(Place::Gateway, &[&[PROGRAM], &words[..]].concat()).spawn().unwrap();
    assert!(wait(PATIENCE, || settings(&net).contains("table inet gamelane-wan.3")));
    assert!(settings(&net).contains("table inet gamelane-wan {"), "{}", settings(&net));
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(wait(PATIENCE, || settings(&net) == before), "{}", settings(&net));
    assert!(!gateway.log().contains("it is back"), "{}", gateway.log());
}
