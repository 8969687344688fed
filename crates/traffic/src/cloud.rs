//! Cloud gaming as in OnLive (palazzi-voap Table I; Claypool et al., NetGames 2012). The server sends video frame by
//! frame, each as a burst of packets. The client sends its input at a constant rate. Only rates and packet sizes are
//! measured. Log-normal frame sizes and larger key frames are our construction. Left out: adaptation to the network,
//! forward error correction, sound. So the rate is constant, even under loss.

use gamelane_core::dist::Dist;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{Bitrate, Duration, Instant, Stream};

use crate::app::{AppAction, AppEvent, TrafficSource, Transport};
use crate::cbr::Fixed;
use crate::config::{CloudConfig, Schedule};
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::paced::Paced;
use crate::streams::Streams;

/// Cloud game in the catalogue.
pub const CLOUD: AppDescriptor = AppDescriptor {
    word: "cloud",
    label: "cloud game",
    about: "A cloud game: video from a server, over UDP.",
    keys: &["model", "rate", "fps"],
    page: "traffic",
    facts: AppFacts { group: Group::Game, transport: Transport::Udp, server_port: 50_000 },
};

pub(crate) fn build(config: CloudConfig, schedule: Schedule, streams: Streams<'_>) -> (Paced<Fixed>, Video) {
    let input =
        Fixed { interval: interval(config.input_rate, config.input_payload), payload: config.input_payload };
    (
        Paced::new(input, schedule, streams.of("client/phase")),
        Video::new(config, schedule, streams.of("server/frame"), streams.of("server/phase")),
    )
}

impl CloudConfig {
    /// Mean size of a frame in bytes of UDP payload, so that the IP packets have the configured rate.
    pub fn mean_frame_bytes(&self) -> f64 {
        let per_frame = self.rate.bps() as f64 / 8.0 / f64::from(self.frames_per_second);
        // Every full packet adds its headers. The last packet of a frame is half full on average.
        let full = f64::from(self.payload);
        let packets = (per_frame - HEADERS / 2.0) / (full + HEADERS);
        (per_frame - HEADERS * (packets + 0.5)).max(1.0)
    }

    /// Mean size of an ordinary frame relative to the mean of all frames. Key frames are larger, so ordinary ones are
    /// smaller.
    fn ordinary_share(&self) -> f64 {
        match self.key_frame_every {
            Some(every) => {
                let frames = f64::from(every.max(1));
                frames / (frames - 1.0 + self.key_frame_size)
            }
            None => 1.0,
        }
    }
}

/// The server side.
#[derive(Clone, Debug)]
pub struct Video {
    config: CloudConfig,
    /// Size of an ordinary frame in bytes.
    size: Dist,
    rng: Stream,
    first: Instant,
    stop: Instant,
    /// Number of frames that are due.
    frame: u64,
    /// Bytes of these frames that are not sent yet; each frame ends with its own packet.
    owed: [u32; CATCH_UP],
    waiting: usize,
}

impl Video {
    fn new(config: CloudConfig, schedule: Schedule, rng: Stream, mut phase: Stream) -> Self {
        let (start, stop) = schedule.bounds();
        let mean = config.mean_frame_bytes() * config.ordinary_share();
        // Mean m and coefficient of variation c give sigma² = ln(1 + c²) and mu = ln m - sigma² / 2.
        let variance = libm::log(1.0 + config.variation * config.variation);
        let size = Dist::LogNormal { mu: libm::log(mean) - variance / 2.0, sigma: libm::sqrt(variance) };
        let span = 1.0 / f64::from(config.frames_per_second);
        let first = start.saturating_add(Duration::from_secs_f64(span * phase.unit()));
        Self { config, size, rng, first, stop, frame: 0, owed: [0; CATCH_UP], waiting: 0 }
    }

    /// Time of a frame, on a grid without accumulated rounding errors.
    fn time_of(&self, frame: u64) -> Instant {
        let nanos = u128::from(frame) * 1_000_000_000 / u128::from(self.config.frames_per_second);
        self.first.saturating_add(Duration::from_nanos(nanos as u64))
    }

    fn next_frame_bytes(&mut self) -> u32 {
        let bytes = self.size.sample(&mut self.rng);
        let is_key = self
            .config
            .key_frame_every
            .is_some_and(|every| self.frame.is_multiple_of(u64::from(every.max(1))));
        let bytes = if is_key { bytes * self.config.key_frame_size } else { bytes };
        (bytes + 0.5).clamp(1.0, LARGEST_FRAME) as u32
    }
}

impl TrafficSource for Video {
    fn handle_event(&mut self, _: &AppEvent, _: Instant) {}

    fn poll_action(&mut self, _: Instant) -> Option<AppAction> {
        let frame = self.owed[..self.waiting].first_mut()?;
        let payload = (*frame).min(self.config.payload);
        *frame -= payload;
        if *frame == 0 {
            self.owed.copy_within(1..self.waiting, 0);
            self.waiting -= 1;
        }
        Some(AppAction::SendDatagram { payload })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.time_of(self.frame)).filter(|at| *at < self.stop)
    }

    /// Sends the frames that are due, at most `CATCH_UP`. Older frames are skipped, as by a server that is too slow.
    fn handle_timeout(&mut self, now: Instant) {
        while self.poll_timeout().is_some_and(|at| at <= now) {
            if self.waiting == CATCH_UP {
                let late = now.saturating_since(self.first).as_nanos();
                let rate = u128::from(self.config.frames_per_second);
                self.frame = self.frame.max((u128::from(late) * rate / 1_000_000_000) as u64 + 1);
                return;
            }
            self.owed[self.waiting] = self.next_frame_bytes();
            self.waiting += 1;
            self.frame += 1;
        }
    }
}

fn interval(rate: Bitrate, payload: u32) -> Duration {
    Duration::from_secs_f64((f64::from(payload) + HEADERS) * 8.0 / rate.bps() as f64)
}

/// Maximum number of frames that a late call sends.
const CATCH_UP: usize = 4;
/// Bytes of the IPv4 and UDP headers.
const HEADERS: f64 = (IPV4_HEADER + UDP_HEADER) as f64;
/// Maximum size of a frame in bytes: 200 full packets.
const LARGEST_FRAME: f64 = 200.0 * 1472.0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn rome() -> CloudConfig {
        CloudConfig {
            rate: Bitrate::from_bps(3_817_000),
            frames_per_second: 30,
            payload: 1000,
            variation: 0.3,
            key_frame_every: Some(60),
            key_frame_size: 3.0,
            input_rate: Bitrate::from_bps(100_000),
            input_payload: 122,
        }
    }

    fn packets(source: &mut impl TrafficSource, until: Instant) -> Vec<(Instant, u32)> {
        let mut sent = Vec::new();
        while let Some(now) = source.poll_timeout().filter(|at| *at < until) {
            source.handle_timeout(now);
            while let Some(AppAction::SendDatagram { payload }) = source.poll_action(now) {
                sent.push((now, payload));
            }
        }
        sent
    }

    fn sides(config: CloudConfig) -> (Paced<Fixed>, Video) {
        let schedule = Schedule { start: Duration::ZERO, stop: None };
        build(config, schedule, Streams::for_test(1, "cloud"))
    }

    fn bits(packets: &[(Instant, u32)]) -> f64 {
        packets.iter().map(|packet| f64::from(packet.1 + 28) * 8.0).sum()
    }

    #[test]
    fn every_rate_of_table_one_is_met_and_varies_by_frame() {
        let until = Instant::from_secs(120);
        for kbit in [4200, 2000, 3817, 2500, 1270] {
            let rate = Bitrate::from_bps(kbit * 1000);
            let sent = packets(&mut sides(CloudConfig { rate, ..rome() }).1, until);
            let measured = bits(&sent) / 120.0;
            assert!((measured / rate.bps() as f64 - 1.0).abs() < 0.02, "{kbit} kbit/s: {measured}");
            // Frames are bursts at one instant with varying sizes, not a constant rate.
            let mut frames = Vec::<(Instant, u32)>::new();
            for (at, payload) in &sent {
                match frames.last_mut() {
                    Some((last, bytes)) if last == at => *bytes += payload,
                    _ => frames.push((*at, *payload)),
                }
            }
            assert_eq!(frames.len(), 120 * 30);
            let ordinary: Vec<f64> =
                (0u32..).zip(&frames).filter(|(n, _)| n % 60 != 0).map(|(_, f)| f64::from(f.1)).collect();
            let mean = ordinary.iter().sum::<f64>() / ordinary.len() as f64;
            let variance =
                ordinary.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / ordinary.len() as f64;
            let variation = libm::sqrt(variance) / mean;
            assert!((variation - 0.3).abs() < 0.02, "{variation}");
            let keys: Vec<f64> =
                (0u32..).zip(&frames).filter(|(n, _)| n % 60 == 0).map(|(_, f)| f64::from(f.1)).collect();
            let key_mean = keys.iter().sum::<f64>() / keys.len() as f64;
            assert!((key_mean / mean - 3.0).abs() < 0.4, "{}", key_mean / mean);
        }
    }

    #[test]
    fn a_frame_is_full_packets_and_a_rest() {
        let sent = packets(&mut sides(rome()).1, Instant::from_secs(10));
        for pair in sent.windows(2) {
            let last_of_frame = pair[0].0 != pair[1].0;
            assert!(last_of_frame || pair[0].1 == 1000, "{pair:?}");
        }
        let sizes = sent.iter().map(|packet| f64::from(packet.1)).sum::<f64>() / sent.len() as f64;
        assert!(sizes > 900.0, "{sizes}");
    }

    #[test]
    fn the_input_is_100_kbit_of_ip_for_rome() {
        let sent = packets(&mut sides(rome()).0, Instant::from_secs(60));
        assert!((bits(&sent) / 60.0 / 100_000.0 - 1.0).abs() < 0.001);
        // Packets of 150 B: 83 per second (Claypool et al., NetGames 2012).
        assert_eq!(sent.len() / 60, 83);
    }

    #[test]
    fn frames_stand_on_their_grid_and_a_late_server_skips() {
        let (_, mut server) = sides(CloudConfig { frames_per_second: 60, ..rome() });
        let first = server.poll_timeout().unwrap();
        let late = first + Duration::from_millis(1500);
        server.handle_timeout(late);
        let mut sent = 0;
        while server.poll_action(late).is_some() {
            sent += 1;
        }
        assert!((4..=120).contains(&sent), "{sent}");
        // 90 intervals later the 91st frame was due and is skipped. The next frame is on the grid.
        let next = server.poll_timeout().unwrap();
        assert_eq!((next - first).as_nanos(), 91 * 1_000_000_000 / 60);
    }
}
