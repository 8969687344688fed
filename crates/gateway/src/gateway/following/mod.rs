//! Signals for shapers that follow their link (`gateway.autorate`, docs/models/rate.md): TCP timestamps as they leave the queue and
//! their echoes as they arrive, and the lateness of evenly sent, numbered streams from the internet. There are no probes, because a
//! bridge has no address to which answers could go, and no backlog, because no modem reports it.

mod numbers;
mod rhythm;
mod streams;

use gamelane_core::headers::UDP_HEADER;
use gamelane_core::{ByteCount, Direction, Instant, PacketMeta, Protocol};
use gamelane_device::Headers;
use gamelane_qdisc::classify::Behaviour;
use gamelane_stage::following::{FollowerConfig, Following};

use crate::truth::Truth;
use streams::Streams;

/// The shapers, and the state of even streams. The state of TCP is in [`Truth`].
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) shapers: Following,
    streams: Streams,
}

impl Listening {
    /// Returns `None` if no shaper follows its link.
    pub(crate) fn new(configs: [Option<FollowerConfig>; 2], now: Instant) -> Option<Self> {
        Some(Self { shapers: Following::new(configs, now)?, streams: Streams::default() })
    }

    /// Takes over the state of `before`.
    pub(crate) fn succeed(&mut self, before: Self) {
        self.shapers.succeed(before.shapers);
        self.streams = before.streams;
    }

    /// Notes a packet that left the queue of `direction`; `bytes` includes the link's framing.
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

    /// Notes a packet from the internet before it is queued.
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
            // The echo is valid only with the ACK flag (RFC 7323 section 3.2).
            Some(tcp) if tcp.flags.ack => tcp
                .timestamps
                .and_then(|(_, echoed)| conversation.echo.came(echoed, self.shapers.memory(), now)),
            None if ip.key.protocol == Protocol::Udp && conversation.behaviour == Behaviour::RealTime => {
                // Of a long packet only the start may be here.
                frame
                    .get(ip.transport_at + UDP_HEADER as usize..ip.end.min(frame.len()))
                    .and_then(|payload| self.streams.came(&conversation.key, payload, now))
            }
            _ => None,
        };
        if let Some(signal) = signal {
            self.shapers.tell(signal, now);
        }
    }
}
