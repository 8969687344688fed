//! Closing a connection (RFC 9293 section 3.6): each direction closes independently, and every run ends.

use crate::pair::{Fate, Pair, Side, losing, plain};
use gamelane_core::ByteCount;
use gamelane_tcp::TcpEvent;

#[test]
fn each_direction_closes_on_its_own() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.client.write(ByteCount(500));
    pair.client.close();
    pair.run_for(200);
    assert!(pair.events.contains(&(200, Side::Server, TcpEvent::PeerClosed)));
    assert!(!pair.client.is_closed());
    // The server can still send.
    pair.server.write(ByteCount(700));
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered, [700, 500]);
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

#[test]
fn a_lost_last_ack_is_repeated_for_the_repeated_fin() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.client.close();
    pair.run_for(200);
    pair.server.close();
    let mut lose = true;
    pair.rule =
        Box::new(
            move |side, _, _| {
                if side == Side::Client && core::mem::take(&mut lose) { Fate::Lost } else { Fate::Arrives }
            },
        );
    assert!(pair.run_to_end(20));
    assert!(pair.client.is_closed() && pair.server.is_closed());
    assert_eq!(pair.server.counters().timeouts, 1);
}

#[test]
fn an_endless_source_ends_with_what_was_sent() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.client.write_forever();
    pair.run_for(1_000);
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered[Side::Server as usize] % 1000, 0);
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

#[test]
fn a_close_before_the_connection_is_open_is_remembered() {
    let mut pair = Pair::of(&plain(), 50);
    pair.server.write(ByteCount(300));
    pair.server.close();
    pair.client.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered, [300, 0]);
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

#[test]
fn a_full_last_segment_with_fin_is_resent_within_a_window_of_one() {
    let mut pair = Pair::connected(&plain(), 50);
    pair.rule = losing(&[1, 2, 3]);
    pair.client.write(ByteCount(3_000));
    pair.client.close();
    pair.server.close();
    assert!(pair.run_to_end(20));
    assert_eq!(pair.delivered, [0, 3_000]);
}
