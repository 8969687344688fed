//! `truth`: the queues of others, watched.

use gamelane_gateway::status::{State, Status};
use gamelane_gateway::tap::replay::{Ended, recorded};

use crate::common::{Net, Place, SERVER, net, up_to_three_times};

/// A router that translates addresses and shapes both directions, as SQM sets it up, with the queues that every kernel has.
const ROUTER: &str =
    "ip addr add 10.78.0.254/24 dev lan; ip addr add 10.77.0.254/24 dev wan; sysctl -qw net.ipv4.ip_forward=1
nft 'table ip nat { chain out { type nat hook postrouting priority srcnat; oifname wan masquerade; }; }'
tc qdisc add dev wan root handle 1: htb default 10
tc class add dev wan parent 1: classid 1:1 htb rate 7mbit
tc class add dev wan parent 1:1 classid 1:10 htb rate 7mbit
tc qdisc add dev wan parent 1:10 pfifo limit 50";
const DOWN: &str = "ip link add ifb4wan type ifb; ip link set ifb4wan up
tc qdisc add dev ifb4wan root tbf rate 16mbit burst 5kb limit 60000
tc qdisc add dev wan handle ffff: ingress
tc filter add dev wan parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb4wan";

fn router(more: &[&str]) -> Option<Net> {
    let net = net(1500, &["iperf3", "irtt", "tc", "nft"])?;
    let at = |place, script: &str| net.run(place, &["sh", "-ec", script]);
    at(Place::Gateway, &[&[ROUTER], more].concat().join("\n"));
    at(
        Place::Home,
        "ip addr flush dev eth0; ip addr add 10.78.0.1/24 dev eth0; ip route add default via 10.78.0.254",
    );
    Some(net)
}

/// What `truth` says of a game beside a flood.
fn truth(net: &Net, words: &[&str]) -> Status {
    let _server = net.serve(&["irtt", "server", "-b", &format!("{SERVER}:2112")], "-luH", ":2112");
    let flood = net.flood();
    let tries = format!("--timeouts={}", ["400ms"; 20].join(","));
    let game = ["irtt", "client", "-i", "20ms", "-d", "7s", "-l", "92", "-Q", &tries, SERVER];
    let mut game = net.command(Place::Home, &game).stdout(std::process::Stdio::null()).spawn().unwrap();
    let (code, said, error) = net.program(&[&["truth", "wan", "--seconds", "6", "--json"], words].concat());
    drop(flood);
    game.wait().unwrap();
    assert_eq!(code, 0, "{error}");
    assert!(!error.contains("refused"), "no system call is: {error}");
    serde_json::from_str(&said).unwrap()
}

fn is_told(status: &Status) -> Result<(), String> {
    let Some(game) = status.flows.iter().find(|flow| flow.server == format!("{SERVER}:2112")) else {
        return Err(format!("no game: {:?}", status.flows));
    };
    let why = status.verdict.why.iter().find(|why| why.contains("waits")).cloned().unwrap_or_default();
    let holds = game.home.starts_with("10.78.0.1:")
        && game.behaviour == "real-time"
        && game.down.packets > 10
        && status.verdict.state == State::Suffering
        && why.contains("from 10.78.0.1:")
        && why.contains("to 10.77.0.2:5201");
    if holds { Ok(()) } else { Err(format!("{game:?} {:?}", status.verdict)) }
}

#[test]
fn it_finds_the_queues_of_both_directions_and_the_home_behind_the_router_and_changes_nothing() {
    let Some(net) = router(&[DOWN]) else { return };
    let set = || {
        net.run(
            Place::Gateway,
            &["sh", "-ec", "tc qdisc show; tc class show dev wan; nft list ruleset; ip link"],
        )
    };
    let before = set();
    up_to_three_times(|| {
        let status = truth(&net, &[]);
        let (up, down) = (&status.queues["up"], &status.queues["down"]);
        assert_eq!((up.kind.as_str(), down.kind.as_str()), ("htb pfifo", "tbf"));
        assert_eq!(status.interfaces["lan"], "ifb4wan");
        assert_eq!(status.shaper["up"].rate_bps, Some(7_000_000));
        assert_eq!(status.shaper["down"].rate_bps, Some(16_000_000));
        is_told(&status)
    });
    assert_eq!(set(), before);
}

#[test]
fn without_a_queue_down_it_hears_what_arrives_and_a_queue_at_the_lan_can_be_named() {
    let Some(net) = router(&[]) else { return };
    up_to_three_times(|| {
        let status = truth(&net, &[]);
        assert!(!status.queues.contains_key("down"), "{:?}", status.queues);
        // What arrives has the router's address, which only what leaves explains.
        is_told(&status)
    });
    up_to_three_times(|| {
        let status = truth(&net, &["--down", "lan"]);
        assert_eq!(status.interfaces["lan"], "lan");
        is_told(&status)
    });
}

#[test]
fn a_recording_has_each_packet_with_the_address_at_home_and_its_wait() {
    let Some(net) = router(&[DOWN]) else { return };
    up_to_three_times(|| {
        let folder = tempfile::tempdir_in(net.folder.path()).unwrap();
        let folder = folder.path().join("tap");
        let status = truth(&net, &["--tap", folder.to_str().unwrap()]);
        let policy = std::fs::read_to_string(folder.join("policy-0000.toml")).unwrap();
        assert!(policy.contains("set up: up htb pfifo at wan, down tbf at ifb4wan"), "{policy}");
        assert!(policy.contains("up = \"7000000bit\""), "{policy}");
        let records = recorded(&folder).unwrap();
        assert_eq!(records.report.ended, Ended::Whole);
        let game = status.flows.iter().find(|flow| flow.server == format!("{SERVER}:2112")).unwrap();
        let own = &records.summary.flows[format!("udp {} {}", game.home, game.server).as_str()];
        let drops: u64 = game.up.drops.values().sum();
        let backlog = &records.summary.queues["up"].backlog_packets;
        let holds = u64::from(own.up.received) == game.up.packets
            && u64::from(own.up.lost) == drops
            && own.up.queue_delay_ms.mean > 20.0
            && backlog.max > 40;
        if holds { Ok(()) } else { Err(format!("{own:?} {game:?} {backlog:?}")) }
    });
}

#[test]
fn what_it_cannot_watch_is_named() {
    let Some(net) = net(1500, &[]) else { return };
    for (words, named) in
        [(&["truth", "eth7"][..], "eth7: no such interface"), (&["truth", "wan", "--down", "br7"], "br7")]
    {
        let (code, _, error) = net.program(words);
        assert!(code != 0 && error.contains(named), "{error}");
    }
}
