//! What a real gateway tells its shapers that follow (`gateway.autorate`, docs/models/rate.md): timestamps of TCP as they leave
//! its queue and their echoes as they come, and the lateness of even streams from the internet that number their packets. It
//! sends nothing of its own: a bridge has no address to be answered at, so there are no probes; nor does a modem tell its backlog.

mod numbers;
mod rhythm;
mod streams;

use gamelane_core::{ByteCount, Direction, Instant, PacketMeta, Protocol};
use gamelane_qdisc::classify::Behaviour;
use gamelane_stage::following::{FollowerConfig, Following};

use crate::headers::Headers;
use crate::truth::Truth;
use streams::Streams;

/// The shapers, and what is remembered of even streams; of TCP the [`Truth`] remembers.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) shapers: Following,
    streams: Streams,
}

impl Listening {
    /// `None` where no shaper follows.
    pub(crate) fn new(configs: [Option<FollowerConfig>; 2], now: Instant) -> Option<Self> {
        Some(Self { shapers: Following::new(configs, now)?, streams: Streams::default() })
    }

    /// Goes on where `before` was.
    pub(crate) fn succeed(&mut self, before: Self) {
        self.shapers.succeed(before.shapers);
        self.streams = before.streams;
    }

    /// A packet has left the queue of `direction`; with what the link adds it has so many bytes.
    pub(crate) fn left(
        &mut self,
        direction: Direction,
        bytes: ByteCount,
        headers: &Headers,
        meta: &PacketMeta,
        truth: &mut Truth,
        now: Instant,
    ) {
        self.shapers.note_sent(direction, bytes, now);
        if direction == Direction::Up
            && let Some((value, _)) = headers.ip.and_then(|ip| ip.tcp).and_then(|tcp| tcp.timestamps)
            && let Some(conversation) = truth.conversation_of(meta, direction)
        {
            conversation.echo.left(value, now);
        }
    }

    /// A packet has come from the internet, before it is queued.
    pub(crate) fn came(
        &mut self,
        headers: &Headers,
        frame: &[u8],
        meta: &PacketMeta,
        truth: &mut Truth,
        now: Instant,
    ) {
        let Some(ip) = &headers.ip else { return };
        let Some(conversation) = truth.conversation_of(meta, Direction::Down) else { return };
        let signal = match &ip.tcp {
            // The echo means something with the ACK flag only (RFC 7323 section 3.2).
            Some(tcp) if tcp.flags.ack => tcp
                .timestamps
                .and_then(|(_, echoed)| conversation.echo.came(echoed, self.shapers.memory(), now)),
            None if ip.key.protocol == Protocol::Udp && conversation.behaviour == Behaviour::RealTime => {
                frame
                    .get(ip.transport_at + UDP_HEADER..ip.end)
                    .and_then(|payload| self.streams.came(&conversation.key, payload, now))
            }
            _ => None,
        };
        if let Some(signal) = signal {
            self.shapers.tell(signal, now);
        }
    }
}

const UDP_HEADER: usize = 8;
