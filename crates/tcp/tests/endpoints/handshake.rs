//! The three-way handshake (RFC 9293 section 3.5) and the options of the SYN.

use crate::pair::{Fate, Pair, Side, plain};
use gamelane_core::{ByteCount, Duration, Instant, IpLen};
use gamelane_tcp::{RecoveryKind, TcpConfig, TcpEndpoint, TcpEvent, TcpTuning, TimerKind};

#[test]
fn three_segments_open_both_ends() {
    let mut pair = Pair::of(&TcpConfig::default(), 50);
    assert!(pair.run_to_end(10));
    assert_eq!(
        pair.events,
        [(100, Side::Client, TcpEvent::Connected), (150, Side::Server, TcpEvent::Connected)]
    );
    assert_eq!(pair.client.counters().segments_sent, 2);
    assert_eq!(pair.server.counters().segments_sent, 1);
    assert_eq!(pair.client.observe().srtt, Some(Duration::from_millis(100)));
    assert_eq!(pair.server.observe().peer_window, ByteCount(4 << 20));
}

#[test]
fn a_lost_syn_is_sent_again_after_one_second_and_starts_with_one_segment() {
    let config = TcpConfig { timer: TimerKind::Rfc6298, ..plain() };
    let mut pair = Pair::of(&config, 50);
    let mut first = true;
    pair.rule = Box::new(move |_, _, _| if core::mem::take(&mut first) { Fate::Lost } else { Fate::Arrives });
    pair.write(10_000);
    pair.run_for(1101);
    assert_eq!(pair.events[0], (1100, Side::Client, TcpEvent::Connected));
    assert_eq!(pair.sent, [(1100, 1)]);
    // RFC 6298 section 5.7: without a sample, the timeout is 3 s.
    assert_eq!(pair.client.observe().rto, Duration::from_secs(3));
}

#[test]
fn a_lost_syn_ack_is_asked_for_again() {
    let mut pair = Pair::of(&plain(), 50);
    let mut first = true;
    pair.rule = Box::new(move |side, _, _| {
        if side == Side::Server && core::mem::take(&mut first) { Fate::Lost } else { Fate::Arrives }
    });
    pair.write(100);
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered[Side::Server as usize], 100);
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

/// First window of `sender` in segments, if the first `losses` of its SYNs or SYN-ACKs get `fate`.
fn first_window(sender: Side, fate: Fate, losses: u32) -> u64 {
    let mut config = TcpConfig { timestamps: true, ..plain() };
    config.tuning.eifel = true;
    let mut pair = Pair::of(&config, 50);
    let mut left = losses;
    pair.rule = Box::new(move |side, _, segment| {
        if side != sender || !segment.flags.syn() || left == 0 {
            return Fate::Arrives;
        }
        left -= 1;
        fate
    });
    while !pair.events.iter().any(|&(_, side, event)| (side, event) == (sender, TcpEvent::Connected)) {
        pair.run_for(1);
    }
    let end = if sender == Side::Client { &pair.client } else { &pair.server };
    end.observe().cwnd.bytes() / (1000 - 12)
}

/// As in Linux (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`): a SYN that is late was not lost.
#[test]
fn with_eifel_only_a_client_that_lost_two_syns_starts_with_one_segment() {
    assert_eq!(first_window(Side::Client, Fate::Lost, 1), 10);
    assert_eq!(first_window(Side::Client, Fate::Lost, 2), 1);
    assert_eq!(first_window(Side::Client, Fate::Late(4_000), 3), 10);
    assert_eq!(first_window(Side::Server, Fate::Lost, 2), 10);
}

#[test]
fn nobody_answers() {
    // Six retransmissions with doubling intervals (Linux `tcp_syn_retries`), and before them four 1 s apart
    // (`tcp_syn_linear_timeouts`).
    for (linear_syns, expected) in
        [(0, &[0, 1, 3, 7, 15, 31, 63][..]), (4, &[0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67])]
    {
        let tuning = TcpTuning { linear_syns, ..TcpTuning::default() };
        let mut client = TcpEndpoint::connect(plain(), Instant::ZERO).tuned(tuning);
        let mut sent = Vec::new();
        let mut now = Instant::ZERO;
        loop {
            while client.poll_transmit(now).is_some() {
                sent.push(now.as_nanos() / 1_000_000_000);
            }
            let Some(at) = client.poll_timeout() else { break };
            now = at;
            client.handle_timeout(now);
        }
        assert_eq!(sent, expected);
        assert_eq!(client.poll_event(), Some(TcpEvent::Closed));
    }
}

#[test]
fn options_are_used_only_if_both_ends_offer_them() {
    let server = TcpConfig { timestamps: false, recovery: RecoveryKind::NewReno, ..plain() };
    let client = TcpConfig { mtu: IpLen(1500), timestamps: true, ..plain() };
    let mut pair = Pair::new(client, server, 50);
    pair.write(5000);
    pair.run_for(500);
    // The smaller MTU counts, and timestamps take no room.
    assert_eq!(pair.sent.iter().map(|&(_, seq)| seq).collect::<Vec<_>>(), [1, 1001, 2001, 3001, 4001]);
}
