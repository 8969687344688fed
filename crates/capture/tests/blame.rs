//! Who is to blame, for captures that the simulator cannot make: silent servers, closed windows, the machine that stands
//! still, Wi-Fi, a router's queue. `tests/capture/test_blame.py` has those that it can make.

use std::net::Ipv4Addr;

use crate::support::packets::{ACK, PLAYER, Packets, SERVER, SYN, Tcp};
use gamelane_capture::blame::{Evidence, Sure, Who, of_one};

/// On the player's machine, 40 ms from other servers.
fn at_player() -> Packets {
    Packets::default().handshakes(30, 40_000)
}

/// At the home's router: 3 ms over Wi-Fi to the player.
fn at_router() -> Packets {
    Packets::default().handshakes(3_000, 40_000)
}

#[test]
fn a_quiet_network_is_not_to_blame() {
    let blame = at_player().game(|_, _, at| Some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    // A hiccup once a minute is no lag.
    let blame = at_player().game(|way, n, at| Some(at + if way == 1 && n == 300 { 130 } else { 0 })).blame();
    assert_eq!(blame.who, Who::Nobody, "{blame:#?}");
}

#[test]
fn a_server_that_does_not_send_is_to_blame() {
    // Four times a minute the server stands still for 700 ms. It does not make up for it.
    let late = |n: u64| n / 250 * 700;
    let blame = at_player().game(|way, n, at| Some(at + if way == 1 { late(n) } else { 0 })).blame();
    assert_eq!((blame.who, blame.sure), (Who::Server, Sure::Guess), "{blame:#?}");
    assert!(blame.because[0].contains("56 messages"), "{blame:#?}");
}

#[test]
fn a_network_that_holds_updates_back_is_not_the_server() {
    // The same pauses, but everything comes at once afterwards: the network, Wi-Fi or the server. Nothing tells.
    let held = |n: u64, at: u64| if n % 250 < 14 { at - n % 250 * 50 + 700 } else { at };
    let blame = at_player().game(|way, n, at| Some(if way == 1 { held(n, at) } else { at })).blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    // Lost in the network for 700 ms: the numbers show it.
    let lost = |n: u64| n > 0 && n % 250 < 14;
    let blame = at_player().game(|way, n, at| (way == 0 || !lost(n)).then_some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
}

/// Adds an RTP call for 60 s, every 20 ms each way. `speaks` says of a direction and a time in milliseconds whether a packet is
/// sent; only those have numbers. Every `lost`th packet to the player is lost.
fn call(mut packets: Packets, lost: u64, speaks: impl Fn(usize, u64) -> bool) -> Packets {
    let other = (Ipv4Addr::new(203, 0, 113, 88), 50_005);
    let mut numbers = [0u16; 2];
    for n in 1..3000u64 {
        for direction in (0..2).filter(|&direction| speaks(direction, n * 20)) {
            numbers[direction] += 1;
            if direction == 1 && n.is_multiple_of(lost) {
                continue;
            }
            let mut payload = vec![0x80, 0x78];
            payload.extend(numbers[direction].to_be_bytes());
            payload.extend([n as u8; 8]);
            payload.resize(70 + (n * 37 % 60) as usize, n as u8);
            let (from, to) = if direction == 0 { (PLAYER, other) } else { (other, PLAYER) };
            packets.udp((1000 + n * 20) * 1000 + direction as u64 * 7, from, to, &payload);
        }
    }
    packets
}

#[test]
fn silence_in_a_call_is_no_lag() {
    let at_times = |way: usize, at: u64| way == 0 || at % 9000 < 4000;
    let blame = call(at_player(), 9999, at_times).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    // Both take turns, beside a game.
    let turns = |way: usize, at: u64| (at / 4500).is_multiple_of(2) == (way == 0);
    let blame = call(at_player().game(|_, _, at| Some(at)), 9999, turns).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    // Losses of the call still count.
    let blame = call(at_player(), 17, at_times).blame();
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
    assert!(blame.because[0].contains("lost"), "{blame:#?}");
}

#[test]
fn a_game_that_pauses_is_no_machine_that_stands_still() {
    let late = |n: u64| n / 200 * 1500;
    let blame = at_player().game(|_, n, at| Some(at + late(n))).blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    assert!(blame.text.contains("stood still"), "{blame:#?}");
}

#[test]
fn a_machine_that_stands_still_is_to_blame() {
    let late = |n: u64| n / 250 * 700;
    let blame = at_player().game(|way, n, at| Some(at + if way == 0 { late(n) } else { 0 })).blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Guess), "{blame:#?}");
    // The capture itself stands still, and gets everything later: both directions at once.
    let held = |n: u64, at: u64| if n % 250 < 14 { at - n % 250 * 50 + 700 } else { at };
    let blame = at_player().game(|_, n, at| Some(held(n, at))).blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Guess), "{blame:#?}");
    // At a router it may be the router.
    let blame = at_router().game(|_, n, at| Some(held(n, at))).blame();
    assert!(blame.sure == Sure::Guess, "{blame:#?}");
}

#[test]
fn the_servers_own_capture_is_not_sent_to_the_server() {
    let public = || Packets { player: Some(Ipv4Addr::new(192, 0, 2, 77)), ..Packets::default() };
    let blame = public().game(|_, _, at| Some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    assert!(blame.advice[0].contains("at the other end"), "{blame:#?}");
    let blame = public().game(|way, n, at| (way == 0 || !n.is_multiple_of(23)).then_some(at)).blame();
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
    assert!(blame.advice.iter().all(|said| !said.contains("at the server")), "{blame:#?}");
}

#[test]
fn behind_the_router_there_is_no_wifi_to_blame() {
    let lossy = |way: usize, n: u64, at: u64| (way == 1 || !n.is_multiple_of(23)).then_some(at);
    // A router that does not translate addresses: the packets have passed it.
    let at = |hops, home_us| {
        Packets { hops, ..Packets::default() }.handshakes(home_us, 40_000).game(lossy).blame()
    };
    let blame = at([1, 9], 3_000);
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
    assert!(blame.text.contains("line"), "{blame:#?}");
    let blame = Packets { hops: [1, 9], ..Packets::default() }.game(lossy).blame();
    assert!(!blame.because[0].contains("your"), "{blame:#?}");
    // In the home they have passed none.
    assert_eq!(at([0, 9], 3_000).who, Who::Wifi);
    // A server of the provider may be as near as one in the same room, but packets pass routers.
    let near = |hops| {
        let player = Some(Ipv4Addr::new(192, 0, 2, 77));
        let late = |way: usize, n: u64, at: u64| {
            Some(at + if way == 1 && n % 100 < 4 { 200 - n % 100 * 50 } else { 0 })
        };
        Packets { hops, player, ..Packets::default() }
            .handshakes_with(SERVER.0, 3_000, 600)
            .game(late)
            .blame()
    };
    assert_eq!(near([5, 0]).who, Who::Server);
    assert_eq!(near([0, 5]).who, Who::Unknown);
}

#[test]
fn repeated_wifi_frames_count_only_if_they_come_with_the_trouble() {
    // From 30 s on for 15 s, one in six messages of the player is lost.
    let is_bad = |at: u64| (30_000..45_000).contains(&at);
    let lossy =
        || at_router().game(|way, n, at| (way == 1 || !n.is_multiple_of(6) || !is_bad(at)).then_some(at));
    let blame = lossy().blame();
    assert_eq!((blame.who, blame.sure), (Who::Wifi, Sure::Guess), "{blame:#?}");
    assert!(blame.text.starts_with("Perhaps your Wi-Fi is to blame: trouble arose"), "{blame:#?}");
    let seldom: fn(u32, u64) -> bool = |n, _| n.is_multiple_of(12);
    let then: fn(u32, u64) -> bool =
        |n, at| n.is_multiple_of(if (30_000_000..45_000_000).contains(&at) { 3 } else { 12 });
    let blame = Packets { repeats: Some(then), ..lossy() }.blame();
    assert_eq!((blame.who, blame.sure), (Who::Wifi, Sure::Guess), "{blame:#?}");
    assert!(blame.because[0].contains("at other times 7.7 %"), "{blame:#?}");
    let blame = Packets { repeats: Some(seldom), ..lossy() }.blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Guess), "{blame:#?}");
}

#[test]
fn other_servers_tell_whether_it_is_the_path() {
    let lossy = |way: usize, n: u64, at: u64| (way == 0 || !n.is_multiple_of(23)).then_some(at);
    let other = |n: u8| (Ipv4Addr::new(203, 0, 113, n), 27_960);
    let blame = at_router().game(lossy).game_with(other(8), |_, _, at| Some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Path, Sure::Guess), "{blame:#?}");
    let blame = at_router().game(lossy).game_with(other(8), lossy).game_with(other(9), lossy).blame();
    assert_eq!((blame.who, blame.sure), (Who::Line, Sure::Guess), "{blame:#?}");
    // On the player's machine it may be Wi-Fi as well.
    let blame = at_player().game(lossy).game_with(other(8), lossy).game_with(other(9), lossy).blame();
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
    assert!(blame.text.contains("not the game's server"), "{blame:#?}");
    let blame = at_player().game(lossy).blame();
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
}

#[test]
fn flows_to_other_servers_count_only_at_the_times_of_the_trouble() {
    let other = |n: u8| (Ipv4Addr::new(203, 0, 113, n), 27_960);
    let later = |way: usize, n: u64, at: u64| (way == 0 || n < 600 || !n.is_multiple_of(11)).then_some(at);
    for place in [at_router, at_player] {
        // Two others are fine at the same times.
        let both = place()
            .game(later)
            .game_with(other(8), |_, _, at| Some(at))
            .game_with(other(9), |_, _, at| Some(at));
        let blame = both.blame();
        assert_eq!((blame.who, blame.sure), (Who::Path, Sure::Guess), "{blame:#?}");
        // What goes to them is lost at the same times: the game's own losses on this way do not show.
        let lost = |n: u64| n >= 600 && n.is_multiple_of(11);
        let both = place().game(later).upload(other(8), lost).upload(other(9), lost);
        let blame = both.game_with(other(7), |_, _, at| Some(at)).blame();
        assert_ne!(blame.who, Who::Path, "{blame:#?}");
        // They ended before.
        let early = |_, n, at| (n < 590).then_some(at);
        let blame = place().game(later).game_with(other(8), early).game_with(other(9), early).blame();
        assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    }
}

#[test]
fn at_a_server_the_other_players_tell_whether_it_is_one_players_connection() {
    let player = |n: u8| Packets { player: Some(Ipv4Addr::new(192, 0, 2, n)), ..Packets::default() };
    let lossy = |way: usize, n: u64, at: u64| (way == 1 || !n.is_multiple_of(11)).then_some(at);
    let fine = |_: usize, _: u64, at: u64| Some(at);
    // Round trips: 30 ms to the players, none to the server.
    let at_server = |others_lose: bool, server: (Ipv4Addr, u16)| {
        let mut all = player(7).handshakes_with(server.0, 30_000, 30).game_with(server, lossy);
        for n in 8..11 {
            let one = player(n);
            let one = if others_lose { one.game_with(server, lossy) } else { one.game_with(server, fine) };
            all.packets.extend(one.packets);
        }
        all.blame()
    };
    // A server in a cloud has a private address.
    for server in [SERVER, (Ipv4Addr::new(172, 31, 5, 5), 27_960)] {
        let blame = at_server(false, server);
        assert_eq!((blame.who, blame.sure), (Who::Path, Sure::Guess), "{blame:#?}");
        assert!(blame.text.contains("one player"), "{blame:#?}");
        assert!(blame.because[0].contains("3 other players"), "{blame:#?}");
        let blame = at_server(true, server);
        assert!(blame.text.contains("this server") && blame.sure == Sure::Guess, "{blame:#?}");
    }
    // A single player tells nothing.
    let blame = player(7).handshakes_with(SERVER.0, 30_000, 30).game(lossy).blame();
    assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
}

#[test]
fn phases_of_load_are_judged_apart() {
    // A connection to another server, acknowledged after 30 ms. From 10 s on there is an upload for 10 s, from 30 s on a
    // download for 20 s, and `waits` says how much longer the acknowledgement takes at a time in milliseconds.
    let with_phases = |waits: fn(u64) -> u64| {
        let mut packets = Packets::default().game(|_, _, at| Some(at));
        let server = (Ipv4Addr::new(198, 51, 100, 7), 443);
        for n in 0..300u32 {
            let (at, seq) = (u64::from(n) * 200 + 1000, n * 50 + 1);
            let data = Tcp { seq, ack: 1, flags: ACK, window: 60_000, len: 50 };
            // Two segments, which are acknowledged at once.
            packets.tcp(at * 1000, PLAYER, server, &Tcp { len: 25, ..data });
            packets.tcp(at * 1000 + 20, PLAYER, server, &Tcp { seq: seq + 25, len: 25, ..data });
            let answer = Tcp { seq: 1, ack: seq + 50, len: 0, ..data };
            packets.tcp((at + 30 + waits(at)) * 1000, server, PLAYER, &answer);
        }
        let (own, cloud) = ((PLAYER.0, 50_100), (Ipv4Addr::new(198, 51, 100, 60), 4433));
        for n in 0..3000u64 {
            let (at_us, from, to) = if n < 1000 {
                (10_000_000 + n * 10_000, own, cloud)
            } else {
                (30_000_000 + (n - 1000) * 10_000, cloud, own)
            };
            packets.udp(at_us, from, to, &[n as u8; 1250]);
        }
        packets.blame()
    };
    let blame = with_phases(|at| if (10_000..20_000).contains(&at) { 170 } else { 0 });
    assert_eq!((blame.who, blame.sure), (Who::Upload, Sure::Likely), "{blame:#?}");
    let blame = with_phases(|at| if (30_000..50_000).contains(&at) { 170 } else { 0 });
    assert_eq!((blame.who, blame.sure), (Who::Download, Sure::Likely), "{blame:#?}");
}

#[test]
fn a_wait_is_not_the_homes_if_another_server_answers_meanwhile() {
    let held = |way: usize, n: u64, at: u64| {
        Some(if way == 1 && n % 125 < 14 { at - n % 125 * 50 + 700 } else { at })
    };
    // A connection to another server, acknowledged by it after 30 ms, or after the same wait.
    let with_other = |waits: bool| {
        let mut packets = at_player().game(held);
        let server = (Ipv4Addr::new(198, 51, 100, 7), 443);
        for n in 0..600u32 {
            let (at, seq) = (u64::from(n) * 100 + 1000, n * 50 + 1);
            let data = Tcp { seq, ack: 1, flags: ACK, window: 60_000, len: 50 };
            packets.tcp(at * 1000, PLAYER, server, &data);
            let wait = if waits && n * 2 % 125 < 14 { 700 - u64::from(n) * 2 % 125 * 50 } else { 0 };
            let answer = Tcp { seq: 1, ack: seq + 50, len: 0, ..data };
            packets.tcp((at + 30 + wait) * 1000 + u64::from(n), server, PLAYER, &answer);
        }
        packets.blame()
    };
    let blame = with_other(false);
    assert_eq!((blame.who, blame.sure), (Who::Path, Sure::Guess), "{blame:#?}");
    assert!(blame.text.contains("not your network"), "{blame:#?}");
    assert_eq!(with_other(true).who, Who::Unknown);
}

/// A game over TCP for 30 s: each second ten messages of the server, acknowledged by one of the player. From 10 s on, the
/// receiver of a direction closes its window for 2 s.
fn with_closed_window(mut packets: Packets, of_player: bool) -> Packets {
    let server = (SERVER.0, 7000);
    let plain = |seq, ack, flags, len| Tcp { seq, ack, flags, window: 20_000, len };
    packets.tcp(0, PLAYER, server, &plain(0, 0, SYN, 0));
    packets.tcp(40_000, server, PLAYER, &plain(0, 1, SYN | ACK, 0));
    packets.tcp(40_030, PLAYER, server, &plain(1, 1, ACK, 0));
    let (mut up, mut down) = (1, 1);
    for n in 0..300u64 {
        let at = 100_000 + n * 100_000;
        if (100..120).contains(&n) {
            if n == 100 {
                let closed = Tcp {
                    seq: if of_player { up } else { down },
                    ack: if of_player { down } else { up },
                    flags: ACK,
                    window: 0,
                    len: 0,
                };
                let (from, to) = if of_player { (PLAYER, server) } else { (server, PLAYER) };
                packets.tcp(at, from, to, &closed);
            }
            continue;
        }
        packets.tcp(at, server, PLAYER, &plain(down, up, ACK, 100));
        down += 100;
        packets.tcp(at + 30, PLAYER, server, &plain(up, down, ACK, 30));
        up += 30;
        packets.tcp(at + 40_030, server, PLAYER, &plain(down, up, ACK, 0));
    }
    packets
}

#[test]
fn whoever_closes_the_window_is_to_blame() {
    let blame = with_closed_window(Packets::default(), true).blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Likely), "{blame:#?}");
    assert!(blame.because[0].contains("2.0 s"), "{blame:#?}");
    let blame = with_closed_window(Packets::default(), false).blame();
    assert_eq!((blame.who, blame.sure), (Who::Server, Sure::Likely), "{blame:#?}");
}

/// As [`with_answers_for`], for 90 s.
fn with_answers(answer: impl Fn(u64) -> Option<u64>) -> Packets {
    with_answers_for(900, answer)
}

/// A game over TCP with so many commands, 40 ms from the server. Every tenth of a second (more or less) the player sends a command, which the
/// server's machine acknowledges; `answer` says when its answer comes, from the time of the command, both in milliseconds.
/// Commands without an answer were not sent. Answers that are due at the same time share a packet.
fn with_answers_for(commands: u64, answer: impl Fn(u64) -> Option<u64>) -> Packets {
    let mut packets = Packets::default();
    let server = (SERVER.0, 7000);
    let plain = |seq, ack, len| Tcp { seq, ack, flags: ACK, window: 20_000, len };
    packets.tcp(0, PLAYER, server, &Tcp { flags: SYN, ..plain(0, 0, 0) });
    packets.tcp(40_000, server, PLAYER, &Tcp { flags: SYN | ACK, ..plain(0, 1, 0) });
    packets.tcp(40_030, PLAYER, server, &plain(1, 1, 0));
    let mut events = std::collections::BTreeMap::new();
    for n in 0..commands {
        let at = 1000 + n * 100 + n * 37 % 60;
        let Some(answered) = answer(at) else { continue };
        events.insert((at, 0), 30);
        events.insert((at + 40, 1), 0);
        *events.entry((answered + 40, 2)).or_insert(0) += 90;
    }
    let (mut up, mut down) = (1, 1);
    for ((at_ms, what), len) in events {
        let at = at_ms * 1000;
        match what {
            0 => {
                packets.tcp(at, PLAYER, server, &plain(up, down, len));
                up += len as u32;
            }
            1 => packets.tcp(at, server, PLAYER, &plain(down, up, 0)),
            _ => {
                packets.tcp(at + 100, server, PLAYER, &plain(down, up, len));
                down += len as u32;
                packets.tcp(at + 130, PLAYER, server, &plain(up, down, 0));
            }
        }
    }
    packets
}

#[test]
fn a_server_that_answers_nothing_for_seconds_is_to_blame() {
    let is_held = |at: u64| at % 25_000 > 22_000;
    // It answers all at once afterwards.
    let blame = with_answers(|at| Some(if is_held(at) { at.next_multiple_of(25_000) } else { at })).blame();
    // A level that loads three times looks the same.
    assert_eq!((blame.who, blame.sure), (Who::Server, Sure::Guess), "{blame:#?}");
    assert!(blame.because[0].contains("3 times, the longest 3."), "{blame:#?}");
    let once = |at: u64| is_held(at) && at < 30_000;
    let blame = with_answers(|at| Some(if once(at) { at.next_multiple_of(25_000) } else { at })).blame();
    assert_eq!((blame.who, blame.sure), (Who::Server, Sure::Guess), "{blame:#?}");
    // Both stop: nothing tells whether the player's machine did, or whether the game paused.
    let blame = with_answers(|at| (!is_held(at)).then_some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    // In a long capture the steps are too long to tell whether the network delivered.
    let late = |at: u64| Some(if is_held(at) { at.next_multiple_of(25_000) } else { at });
    let blame = with_answers_for(6000, late).blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    assert!(blame.text.contains("nothing came from the server"), "{blame:#?}");
    // Lost answers that come again after a timeout: a receiver does not see the losses.
    let again = |at: u64| Some(if at % 5000 < 700 { at - at % 5000 + 700 } else { at });
    let blame = with_answers(again).blame();
    assert_eq!(blame.sure, Sure::Guess, "{blame:#?}");
    // Beside a game over UDP it may be a chat.
    let held = with_answers(|at| Some(if is_held(at) { at.next_multiple_of(25_000) } else { at }));
    let blame = Packets { packets: held.packets, ..Packets::default() }.game(|_, _, at| Some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    let blame = with_answers(Some).blame();
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Likely), "{blame:#?}");
}

#[test]
fn a_closed_window_of_another_program_is_no_lag_of_the_game() {
    for of_player in [true, false] {
        let blame = with_closed_window(at_player().game(|_, _, at| Some(at)), of_player).blame();
        assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
        assert!(blame.because.iter().any(|said| said.contains("2.0 s")), "{blame:#?}");
        // The game's updates are lost elsewhere.
        let lossy = at_player().game(|way, n, at| (way == 0 || !n.is_multiple_of(23)).then_some(at));
        let blame = with_closed_window(lossy, of_player).blame();
        assert_eq!(blame.who, Who::Unknown, "{blame:#?}");
    }
    // It may be either of two connections with different servers.
    let mut packets = with_closed_window(Packets::default(), true);
    let other = (Ipv4Addr::new(203, 0, 113, 9), 7001);
    for n in 0..300u32 {
        let (at, seq) = (u64::from(n) * 100_000, n * 50 + 1);
        let data = Tcp { seq, ack: seq, flags: ACK, window: 60_000, len: 50 };
        packets.tcp(at, PLAYER, other, &data);
        packets.tcp(at + 20_000, other, PLAYER, &Tcp { ack: seq + 50, ..data });
    }
    let blame = packets.blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Guess), "{blame:#?}");
}

#[test]
fn a_router_that_records_both_sides_shows_its_queue() {
    // Another machine uploads 1 Mbit/s from 20 to 40 s. Then packets to the internet wait 300 ms in the router.
    let queue = |direction, at_us| {
        if direction == 0 && (20_000_000..40_000_000).contains(&at_us) { 300_000 } else { 200 }
    };
    let with_upload = |queue: fn(usize, u64) -> u64| {
        let mut packets = Packets { in_router_us: Some(queue), ..Packets::default() };
        for n in 0..2000 {
            let camera = (Ipv4Addr::new(192, 168, 1, 9), 50_000);
            packets.udp(
                20_000_000 + n * 10_000,
                camera,
                (Ipv4Addr::new(198, 51, 100, 9), 443),
                &[n as u8; 1250],
            );
        }
        packets.game(|_, _, at| Some(at)).blame()
    };
    let blame = with_upload(queue);
    assert_eq!((blame.who, blame.sure), (Who::Upload, Sure::Likely), "{blame:#?}");
    // With a fair queue the same upload delays nothing.
    let blame = with_upload(|_, _| 200);
    assert_eq!((blame.who, blame.sure), (Who::Nobody, Sure::Guess), "{blame:#?}");
    // Without load it is the router itself.
    let packets = Packets { in_router_us: Some(queue), ..Packets::default() };
    let blame = packets.game(|_, _, at| Some(at)).blame();
    assert_eq!((blame.who, blame.sure), (Who::Home, Sure::Guess), "{blame:#?}");
}

#[test]
fn without_a_game_nobody_is_accused() {
    let blame = at_player().blame();
    assert_eq!((blame.who, blame.sure), (Who::Unknown, Sure::Guess), "{blame:#?}");
    let blame = of_one(&Evidence::default());
    assert_eq!(blame.who, Who::Unknown);
}
