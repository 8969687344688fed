//! A hundred thousand flows at once.

use crate::common;
use std::net::UdpSocket;

use crate::common::{Net, Place, SERVER, in_time, net, up_to_three_times};
use gamelane_device::packet::Sender;
use gamelane_device::{Frames, Interface, Refusal};
use gamelane_gateway::status::State;

/// Flows; each has its own source port or address.
const FLOWS: u32 = 100_000;

/// A UDP frame of flow number `flow` from home to an address that nobody has.
fn datagram(flow: u32) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 0x99, 0x02, 0, 0, 0, 0, 0x88];
    frame.extend([
        8,
        0,
        0x45,
        0,
        0,
        60,
        0,
        9,
        0x40,
        0,
        64,
        17,
        0,
        0,
        10,
        1,
        (flow >> 16) as u8,
        1,
        10,
        77,
        0,
        99,
    ]);
    frame.extend((flow as u16).to_be_bytes());
    frame.extend([0, 9, 0, 40, 0, 0]);
    frame.resize(14 + 60, 7);
    frame
}

#[test]
fn a_hundred_thousand_flows_take_no_more_memory_and_the_game_among_them_is_known_and_fine() {
    let Some(net) = net(1500, &[]) else { return };
    up_to_three_times(|| a_hundred_thousand_flows(&net));
}

fn a_hundred_thousand_flows(net: &Net) -> Result<(), String> {
    let priority = "shape = \"200mbit\"\nvoap = {}\npriority = [\"quake3\"]\n\
                    up = { queue = \"priority\" }\ndown = { queue = \"fq_codel\" }";
    let gateway = net.gateway(priority);
    let before = gateway.memory();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = &over;
        scope.spawn(move || {
            net.enter(Place::Home);
            let game = UdpSocket::bind((common::HOME, 27961)).unwrap();
            net.enter(Place::Internet);
            let server = UdpSocket::bind((SERVER, 27960)).unwrap();
            server.connect((common::HOME, 27961)).unwrap();
            game.connect((SERVER, 27960)).unwrap();
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = (game.send(&[1; 60]), server.send(&[2; 120]));
                std::thread::sleep(std::time::Duration::from_millis(33));
            }
        });
        // Recognising the behaviour of a flow takes two seconds.
        std::thread::sleep(std::time::Duration::from_millis(2500));
        // A thread of its own, because it enters another namespace.
        let flood = scope.spawn(move || {
            net.enter(Place::Home);
            let mut sender = Sender::open(&Interface::find("eth0").unwrap(), 1 << 20).unwrap();
            let mut frames = Frames::new(1, 128);
            // Three rounds, so that flows come again.
            for flow in (0..3).flat_map(|_| 0..FLOWS) {
                let id = frames.fill([&datagram(flow), &[], &[]]).unwrap();
                while let Err(error) = sender.send(&frames, &[id]) {
                    assert!(matches!(error, Refusal::Full), "{error:?}");
                    std::thread::yield_now();
                }
                frames.give_back(id);
                if flow % 64 == 0 {
                    // About 150,000 frames a second; all of them fit into 200 Mbit/s.
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            }
        });
        flood.join().unwrap();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let status = gateway.status();
    let up = &status.queues["up"];
    assert_eq!(up.arrived, up.packets + up.drops + u64::from(up.qlen));
    let lost = status.engine.unwrap().ring_full.up;
    assert!(up.arrived + lost >= 3 * u64::from(FLOWS), "{up:?} {lost}");
    in_time(lost < u64::from(FLOWS), || format!("{lost} of them before it saw them"))?;
    assert!(status.flows_forgotten > u64::from(FLOWS) / 2, "{}", status.flows_forgotten);
    let games: Vec<_> = status.flows.iter().filter(|flow| flow.behaviour == "real-time").collect();
    in_time(games.len() == 1, || format!("{games:?}"))?;
    assert_eq!(games[0].server, format!("{SERVER}:27960"));
    assert_eq!(games[0].class, 0, "the first band");
    in_time(status.verdict.state == State::Fine, || format!("{:?}", status.verdict))?;
    let grown = gateway.memory().saturating_sub(before);
    eprintln!(
        "{lost} lost in the ring, {} dropped, {} kB more memory, {:?}",
        up.drops,
        grown >> 10,
        up.sojourn_ms
    );
    // The pool has 64 MiB, and only used pages are resident. All tables existed before.
    assert!(grown < 66 << 20, "{grown} B more than before");
    gateway.assert_conserves();
    Ok(())
}
