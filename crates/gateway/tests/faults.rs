//! Faults: malformed frames, wrong policies, interfaces that come and go, SIGKILL.

use crate::common;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::common::{
    FQ, Net, PATIENCE, Place, SERVER, in_time, net, sh, up_to_three_times, wait, ways, write_policy,
};
use gamelane_core::{Seed, Stream};
use gamelane_device::packet::{Receiver, Sender};
use gamelane_device::{Frames, Interface};
use gamelane_gateway::status::BothWays;

/// Addresses of no interface here, so that no kernel answers.
const TO: [u8; 12] = [0x02, 0, 0, 0, 0, 0x99, 0x02, 0, 0, 0, 0, 0x88];

/// Sends frames at home and returns those to `TO` that reach the internet.
pub(crate) fn across(net: &common::Net, sent: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let is_done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiving = scope.spawn(move || {
            net.enter(Place::Internet);
            let mut receiver = Receiver::open(&Interface::find("eth0").unwrap(), 2000).unwrap();
            ready.send(()).unwrap();
            let mut received = Vec::new();
            let (mut before, mut quiet) = (0, 0);
            wait(PATIENCE, || {
                while let Some(frame) = receiver.next(|frame| {
                    let tag = frame.vlan.map_or(Vec::new(), Vec::from);
                    [&frame.bytes[..12], &tag, &frame.bytes[12..]].concat()
                }) {
                    if frame[..12] == TO {
                        received.push(frame);
                    }
                }
                // Some may be lost on the way, so it also ends once the sender is done and a second has passed without one.
                quiet = if received.len() > before || !is_done.load(Relaxed) { 0 } else { quiet + 1 };
                before = received.len();
                received.len() >= sent.len() || quiet > 50
            });
            received
        });
        is_ready.recv().unwrap();
        scope.spawn(|| {
            net.enter(Place::Home);
            let mut sender = Sender::open(&Interface::find("eth0").unwrap(), 1 << 20).unwrap();
            let mut frames = Frames::new(1, 2048);
            for frame in sent {
                let id = frames.fill([frame, &[], &[]]).unwrap();
                assert!(wait(PATIENCE, || sender.send(&frames, &[id]).is_ok()));
                frames.give_back(id);
            }
            is_done.store(true, Relaxed);
        });
        receiving.join().unwrap()
    })
}

pub(crate) fn ethernet(rest: &[&[u8]]) -> Vec<u8> {
    let mut frame = TO.to_vec();
    for part in rest {
        frame.extend_from_slice(part);
    }
    frame.resize(frame.len().max(60), 0);
    frame
}

#[test]
fn what_is_not_understood_passes_as_it_is() {
    let Some(net) = net(1500, &[]) else { return };
    let ip = [0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
    let sent = [
        // VLAN tags: one, two, one without a type; with priority.
        ethernet(&[&[0x81, 0, 0xa0, 7, 8, 0], &ip]),
        ethernet(&[&[0x88, 0xa8, 0, 5, 0x81, 0, 0x60, 6, 8, 0], &ip]),
        ethernet(&[&[0x81, 0]]),
        // ARP, LLDP, spanning tree (a length instead of a type), an experimental EtherType.
        ethernet(&[&[8, 6], &[1; 28]]),
        ethernet(&[&[0x88, 0xcc], &[2; 60]]),
        ethernet(&[&[0, 38, 0x42, 0x42, 3], &[0; 35]]),
        ethernet(&[&[0x88, 0xb5], &[3; 900]]),
        // IPv4 with too large a length, without a header, with options past its end; truncated TCP; the same for IPv6.
        ethernet(&[&[8, 0, 0x45, 0, 0xff, 0xff], &[0; 40]]),
        ethernet(&[&[8, 0, 0x41, 0, 0, 40], &[0; 40]]),
        ethernet(&[&[8, 0, 0x4f, 0, 0, 21], &[6; 40]]),
        ethernet(&[&[8, 0, 0x45, 0, 0, 30, 0, 0, 0, 0, 64, 6], &[9; 18]]),
        ethernet(&[&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 9, 0, 64], &[0; 32], &[0xff; 9]]),
        ethernet(&[&[0x86, 0xdd], &[0xff; 46]]),
        // PPPoE, discovery and session.
        ethernet(&[&[0x88, 0x63, 0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]]),
        ethernet(&[&[0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21], &ip]),
    ];
    for way in ways() {
        let gateway = net.gateway_by(way, FQ);
        let received = across(&net, &sent);
        // Each is another flow, so their order may change.
        for frame in &sent {
            assert!(received.contains(frame), "{way}: lost or changed: {frame:02x?}");
        }
        assert_eq!(received.len(), sent.len());
        gateway.assert_conserves();
    }
}

#[test]
fn no_frame_off_the_wire_brings_it_down() {
    let Some(net) = net(1500, &[]) else { return };
    let mut random = Seed(7).stream("frames");
    let sent: Vec<Vec<u8>> = (0..20_000).map(|_| mutated(&mut random)).collect();
    for way in ways() {
        let mut gateway = net.gateway_by(way, &format!("voap = {{}}\nshape = \"500mbit\"\n{FQ}"));
        let received = across(&net, &sent);
        assert!(!received.is_empty());
        // The listener at the far end may miss frames; the gateway must not.
        let arrived = gateway.status().queues["up"].arrived;
        assert!(arrived > 10_000, "{way}: {arrived} of {}", sent.len());
        assert!(!gateway.is_over(), "{}", gateway.log());
        assert!(net.ping(&["-c", "5", SERVER]).contains("5 received"));
        gateway.assert_conserves();
    }
}

/// A TCP, UDP or other frame with some bytes changed, or cut.
fn mutated(random: &mut Stream) -> Vec<u8> {
    let protocol = [6, 17, 1, 44][random.below(4) as usize];
    let mut frame = match random.below(2) {
        0 => ethernet(&[
            &[8, 0, 0x45, 0, 0, 60, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
            &[0x55; 40],
        ]),
        _ => ethernet(&[&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 60, protocol, 64], &[3; 32], &[0x55; 60]]),
    };
    for _ in 0..random.below(6) {
        let at = 12 + random.below(frame.len() as u64 - 12) as usize;
        frame[at] = random.below(256) as u8;
    }
    let len = 14 + random.below(frame.len() as u64 - 13) as usize;
    frame.truncate(len.max(14));
    frame
}

#[test]
fn a_policy_is_reloaded_under_load_without_loss_and_a_bad_one_is_not() {
    let Some(net) = net(1500, &["iperf3", "nstat"]) else { return };
    up_to_three_times(|| reloads_without_loss(&net));
}

fn reloads_without_loss(net: &Net) -> Result<(), String> {
    // Datagrams that the receiver had no room for did arrive.
    let unread = || net.counter(Place::Internet, "UdpRcvbufErrors");
    let before = unread();
    let gateway = net.gateway(FQ);
    let policy = net.folder.path().join("policy.toml");
    let result = std::thread::scope(|scope| {
        // A tenth of the shaped rate after the first reload, so no AQM law has a reason to drop.
        let load = scope.spawn(|| net.iperf(&["-u", "-b", "20M", "-l", "1200", "-t", "4"]));
        std::thread::sleep(Duration::from_millis(500));
        for (before, queue) in ["fifo", "fq_codel", "pie", "cake", "dualpi2"].into_iter().enumerate() {
            let queue = format!(
                "shape = \"200mbit\"\nup = {{ queue = \"{queue}\" }}\ndown = {{ queue = \"{queue}\" }}"
            );
            write_policy(&policy, &queue);
            if queue.contains("fifo") {
                gateway.signal("HUP");
            }
            let reloaded = || gateway.status().reloads == before as u64 + 1;
            assert!(wait(PATIENCE, reloaded), "{queue}: {}", gateway.log());
        }
        write_policy(&policy, "up = { queue = \"fifi\" }");
        let refused = wait(PATIENCE, || gateway.status().policy_refused.is_some());
        assert!(refused, "{}", gateway.log());
        load.join().unwrap()
    });
    let status = gateway.status();
    let sum = &result["end"]["sum"];
    let lost = sum["lost_packets"].as_u64().unwrap().saturating_sub(unread() - before);
    let dropped = status.queues["up"].drops;
    assert_eq!(lost.saturating_sub(dropped), 0, "{sum} {:?} {:?}", status.queues, status.engine);
    let [up, down] = ["up", "down"].map(|way| status.queues[way].packets);
    assert_eq!(status.engine.unwrap().sent, BothWays { up, down });
    assert_eq!((status.reloads, status.queues["up"].kind.as_str()), (5, "dualpi2"));
    assert!(status.policy_refused.unwrap().contains("fifi"));
    gateway.assert_conserves();
    // An AQM law drops what waits for a processor too long.
    in_time(dropped == 0, || format!("{sum} {:?}", status.queues))
}

#[test]
fn the_host_is_left_as_found_however_it_ends() {
    let Some(net) = net(1500, &[]) else { return };
    let found = net.state();
    assert!(found.contains("generic-segmentation-offload: on"), "there is something to restore: {found}");
    for way in ways() {
        for signal in ["TERM", "INT", "KILL"] {
            let gateway = net.gateway_by(way, FQ);
            let state = net.state();
            assert_ne!(state, found, "it switched something");
            assert_eq!(state.contains(" xdp "), *way == "xdp", "{state}");
            assert_eq!(gateway.end(signal), if signal == "KILL" { None } else { Some(0) });
            let restored = wait(PATIENCE, || net.state() == found && net.processes().is_empty());
            assert!(restored, "{way} {signal}: {}\nfound: {found}", net.state());
        }
    }
}

#[test]
fn interfaces_may_go_down_and_come_back_and_their_removal_ends_it() {
    for way in ways() {
        let Some(net) = net(1500, &[]) else { return };
        let mut gateway = net.gateway_by(way, FQ);
        assert!(net.ping(&["-c", "2", SERVER]).contains("2 received"));
        let answers = || {
            let words = ["ping", "-c", "1", "-W", "1", SERVER];
            net.command(Place::Home, &words).output().unwrap().status.success()
        };
        net.run(Place::Gateway, &["ip", "link", "set", "wan", "down"]);
        assert!(!answers());
        net.run(Place::Gateway, &["ip", "link", "set", "wan", "up"]);
        assert!(wait(PATIENCE, answers) && !gateway.is_over(), "{way}: {}", gateway.log());
        gateway.assert_conserves();
        net.run(Place::Gateway, &["ip", "link", "del", "wan"]);
        assert!(wait(PATIENCE, || gateway.is_over()), "it has nothing left to do");
        assert!(gateway.log().contains("wan was removed"), "{way}: {}", gateway.log());
    }
}

#[test]
fn frames_pass_while_it_stands_still_and_none_is_delivered_late_or_twice() {
    let Some(net) = net(1500, &["iperf3"]) else { return };
    for way in ways() {
        let mut attempt = 0;
        up_to_three_times(|| {
            attempt += 1;
            passes_while_it_stands_still(&net, way, attempt)
        });
    }
}

fn passes_while_it_stands_still(net: &Net, way: &str, attempt: u32) -> Result<(), String> {
    // Frames of the upload wait about 2 s; pings do not.
    let shaped = "shape = { up = \"1mbit\" }\nup = { queue = \"fq_codel\", target = \"20s\", interval = \"100s\" }\ndown = { queue = \"fifo\" }";
    let tap = net.folder.path().join(format!("tap-{way}-{attempt}"));
    let options = ["--io", way, "--tap", tap.to_str().unwrap()];
    let gateway = net.gateway_with(&net.policy(shaped), &options);
    let ping = ["ping", "-c", "90", "-i", "0.05", "-W", "1", SERVER];
    let load = net.flood();
    let waits = || gateway.status().queues["up"].qlen > 100;
    assert!(wait(PATIENCE, waits), "{:?}", gateway.status().queues["up"]);
    let ping = net.command(Place::Home, &ping).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    gateway.signal("STOP");
    std::thread::sleep(Duration::from_secs(3));
    drop(load);
    gateway.signal("CONT");
    let said = String::from_utf8(ping.wait_with_output().unwrap().stdout).unwrap();
    // One second of pings is lost.
    let received = said.matches("bytes from").count();
    assert!(!said.contains("DUP!"), "{way}: {said}");
    let slowest = said.lines().find_map(|line| line.strip_prefix("rtt ")?.split('/').nth(5)?.parse().ok());
    let log = gateway.log();
    assert!(log.contains("it stood still for") && log.contains("frames passed without a queue"), "{log}");
    let status = gateway.status();
    assert!(status.engine.unwrap().stale.up > 0, "{way}: {:?}", status.engine);
    assert!(status.queues["up"].drop_reasons["stale"] > 100, "{way}: {:?}", status.queues["up"]);
    gateway.assert_conserves();
    gateway.end("TERM");
    let (code, replayed, error) = net.program(&["replay", tap.to_str().unwrap()]);
    assert_eq!(code, 0, "{way}: {replayed}{error}");
    in_time((60..=85).contains(&received), || format!("{way}: {received} of 90"))?;
    in_time(slowest.is_some_and(|ms: f64| ms < 500.0), || format!("{way}: {slowest:?} ms"))
}

#[test]
fn systemd_is_told_when_it_forwards_and_that_it_still_does() {
    let Some(net) = net(1500, &[]) else { return };
    let path = net.folder.path().join("notify");
    let heard = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    heard.set_read_timeout(Some(PATIENCE)).unwrap();
    let policy = net.policy(FQ);
    let words = [common::PROGRAM, "run", "--lan", "lan", "--wan", "wan", policy.to_str().unwrap()];
    let mut command = net.command(Place::Gateway, &words);
    let gateway = common::Process(command.env("NOTIFY_SOCKET", &path).spawn().unwrap());
    let next = || {
        let mut said = [0; 64];
        let len = heard.recv(&mut said).unwrap();
        String::from_utf8(said[..len].into()).unwrap()
    };
    assert_eq!(next(), "READY=1");
    assert!(net.ping(&["-c", "1", SERVER]).contains("1 received"));
    assert_eq!((next().as_str(), next().as_str()), ("WATCHDOG=1", "WATCHDOG=1"));
    sh(&format!("kill -TERM {}", gateway.0.id()));
    assert!(wait(PATIENCE, || next() == "STOPPING=1"));
}

#[test]
fn a_larger_mtu_is_followed_while_it_runs_and_a_lost_link_is_said() {
    let Some(net) = net(1500, &[]) else { return };
    let tap = net.folder.path().join("tap");
    let gateway = net.gateway_with(&net.policy(FQ), &["--tap", tap.to_str().unwrap(), "--memory", "4"]);
    let says =
        |what: &str| assert!(wait(PATIENCE, || gateway.log().contains(what)), "{what}: {}", gateway.log());
    let jumbo = || {
        let words = ["ping", "-c", "3", "-i", "0.1", "-W", "2", "-M", "do", "-s", "8972", SERVER];
        net.command(Place::Home, &words).output().unwrap().status.success()
    };
    for place in [Place::Home, Place::Internet] {
        net.run(place, &["ip", "link", "set", "eth0", "mtu", "9000"]);
    }
    net.run(Place::Gateway, &["ip", "link", "set", "lan", "mtu", "9000"]);
    says("lan: its MTU is now 9000 B; it was 1500 B");
    says("packets too long for the other side are lost");
    assert!(!jumbo());
    says("lost: the interface where they leave refused them");
    net.run(Place::Gateway, &["ip", "link", "set", "wan", "mtu", "9000"]);
    assert!(jumbo(), "{}", gateway.log());
    let status = gateway.status();
    assert_eq!(status.engine.unwrap().too_long, BothWays::default());
    assert_eq!(status.links["wan"].mtu, 9000);
    gateway.assert_conserves();

    net.run(Place::Internet, &["ip", "link", "set", "eth0", "down"]);
    says("wan: no link; nothing passes until its other end is back");
    assert!(!gateway.status().links["wan"].link);
    assert!(net.program(&["status"]).1.contains("wan has no link: nothing passes"));
    net.run(Place::Internet, &["ip", "link", "set", "eth0", "up"]);
    says("wan: it has a link");
    net.run(Place::Gateway, &["ip", "link", "set", "lan", "down"]);
    says("lan: it was switched off");
    gateway.end("TERM");
    let (code, said, error) = net.program(&["replay", tap.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}{error}");
}

/// Frames of 1200 B from home to no host, at once.
fn flood(net: &common::Net, count: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            net.enter(Place::Home);
            let mut sender = Sender::open(&Interface::find("eth0").unwrap(), 1 << 20).unwrap();
            let mut frames = Frames::new(1, 2048);
            let id = frames.fill([&ethernet(&[&[0x88, 0xb5], &[3; 1186]]), &[], &[]]).unwrap();
            for round in 0..count {
                assert!(wait(PATIENCE, || sender.send(&frames, &[id]).is_ok()));
                if round % 64 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
    });
}

#[test]
fn frames_for_an_interface_that_is_slow_or_down_wait_in_the_queue_or_are_counted() {
    let Some(net) = net(1500, &["tc"]) else { return };
    // Behind the far end, a bridge and a link of 10 Mbit/s whose queue holds the frames: they count as not sent until they leave it.
    let slow = "ip link add br0 type bridge forward_delay 0; ip link set eth0 master br0; ip link set br0 up
                ip link add slow txqueuelen 1000 type veth peer name sink; ip link set slow master br0 up; ip link set sink up
                tc qdisc add dev slow root handle 1: htb default 1
                tc class add dev slow parent 1: classid 1:1 htb rate 10mbit";
    net.run(Place::Internet, &["sh", "-ec", slow]);
    for way in ways() {
        let gateway = net.gateway_by(way, "up = { queue = \"fifo\", limit = \"5000p\" }");
        flood(&net, 1000);
        let status = gateway.status();
        let up = &status.queues["up"];
        assert!(
            status.engine.unwrap().stalls.up > 0 && up.peak_qlen > 100,
            "{way}: {:?} {up:?}",
            status.engine
        );
        let drained = || gateway.status().queues["up"].qlen == 0;
        assert!(wait(PATIENCE, drained), "{way}: {:?}", gateway.status().queues["up"]);
        assert_eq!(gateway.status().queues["up"].not_sent, 0, "{way}");

        net.run(Place::Gateway, &["ip", "link", "set", "wan", "down"]);
        flood(&net, 200);
        let counted = || gateway.status().queues["up"].not_sent >= 100;
        assert!(wait(PATIENCE, counted), "{way}: {:?}", gateway.status().queues["up"]);
        net.run(Place::Gateway, &["ip", "link", "set", "wan", "up"]);
        let before = gateway.status().engine.unwrap().sent.up;
        flood(&net, 50);
        assert!(wait(PATIENCE, || gateway.status().engine.unwrap().sent.up >= before + 50), "{way}");
        gateway.assert_conserves();
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_touched() {
    let Some(net) = net(1500, &["setpriv"]) else { return };
    let policy = net.policy(FQ);
    let policy = policy.to_str().unwrap();
    let found = net.state();
    let refused = |words: &[&str], code: i32, says: &str| {
        let (got, out, error) = net.program(words);
        assert_eq!((got, out.as_str()), (code, ""), "{words:?}: {error}");
        assert!(error.contains(says), "{words:?}: {error}");
    };
    refused(&["run", "--lan", "lan", "--wan", "lan", policy], 2, "both lan");
    refused(&["run", "--lan", "lan", "--wan", "wam", policy], 2, "--wan wam: no such interface");
    refused(&["run", "--lan", "lan", "--wan", "lo", policy], 2, "not an Ethernet interface");
    refused(&["run", "--lan", "lan", "--wan", "wan", "/nowhere.toml"], 2, "cannot be read");
    refused(&["run", "--lan", "lan", "--wan", "wan", policy, "--set", "gateway.up.queue=fifi"], 2, "fifi");
    refused(
        &[
            "run",
            "--lan",
            "lan",
            "--wan",
            "wan",
            policy,
            "--set",
            "gateway.priority=[\"upload\"]",
            "--set",
            "gateway.up.queue=priority",
        ],
        2,
        "nothing tells this flow",
    );
    refused(
        &[
            "run",
            "--lan",
            "lan",
            "--wan",
            "wan",
            policy,
            "--set",
            "link.up=100gbit",
            "--set",
            "gateway.shape=50gbit",
            "--set",
            "link.down=100gbit",
        ],
        2,
        "another link",
    );
    refused(&["run", "--lan", "lan", "--wan", "wan", policy, "--listen", "0.0.0.0:80"], 2, "not on loopback");
    refused(&["status"], 6, "does the gateway run?");

    // Logged in over the LAN, as sshd's variable says.
    net.run(Place::Gateway, &["ip", "addr", "add", "192.0.2.1/24", "dev", "lan"]);
    let words = [common::PROGRAM, "run", "--lan", "lan", "--wan", "wan", policy];
    let out = net
        .command(Place::Gateway, &words)
        .env("SSH_CONNECTION", "192.0.2.9 50000 192.0.2.1 22")
        .output()
        .unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(error.contains("logged in over it, from 192.0.2.9"), "{error}");
    net.run(Place::Gateway, &["ip", "addr", "del", "192.0.2.1/24", "dev", "lan"]);

    // Without privileges it is refused. The user `nobody` must be able to read program and policy.
    sh(&format!("chmod 755 {}", net.folder.path().display()));
    let copy = net.folder.path().join("gamelane-gateway");
    std::fs::copy(common::PROGRAM, &copy).unwrap();
    let words = [
        "setpriv",
        "--reuid=65534",
        "--clear-groups",
        copy.to_str().unwrap(),
        "run",
        "--lan",
        "lan",
        "--wan",
        "wan",
        policy,
    ];
    let out = net.command(Place::Gateway, &words).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(5), "{error}");
    assert!(error.contains("CAP_NET_RAW"), "{error}");

    let (code, said, _) = net.program(&["run", "--lan", "lan", "--wan", "wan", policy, "--dry-run"]);
    assert_eq!(code, 0);
    assert!(said.contains("lan: switch gso off") && said.contains("up: fq_codel, not shaped"), "{said}");
    let on_a_plan = ["--plan", "vdsl-50-10", "--set", "policy=cake", "--dry-run"];
    let (code, planned, error) =
        net.program(&[&["run", "--lan", "lan", "--wan", "wan", policy], &on_a_plan[..]].concat());
    assert_eq!(code, 0, "{error}");
    assert!(planned.contains("up: cake, shaped to 9"), "{planned}");
    assert_eq!(net.state(), found);

    net.run(Place::Gateway, &["ip", "link", "add", "br0", "type", "bridge"]);
    net.run(Place::Gateway, &["ip", "link", "set", "wan", "master", "br0"]);
    refused(&["run", "--lan", "lan", "--wan", "wan", policy], 2, "part of br0");
    net.run(Place::Gateway, &["ip", "link", "del", "br0"]);
    let _first = net.gateway(FQ);
    let (code, _, error) = net.program(&["run", "--lan", "lan", "--wan", "wan", policy, "--listen", "none"]);
    assert!(code == 5 && error.contains("another gateway"), "{error}");
}

#[test]
fn with_a_fail_open_wrapper_the_link_forwards_whatever_happens_to_the_gateway() {
    for way in ways() {
        forwards_whatever_happens(way);
    }
}

fn forwards_whatever_happens(way: &str) {
    let Some(net) = net(1500, &[]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/gateway/fail-open");
    let policy = net.policy(FQ);
    let mut wrapper = net
        .command(Place::Gateway, &[script, "run", "lan", "wan", policy.to_str().unwrap(), "--io", way])
        .env("GAMELANE_GATEWAY", common::PROGRAM)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let runs = || net.program(&["status"]).0 == 0;
    assert!(wait(PATIENCE, runs), "the gateway runs");
    assert!(net.ping(&["-c", "3", SERVER]).contains("3 received"));
    let is_gateway = |pid: &&str| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.windows(21).any(|part| part == b"gamelane-gateway\0run\0")
    };
    let processes = net.processes();
    let victim = processes.split_whitespace().find(is_gateway).unwrap();
    sh(&format!("kill -9 {victim}"));
    let bridge = || {
        net.command(Place::Gateway, &["ip", "link", "show", "gamelane-open"])
            .output()
            .unwrap()
            .status
            .success()
    };
    let answered = || {
        net.command(Place::Home, &["ping", "-c", "1", "-W", "1", SERVER]).output().unwrap().status.success()
    };
    let is_up = || {
        let words = ["ip", "link", "show", "up", "dev", "gamelane-open"];
        !net.command(Place::Gateway, &words).output().unwrap().stdout.is_empty()
    };
    // It forwards for two seconds only, so the script stands still while a busy machine asks.
    assert!(wait(PATIENCE, is_up), "the script makes a bridge");
    sh(&format!("kill -STOP {}", wrapper.id()));
    assert!(wait(PATIENCE, answered), "the kernel forwards");
    sh(&format!("kill -CONT {}", wrapper.id()));
    assert!(wait(PATIENCE, || runs() && !bridge()), "and then the gateway again");
    assert!(net.ping(&["-c", "3", SERVER]).contains("3 received"));
    sh(&format!("kill -TERM {}", wrapper.id()));
    assert_eq!(wrapper.wait().unwrap().code(), Some(0));
    assert!(!runs() && bridge() && wait(PATIENCE, answered), "the kernel forwards");
    net.run(Place::Gateway, &[script, "close", "lan", "wan"]);
    assert!(!bridge(), "as found");
}

/// Regression: it took the ports out of a bridge that forwards.
#[test]
fn a_fail_open_wrapper_takes_no_port_out_of_another_bridge() {
    let Some(net) = net(1500, &[]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/gateway/fail-open");
    let bridge = "ip link add br0 type bridge; ip link set lan master br0; ip link set wan master br0";
    net.run(Place::Gateway, &["sh", "-ec", bridge]);
    let out = net.command(Place::Gateway, &[script, "open", "lan", "wan"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("lan is part of br0, which forwards"), "{said}");
    assert!(net.run(Place::Gateway, &["ip", "link", "show", "master", "br0"]).contains("wan"));
}

/// Regression: bridge and gateway both forwarded each frame, if the script had been killed and was started again.
#[test]
fn beside_a_gateway_that_runs_there_is_no_bridge_and_a_closed_terminal_leaves_the_bridge_alone() {
    let Some(net) = net(1500, &[]) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/gateway/fail-open");
    let policy = net.policy(FQ);
    let has_bridge = || {
        let words = ["ip", "link", "show", "gamelane-open"];
        net.command(Place::Gateway, &words).output().unwrap().status.success()
    };
    let running = net.gateway(FQ);
    net.run(Place::Gateway, &[script, "open", "lan", "wan"]);
    assert!(!has_bridge());
    running.end("KILL");
    net.run(Place::Gateway, &[script, "open", "lan", "wan"]);
    assert!(has_bridge());
    let mut wrapper = net
        // Under `nohup` a shell cannot trap the signal.
        .command(
            Place::Gateway,
            &["env", "--default-signal=HUP", script, "run", "lan", "wan", policy.to_str().unwrap()],
        )
        .env("GAMELANE_GATEWAY", common::PROGRAM)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait(PATIENCE, || net.program(&["status"]).0 == 0), "the gateway runs");
    sh(&format!("kill -HUP {}", wrapper.id()));
    assert_eq!(wrapper.wait().unwrap().code(), Some(0));
    assert!(wait(PATIENCE, || net.processes().is_empty()) && has_bridge(), "{}", net.processes());
}
