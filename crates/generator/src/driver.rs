//! Runs clients and servers with real sockets and the clock.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use gamelane_core::{Duration, Instant};

use crate::client::{Client, Ending, Failure};
use crate::clock;
use crate::record::Records;
use crate::server::Server;
use crate::socket::{Socket, sharpen_timers, wait};
use crate::wire::{LONGEST, Seen};

/// Longest wait. A signal that arrives just before a wait does not end it, so a stop is noticed after this time at the latest.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// One byte longer than the longest datagram, so a longer one is recognised and ignored.
type Buffer = [u8; LONGEST + 1];

/// A client with its socket.
pub struct Sender<'a> {
    /// The state machine.
    pub client: Client<'a>,
    /// A socket that is connected to the server.
    pub socket: Socket,
    /// DSCP of its packets.
    pub dscp: u8,
}

/// Runs all clients until they end. `stop` makes them leave early.
pub fn send(
    senders: &mut [Sender<'_>],
    stop: &AtomicBool,
    records: &mut dyn Records,
) -> io::Result<Vec<Result<Ending, Failure>>> {
    sharpen_timers();
    let (mut incoming, mut outgoing): (Buffer, _) = ([0; LONGEST + 1], [0; LONGEST]);
    let mut leaving = false;
    loop {
        if stop.load(Ordering::Relaxed) && !leaving {
            leaving = true;
            senders.iter_mut().for_each(|sender| sender.client.leave(clock::now()));
        }
        for sender in &mut *senders {
            while let Some(arrived) = sender.socket.receive(&mut incoming)? {
                let packet = &incoming[..arrived.length];
                sender.client.handle_datagram(packet, arrived.at, clock::now(), records);
            }
            while let Some(length) = sender.client.poll_transmit(clock::now(), &mut outgoing, records) {
                sender.socket.send(&outgoing[..length], None, sender.dscp)?;
            }
        }
        if let Some(endings) = senders.iter().map(|sender| sender.client.ended()).collect() {
            return Ok(endings);
        }
        let sockets: Vec<&Socket> = senders.iter().map(|sender| &sender.socket).collect();
        pause(&sockets, senders.iter().filter_map(|sender| sender.client.poll_timeout()).min())?;
    }
}

/// Serves until `stop`, or with `once` until the last session has ended. Calls `on_end` for each session that ends.
pub fn serve(
    server: &mut Server,
    socket: &mut Socket,
    once: bool,
    stop: &AtomicBool,
    records: &mut dyn Records,
    on_end: &mut dyn FnMut(SocketAddr, Seen),
) -> io::Result<()> {
    sharpen_timers();
    let (mut incoming, mut outgoing): (Buffer, _) = ([0; LONGEST + 1], [0; LONGEST]);
    let mut any = false;
    while !stop.load(Ordering::Relaxed) {
        // The number is limited, so that a flood of arrivals does not delay packets that are due.
        for _ in 0..BATCH {
            let Some(arrived) = socket.receive(&mut incoming)? else { break };
            let packet = &incoming[..arrived.length];
            server.handle_datagram(arrived.from, packet, arrived.at, clock::now(), records);
        }
        server.handle_timeout(clock::now());
        while let Some((to, length, dscp)) = server.poll_transmit(clock::now(), &mut outgoing, records) {
            socket.send(&outgoing[..length], Some(to), dscp)?;
        }
        any |= server.sessions() > 0;
        while let Some((from, seen)) = server.poll_ended() {
            on_end(from, seen);
        }
        if once && any && server.sessions() == 0 {
            break;
        }
        pause(&[socket], server.poll_timeout())?;
    }
    Ok(())
}

const BATCH: usize = 64;

fn pause(sockets: &[&Socket], until: Option<Instant>) -> io::Result<()> {
    let longest = clock::now().saturating_add(LONGEST_WAIT);
    wait(sockets, Some(until.map_or(longest, |until| until.min(longest))))
}
