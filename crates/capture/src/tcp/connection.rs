//! A TCP connection seen from one capture point: two `Half`s that acknowledge each other. The capture point divides
//! the round trip into two parts, one to each side. Their sum is the round trip of the path (But et al., LCN 2005). The
//! rows for the tables are passed to the caller, not stored.

use super::half::{Half, Sent};
use super::rows::{Acknowledged, Method, Retransmission, RoundTrip, Row};
use crate::packet::{CapturedPacket, TcpFields};
use crate::samples::Samples;

/// State of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    /// Data from client to server, and from server to client.
    pub(crate) halves: [Half; 2],
    /// Round trips of the whole path: sums of both parts.
    pub(crate) both: Samples,
    /// Time and length of the last sample of each part, in nanoseconds.
    pub(crate) latest: [Option<(u64, u64)>; 2],
    pub(crate) handshake_rtt_ns: [Option<u64>; 2],
    pub(crate) end: End,
    pub(crate) scaled: bool,
    pub(crate) sack: [bool; 2],
}

/// End of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It did not end in the capture.
    #[default]
    Open,
    /// This side has closed (0 client, 1 server).
    HalfClosed(u8),
    /// Both sides have closed.
    Closed,
    /// It was reset.
    Reset,
}

impl Connection {
    /// True if the SYN belongs to a later connection, because its sequence number differs.
    pub(crate) fn is_reopened_by(&self, tcp: &TcpFields, direction: usize) -> bool {
        tcp.flags.syn
            && !tcp.flags.ack
            && self.halves[direction].sequence.is_some_and(|sequence| sequence.origin() != tcp.sequence)
    }

    /// Handles a packet of `direction` at `at_ns` since the start of the capture. `tell` gets the rows. Returns true if
    /// the packet carried data sent before.
    pub(crate) fn handle(
        &mut self,
        packet: &CapturedPacket,
        tcp: &TcpFields,
        flow: u32,
        direction: usize,
        at_ns: u64,
        tell: &mut impl FnMut(Row),
    ) -> bool {
        let other = 1 - direction;
        self.control(tcp, direction);
        // Round trip from here to the sender of this packet: the time in which it acknowledges the other direction's
        // data.
        let near_ns = self.halves[other].far_ns();
        let sent = self.halves[direction].sent(packet, tcp, at_ns, near_ns);
        let resent = matches!(sent, Sent::Again { .. });
        if let Sent::Again { start, cause, nth, since_first_ns } = sent {
            let len = packet.payload_len;
            tell(Row::Retransmission(Retransmission {
                flow,
                direction: direction as u8,
                t_ns: at_ns,
                start,
                len,
                cause,
                spurious: false,
                nth,
                since_first_ns,
            }));
        }
        if !tcp.flags.ack {
            return resent;
        }
        if !tcp.flags.rst {
            let window = self.halves[direction].offers(tcp, self.scaled);
            // A proxy against SYN floods answers with a closed window before it asks the server (nft_synproxy).
            if !tcp.flags.syn {
                self.halves[other].offered(window, at_ns);
            }
        }
        let mut rtt = self.halves[other].acknowledged(packet, tcp, at_ns, |history, cause| {
            tell(Row::Acknowledged(Acknowledged {
                flow,
                direction: other as u8,
                t_ns: history.first_sent.as_nanos(),
                delay_ns: history.application_delay().as_nanos(),
                len: (history.end - history.start) as u32,
                itself: history.itself,
                included: history.included,
                cause,
            }));
        });
        if self.handshake_rtt_ns[other].is_none() && self.halves[other].syn.is_some() {
            self.handshake_rtt_ns[other] = self.halves[other].handshake_round_trip(at_ns);
            rtt = rtt.or(self.handshake_rtt_ns[other]);
        }
        if let Some(rtt_ns) = rtt {
            let method = Method::Acknowledgement;
            tell(Row::RoundTrip(RoundTrip { flow, direction: other as u8, method, t_ns: at_ns, rtt_ns }));
            self.halved(other, rtt_ns, flow, at_ns, tell);
        }
        if let Some((_, echo)) = tcp.timestamps
            && let Some(rtt_ns) = self.halves[other].echoed(echo, at_ns)
        {
            let method = Method::Timestamp;
            tell(Row::RoundTrip(RoundTrip { flow, direction: other as u8, method, t_ns: at_ns, rtt_ns }));
        }
        resent
    }

    /// Combines a sample of one part with the latest one of the other part into a round trip.
    fn halved(&mut self, half: usize, rtt_ns: u64, flow: u32, at_ns: u64, tell: &mut impl FnMut(Row)) {
        self.latest[half] = Some((at_ns, rtt_ns));
        let Some((when, other)) = self.latest[1 - half] else { return };
        if at_ns.saturating_sub(when) > STALE_NS {
            return;
        }
        let rtt_ns = rtt_ns + other;
        self.both.push(rtt_ns);
        let method = Method::BothHalves;
        tell(Row::RoundTrip(RoundTrip { flow, direction: 0, method, t_ns: at_ns, rtt_ns }));
    }

    fn control(&mut self, tcp: &TcpFields, direction: usize) {
        if tcp.flags.syn {
            self.sack[direction] = tcp.sack_permitted;
            self.halves.iter_mut().for_each(|half| half.sack &= tcp.sack_permitted);
            self.scaled = match tcp.flags.ack {
                false => tcp.window_scale.is_some(),
                true => self.scaled && tcp.window_scale.is_some(),
            };
        }
        self.end = match (self.end, tcp.flags.rst, tcp.flags.fin) {
            (_, true, _) => End::Reset,
            (End::Open, _, true) => End::HalfClosed(direction as u8),
            (End::HalfClosed(first), _, true) if usize::from(first) != direction => End::Closed,
            (end, _, _) => end,
        };
    }
}

/// Maximum time between two parts that make one round trip.
const STALE_NS: u64 = 1_000_000_000;
