//! AF_XDP alone: where it is refused, all queues of an interface, frames for the machine itself, memory.

use crate::common;
use crate::common::{FQ, HOME, PATIENCE, Place, SERVER, net, net_of, wait, ways};
use crate::faults::{across, ethernet};
use gamelane_core::{Direction, Instant};
use gamelane_device::bpf::Register::{R0, R2, R3};
use gamelane_device::bpf::{AttachType, Helper, Instruction, Link};
use gamelane_device::packet::Sender;
use gamelane_device::{Engine, FrameId, Frames, Interface, Io, Plane};
use gamelane_gateway::status::BothWays;
use std::time::Duration;

fn is_here() -> bool {
    ways().contains(&"xdp")
}

#[test]
fn frames_that_do_not_fit_are_refused_before_anything_is_touched_and_pass_by_the_way_that_is_chosen() {
    let Some(net) = net(9000, &[]) else { return };
    let policy = net.policy(FQ);
    let policy = policy.to_str().unwrap();
    let found = net.state();
    let words = ["run", "--lan", "lan", "--wan", "wan", policy, "--io", "xdp"];
    let (code, _, error) = net.program(&words);
    assert_eq!(code, 5, "{error}");
    assert!(error.contains("--io xdp: lan: its MTU of 9000 B") && error.contains("mtu 3810"), "{error}");
    assert_eq!(net.state(), found);
    let gateway = net.gateway(FQ);
    assert_eq!(gateway.status().io.kind, "AF_PACKET");
    assert!(net.ping(&["-c", "3", "-M", "do", "-s", "8972", SERVER]).contains("3 received"));
}

#[test]
fn longer_frames_pass_up_to_what_the_driver_takes() {
    if !is_here() {
        return;
    }
    let Some(net) = net(3000, &[]) else { return };
    let gateway = net.gateway_by("xdp", FQ);
    assert!(net.ping(&["-c", "3", "-M", "do", "-s", "2972", SERVER]).contains("3 received"));
    gateway.assert_conserves();
}

#[test]
fn a_larger_mtu_set_while_it_runs_is_said_with_the_limit_of_its_memory() {
    if !is_here() {
        return;
    }
    let Some(net) = net(1500, &[]) else { return };
    let gateway = net.gateway_by("xdp", FQ);
    let passes = |size: &str| {
        let words = ["ping", "-c", "3", "-i", "0.1", "-W", "2", "-M", "do", "-s", size, SERVER];
        net.command(Place::Home, &words).output().unwrap().status.success()
    };
    for (place, name) in
        [(Place::Home, "eth0"), (Place::Internet, "eth0"), (Place::Gateway, "lan"), (Place::Gateway, "wan")]
    {
        net.run(place, &["ip", "link", "set", name, "mtu", "3000"]);
    }
    for side in ["lan", "wan"] {
        let said = format!("{side}: AF_XDP's memory holds packets of up to 1762 B; longer ones are lost");
        assert!(wait(PATIENCE, || gateway.log().contains(&said)), "{}", gateway.log());
    }
    assert!(passes("1734") && !passes("2972"), "{}", gateway.log());
}

#[test]
fn what_the_driver_refuses_is_said_and_leaves_nothing_behind() {
    if !is_here() {
        return;
    }
    // A veth pair whose far end has more send queues than the near end has receive queues.
    let Some(net) = net_of(1500, [1, 2], &["setpriv", "prlimit"]) else { return };
    let policy = net.policy(FQ);
    let policy = policy.to_str().unwrap();
    let found = net.state();
    let run = ["run", "--lan", "lan", "--wan", "wan", policy, "--io", "xdp"];
    let (code, _, error) = net.program(&run);
    assert!(code == 5 && error.contains("lan: its driver refuses") && error.contains("queues"), "{error}");
    assert!(wait(PATIENCE, || net.state() == found), "{}", net.state());

    // Locked memory has a limit for users without CAP_IPC_LOCK.
    let limited = ["setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=1048576", common::PROGRAM];
    let words: Vec<&str> = limited.iter().chain(&run).copied().collect();
    let out = net.command(Place::Gateway, &words).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(5) && error.contains("LimitMEMLOCK"), "{error}");
    assert!(wait(PATIENCE, || net.state() == found), "{}", net.state());

    let unprivileged = ["setpriv", "--bounding-set=-bpf,-sys_admin", common::PROGRAM];
    let words: Vec<&str> = unprivileged.iter().chain(&run).copied().collect();
    let out = net.command(Place::Gateway, &words).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(5) && error.contains("CAP_BPF"), "{error}");
}

#[test]
fn every_queue_of_an_interface_is_served() {
    if !is_here() {
        return;
    }
    let Some(net) = net_of(1500, [2, 2], &["ethtool"]) else { return };
    let gateway = net.gateway_by("xdp", FQ);
    // The kernel selects the queue by the flow. Of 64 flows, each queue gets some.
    let received = std::thread::scope(|scope| {
        let net = &net;
        let hearing = scope.spawn(move || {
            net.enter(Place::Internet);
            std::net::UdpSocket::bind((SERVER, 4000)).unwrap()
        });
        let server = hearing.join().unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        scope
            .spawn(move || {
                net.enter(Place::Home);
                for _ in 0..64 {
                    let flow = std::net::UdpSocket::bind((HOME, 0)).unwrap();
                    flow.send_to(&[1; 100], (SERVER, 4000)).unwrap();
                }
            })
            .join()
            .unwrap();
        (0..64).filter(|_| server.recv(&mut [0; 200]).is_ok()).count()
    });
    assert_eq!(received, 64);
    let counted = net.run(Place::Gateway, &["ethtool", "-S", "lan"]);
    for queue in ["rx_queue_0_xdp_packets", "rx_queue_1_xdp_packets"] {
        let line = counted.lines().find(|line| line.contains(queue)).expect(&counted);
        assert_ne!(line.split_whitespace().nth(1), Some("0"), "{counted}");
    }
    gateway.assert_conserves();
}

/// A VLAN interface gives its frames to the interface below with the tag beside them. This does the same to all of them.
fn tag_beside(net: &common::Net, place: Place, tag: u16) -> Link {
    let push = [
        Instruction::set(R2, i32::from(0x8100_u16.to_be())),
        Instruction::set(R3, tag.into()),
        Instruction::call(Helper::SkbVlanPush),
        // TCX_NEXT
        Instruction::set(R0, -1),
        Instruction::exit(),
    ];
    std::thread::scope(|scope| {
        let attach = || {
            net.enter(place);
            let index = Interface::find("eth0").unwrap().index;
            Link::at("push", AttachType::TcxEgress, index, &push).unwrap()
        };
        scope.spawn(attach).join().unwrap()
    })
}

#[test]
fn a_vlan_tag_beside_the_frame_stays_with_it() {
    if !is_here() {
        return;
    }
    let Some(net) = net(1500, &[]) else { return };
    net.run(Place::Home, &["ethtool", "-K", "eth0", "txvlan", "on"]);
    let gateway = net.gateway_by("xdp", FQ);
    let sent =
        [ethernet(&[&[8, 0], &[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]])];
    assert_eq!(across(&net, &sent), sent);
    let _link = tag_beside(&net, Place::Home, 0xa007);
    let tagged = [&sent[0][..12], &[0x81, 0, 0xa0, 7], &sent[0][12..]].concat();
    assert_eq!(across(&net, &sent), [tagged]);
    gateway.assert_conserves();
}

#[test]
fn the_machine_itself_stays_reachable_for_who_knows_its_address() {
    if !is_here() {
        return;
    }
    let Some(net) = net(1500, &[]) else { return };
    net.run(Place::Gateway, &["ip", "addr", "add", "10.77.0.9/24", "dev", "lan"]);
    let mac = net.run(Place::Gateway, &["cat", "/sys/class/net/lan/address"]);
    net.run(Place::Home, &["ip", "neigh", "add", "10.77.0.9", "lladdr", mac.trim(), "dev", "eth0"]);
    let gateway = net.gateway_by("xdp", FQ);
    assert!(gateway.log().contains("lan has an address"), "{}", gateway.log());
    assert!(net.ping(&["-c", "5", "10.77.0.9"]).contains("5 received"));
    assert!(net.ping(&["-c", "5", SERVER]).contains("5 received"));
    let engine = gateway.status().engine;
    assert!(engine.unwrap().own.up >= 5, "{engine:?}");
}

#[test]
fn a_sender_that_would_put_frames_together_does_not() {
    if !is_here() {
        return;
    }
    let Some(net) = net(1500, &["iperf3"]) else { return };
    for place in [Place::Home, Place::Internet] {
        net.run(place, &["ethtool", "-K", "eth0", "tx", "on", "tso", "on", "gso", "on", "gro", "on"]);
    }
    let gateway = net.gateway_by("xdp", FQ);
    // The kernel switches segmentation offload off at the far end of a pair while a program is attached to the near end.
    let result = net.iperf(&["-t", "1"]);
    assert!(result["end"]["sum_received"]["bytes"].as_u64() > Some(2 << 20), "{}", result["end"]);
    assert_eq!(gateway.status().engine.unwrap().too_long, BothWays::default());
    gateway.assert_conserves();
}

/// A plane that gives out every frame at once.
#[derive(Default)]
struct Wire {
    waiting: [Vec<FrameId>; 2],
    frames: usize,
}

impl Plane for Wire {
    fn handle_frame(&mut self, direction: Direction, frame: FrameId, _: &mut Frames, _: Instant) {
        self.waiting[direction.index()].push(frame);
        self.frames += 1;
    }

    fn poll_transmit(&mut self, direction: Direction, _: &mut Frames, _: Instant) -> Option<FrameId> {
        self.waiting[direction.index()].pop()
    }

    fn poll_timeout(&self, _: [bool; 2]) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _: &mut Frames, _: Instant) {}
    fn no_room(&mut self, _: Direction) {}
    fn not_sent(&mut self, _: Direction) {}
}

#[test]
fn frames_pass_without_allocation() {
    if !is_here() {
        return;
    }
    let Some(net) = net(1500, &[]) else { return };
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (net, over) = (&net, &over);
        let passing = scope.spawn(move || {
            net.enter(Place::Gateway);
            let sides = ["lan", "wan"].map(|name| Interface::find(name).unwrap());
            let [home, internet] = sides;
            let mut engine = Engine::open(home, internet, Io::Xdp, 4 << 20).unwrap();
            let mut wire = Wire { waiting: [(); 2].map(|()| Vec::with_capacity(4096)), frames: 0 };
            let mut pass = |count: usize| {
                wire.frames = 0;
                while wire.frames < count {
                    engine.turn(&mut wire).unwrap();
                }
            };
            pass(1000);
            let used = allocation_counter::measure(|| pass(20_000));
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            (used, engine.counters())
        });
        scope.spawn(move || {
            net.enter(Place::Home);
            let mut sender = Sender::open(&Interface::find("eth0").unwrap(), 1 << 20).unwrap();
            let mut frames = Frames::new(1, 2048);
            let id = frames.fill([&[2; 12], &[0x88, 0xb5], &[7; 600]]).unwrap();
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                for _ in 0..32 {
                    let _ = sender.send(&frames, &[id]);
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let (used, counters) = passing.join().unwrap();
        // Checks whether interfaces exist, each 200 ms.
        assert!(used.count_total < 100, "{used:?}");
        assert!(counters.sent[0] > 20_000, "{counters:?}");
    });
}
