//! A voice call: both sides send one RTP packet per 20 ms of speech (codecs of RFC 3551 section 4.5, RTP header of RFC
//! 3550 section 5.1). Silence suppression and RTCP are left out.

use gamelane_core::Duration;

use crate::app::Transport;
use crate::cbr::Fixed;
use crate::config::{Codec, Schedule, VoipConfig};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::paced::Paced;
use crate::streams::Streams;

/// Voice call in the catalogue.
pub const VOIP: AppDescriptor = AppDescriptor {
    word: "voip",
    label: "voice call",
    about: "A voice call, in both directions.",
    keys: &["codec"],
    page: "traffic",
    facts: AppFacts { group: Group::Call, transport: Transport::Udp, server_port: 5004 },
};

impl Codec {
    /// Bytes of speech in one packet.
    pub const fn frame_bytes(self) -> u32 {
        match self {
            Self::G711 => 160,
            Self::G729 => 20,
        }
    }
}

pub(crate) fn build(
    config: VoipConfig,
    schedule: Schedule,
    streams: Streams<'_>,
) -> (Paced<Fixed>, Paced<Fixed>) {
    let speech = Fixed { interval: PACKET_TIME, payload: RTP_HEADER + config.codec.frame_bytes() };
    let side = |phase| Paced::new(speech, schedule, streams.of(phase));
    (side("client/phase"), side("server/phase"))
}

/// Time between two packets.
pub const PACKET_TIME: Duration = Duration::from_millis(20);
const RTP_HEADER: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppAction, TrafficSource};

    #[test]
    fn a_g711_call_takes_80_kbit_of_ip_each_way_and_g729_24() {
        for (codec, kbit) in [(Codec::G711, 80), (Codec::G729, 24)] {
            let schedule = Schedule { start: Duration::ZERO, stop: Some(Duration::from_secs(10)) };
            let (client, server) = build(VoipConfig { codec }, schedule, Streams::for_test(1, "call"));
            for mut side in [client, server] {
                let mut bits = 0;
                while let Some(now) = side.poll_timeout() {
                    side.handle_timeout(now);
                    while let Some(AppAction::SendDatagram { payload }) = side.poll_action(now) {
                        bits += (payload + 28) * 8;
                    }
                }
                assert_eq!(bits, kbit * 10_000);
            }
        }
    }
}
