//! The rate that an application asks for, whatever the network gives.

use gamelane_core::Direction;
use gamelane_core::dist::Dist;
use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS, UDP_HEADER};

use crate::config::{
    AppConfig, ClientStream, CommandSize, GameConfig, MmoModel, MmoStreams, TracePacket, WebBurst, WriteModel,
};
use crate::voip::PACKET_TIME;

impl AppConfig {
    /// Mean rate of the IP packets that the application asks for in a direction, in bit/s, without acknowledgements and
    /// retransmissions. Video counts with its highest version. A transfer without end, or for a time, takes what it
    /// gets and asks for nothing.
    pub fn offered_bps(&self, direction: Direction) -> f64 {
        let is_down = direction == Direction::Down;
        match self {
            Self::Game(game) if is_down => game.updates_bps(),
            Self::Game(game) => game.commands_bps(),
            Self::Hosted(hosted) => {
                let one = if is_down { hosted.game.commands_bps() } else { hosted.game.updates_bps() };
                one * f64::from(hosted.peers)
            }
            Self::Cloud(cloud) => (if is_down { cloud.rate } else { cloud.input_rate }).bps() as f64,
            Self::Trace(trace) => recorded_bps(if is_down { &trace.down } else { &trace.up }),
            Self::Cbr(udp) if udp.direction == direction => udp.rate.bps() as f64,
            Self::Voip(call) => {
                udp_bits(f64::from(call.codec.frame_bytes()) + RTP_HEADER) / PACKET_TIME.as_secs_f64()
            }
            Self::Web(web) if web.direction == direction => match web.burst {
                WebBurst::Sized(size) => in_segments(size.mean() * 8.0) / web.period.as_secs_f64(),
                WebBurst::Lasting(_) => 0.0,
            },
            Self::Dash(video) if is_down => {
                video.rates.last().map_or(0.0, |rate| in_segments(rate.bps() as f64))
            }
            Self::Mmo(mmo) if mmo.direction.is_none_or(|only| only == direction) => match &mmo.streams {
                MmoStreams::Model(model) => model.offered_bps(direction),
                MmoStreams::Trace(_) => 0.0,
            },
            Self::Bulk(_) | Self::Probe | Self::Cbr(_) | Self::Web(_) | Self::Dash(_) | Self::Mmo(_) => 0.0,
        }
    }
}

impl GameConfig {
    fn updates_bps(&self) -> f64 {
        let payload = self.server.size.mean_payload(self.players).unwrap_or_default();
        udp_bits(payload) / self.server.tick.mean()
    }

    fn commands_bps(&self) -> f64 {
        udp_bits(self.client.mean_payload()) / self.client.mean_interval_s()
    }
}

impl ClientStream {
    /// Mean UDP payload of a command in bytes.
    pub fn mean_payload(&self) -> f64 {
        match &self.size {
            CommandSize::Mixture(parts) => mean_of(parts),
            CommandSize::Series(series) => series.mean(),
        }
    }

    /// Mean time between commands in seconds.
    pub fn mean_interval_s(&self) -> f64 {
        mean_of(&self.interval)
    }
}

impl MmoModel {
    /// Rate of the IP packets of one player in a direction, in bit/s, one packet for each write.
    pub fn offered_bps(&self, direction: Direction) -> f64 {
        let writes = self.writes(direction);
        writes.mean_rate() * (writes.size.mean() + TCP_HEADERS) * 8.0
    }

    /// Rate of the payload of one player in a direction, in bit/s.
    pub fn payload_bps(&self, direction: Direction) -> f64 {
        let writes = self.writes(direction);
        writes.mean_rate() * writes.size.mean() * 8.0
    }

    fn writes(&self, direction: Direction) -> &WriteModel {
        if direction == Direction::Up { &self.client } else { &self.server }
    }
}

impl WriteModel {
    fn mean_rate(&self) -> f64 {
        self.rate_per_s.mean().min(self.most_per_s)
    }
}

fn mean_of(parts: &[(f64, Dist)]) -> f64 {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    parts.iter().map(|(weight, dist)| weight * dist.mean()).sum::<f64>() / total
}

fn recorded_bps(packets: &[TracePacket]) -> f64 {
    let bits: f64 = packets.iter().map(|packet| udp_bits(f64::from(packet.payload))).sum();
    match (packets.first(), packets.last()) {
        (Some(first), Some(last)) if last.at > first.at => bits / (last.at - first.at).as_secs_f64(),
        _ => 0.0,
    }
}

fn udp_bits(payload_bytes: f64) -> f64 {
    (payload_bytes + f64::from(IPV4_HEADER + UDP_HEADER)) * 8.0
}

/// Bits of IP packets that carry this payload in full segments.
fn in_segments(payload_bits: f64) -> f64 {
    payload_bits * (SEGMENT + TCP_HEADERS) / SEGMENT
}

/// Bytes of the IPv4 and TCP headers with timestamps.
const TCP_HEADERS: f64 = (IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS) as f64;
/// Payload of a full segment with timestamps on Ethernet.
const SEGMENT: f64 = 1448.0;
const RTP_HEADER: f64 = 12.0;
