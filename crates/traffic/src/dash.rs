//! Video in chunks over one TCP connection (DASH), requested one at a time. The client asks either by the clock, as in
//! collom2016 section III.B, or when its buffer needs more, with a rate chosen from the throughput of the last chunk.
//! It models the load of a link and playback stalls. Playback starts with the first chunk. Manifests, audio and parallel
//! connections are left out.
//!
//! A request has [`REQUEST_LEN`] bytes plus the index of its rate, so the server learns the rate from the number of
//! bytes. Requests never overlap. TCP may deliver a request in several pieces. This stays unambiguous if the first
//! piece has at least as many bytes as there are rates. If the end of a request arrives late, the server sends the
//! missing part of the larger chunk; it answers no byte twice.

use alloc::vec::Vec;
use gamelane_core::{Bitrate, ByteCount, Duration, Instant};

use crate::app::{AppAction, AppEvent, AppReport, TrafficSource, Transport};
use crate::config::{DashConfig, DashRequests, Schedule};
use crate::facts::{AppDescriptor, AppFacts, Group};

/// Video in the catalogue.
pub const DASH: AppDescriptor = AppDescriptor {
    word: "dash",
    label: "video",
    about: "Video in chunks over TCP.",
    keys: &["chunk", "rates", "requests", "gap", "period", "buffer", "tcp"],
    page: "traffic",
    facts: AppFacts { group: Group::Video, transport: Transport::Tcp, server_port: 443 },
};

/// Length in bytes of a request for the lowest rate.
pub const REQUEST_LEN: u64 = 300;

pub(crate) fn build(config: &DashConfig, schedule: Schedule) -> (DashClient, DashServer) {
    assert!(!config.rates.is_empty(), "a video needs at least one rate");
    let chunk = |rate: &Bitrate| rate.bytes_in(config.chunk).max(ByteCount(1));
    let chunks: Vec<ByteCount> = config.rates.iter().map(chunk).collect();
    let server = DashServer { chunks: chunks.clone(), asked: 0, owed: ByteCount::ZERO, closing: false };
    (DashClient::new(config, chunks, schedule), server)
}

/// The video player.
#[derive(Clone, Debug)]
pub struct DashClient {
    /// Size of a chunk at each rate.
    chunks: Vec<ByteCount>,
    rates: Vec<Bitrate>,
    policy: Policy,
    playback: Playback,
    state: ClientState,
    stop: Instant,
    /// Number of chunks that have arrived.
    arrived: u32,
    /// Reports to be polled: a chunk, then the stall that it ended.
    reports: [Option<AppReport>; 2],
}

#[derive(Clone, Copy, Debug)]
enum ClientState {
    /// Waiting for the start.
    Starting(Instant),
    /// A connect action is due.
    Connect,
    /// Waiting for the handshake.
    Connecting,
    /// Waiting for the time of the next request.
    Idle { request_at: Instant, rate: usize },
    /// A request is due.
    Request { rate: usize },
    /// A chunk is being received.
    Loading { rate: usize, requested_at: Instant, missing: ByteCount },
    /// A close action is due.
    Closing,
    /// Closed for good.
    Closed,
}

impl DashClient {
    fn new(config: &DashConfig, chunks: Vec<ByteCount>, schedule: Schedule) -> Self {
        let (start, stop) = schedule.bounds();
        let policy = match config.requests {
            DashRequests::Cycle { gap, period } => Policy::Cycle { round_at: start, next: 0, gap, period },
            DashRequests::Adaptive { buffer } => Policy::Adaptive { buffer },
        };
        Self {
            chunks,
            rates: config.rates.clone(),
            policy,
            playback: Playback { chunk: config.chunk, runs_dry_at: start },
            state: if start < stop { ClientState::Starting(start) } else { ClientState::Closed },
            stop,
            arrived: 0,
            reports: [None; 2],
        }
    }

    /// Plays the chunk that is now complete and plans the next request.
    fn chunk_arrived(&mut self, rate: usize, requested_at: Instant, now: Instant) {
        let (bytes, took) = (self.chunks[rate], now.saturating_since(requested_at));
        self.reports[0] = Some(AppReport::Chunk { index: self.arrived, bytes, took });
        self.reports[1] = self.playback.append(now).map(|lasted| AppReport::Stall { lasted });
        self.arrived = self.arrived.saturating_add(1);
        self.plan_request(highest_within(&self.rates, bytes, took), now);
    }

    /// Plans the next request; `affordable` is the rate that the measured throughput allows.
    fn plan_request(&mut self, affordable: usize, now: Instant) {
        self.state = match &mut self.policy {
            Policy::Cycle { round_at, next, gap, period } => {
                let rate = *next;
                let request_at = round_at.saturating_add(gap.saturating_mul(rate as u64));
                *next = (rate + 1) % self.chunks.len();
                if *next == 0 {
                    *round_at = round_at.saturating_add(*period);
                }
                ClientState::Idle { request_at, rate }
            }
            Policy::Adaptive { buffer } => {
                ClientState::Idle { request_at: self.playback.falls_to(*buffer), rate: affordable }
            }
        };
        self.request_if_due(now);
    }

    fn request_if_due(&mut self, now: Instant) {
        match self.state {
            ClientState::Idle { request_at, rate } if request_at <= now && now < self.stop => {
                self.state = ClientState::Request { rate };
            }
            _ => {}
        }
    }
}

impl TrafficSource for DashClient {
    fn handle_event(&mut self, event: &AppEvent, now: Instant) {
        match (event, self.state) {
            (AppEvent::Connected, ClientState::Connecting) => self.plan_request(0, now),
            (AppEvent::Delivered { bytes }, ClientState::Loading { rate, requested_at, missing }) => {
                let missing = missing.saturating_sub(*bytes);
                self.state = ClientState::Loading { rate, requested_at, missing };
                if missing == ByteCount::ZERO {
                    self.chunk_arrived(rate, requested_at, now);
                }
            }
            (AppEvent::PeerClosed, ClientState::Closed) => {}
            (AppEvent::PeerClosed, _) => self.state = ClientState::Closing,
            _ => {}
        }
    }

    fn poll_action(&mut self, now: Instant) -> Option<AppAction> {
        if let Some(report) = self.reports.iter_mut().find_map(Option::take) {
            return Some(AppAction::Report(report));
        }
        let (action, next) = match self.state {
            ClientState::Connect => (AppAction::Connect, ClientState::Connecting),
            ClientState::Request { rate } => (
                AppAction::Write { bytes: ByteCount(REQUEST_LEN + rate as u64) },
                ClientState::Loading { rate, requested_at: now, missing: self.chunks[rate] },
            ),
            ClientState::Closing => (AppAction::Close, ClientState::Closed),
            _ => return None,
        };
        self.state = next;
        Some(action)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let stop = (self.stop < Instant::MAX).then_some(self.stop);
        match self.state {
            ClientState::Starting(at) => Some(at),
            ClientState::Idle { request_at, .. } if request_at < self.stop => Some(request_at),
            ClientState::Idle { .. } | ClientState::Connecting | ClientState::Loading { .. } => stop,
            _ => None,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            ClientState::Closing | ClientState::Closed => {}
            // The connection was never opened.
            ClientState::Starting(_) if now >= self.stop => self.state = ClientState::Closed,
            _ if now >= self.stop => {
                self.reports[1] = self.reports[1].or_else(|| self.unfinished(self.stop));
                self.state = ClientState::Closing;
            }
            ClientState::Starting(at) if at <= now => self.state = ClientState::Connect,
            _ => self.request_if_due(now),
        }
    }

    fn unfinished(&self, now: Instant) -> Option<AppReport> {
        match self.state {
            ClientState::Closing | ClientState::Closed => None,
            _ => self.playback.stall_until(now).map(|lasted| AppReport::Stall { lasted }),
        }
    }
}

/// The video server. It answers requests in order.
#[derive(Clone, Debug)]
pub struct DashServer {
    chunks: Vec<ByteCount>,
    /// Bytes of the current request that have arrived.
    asked: u64,
    /// Bytes to be written.
    owed: ByteCount,
    closing: bool,
}

impl DashServer {
    /// Rate of the current request, from the bytes that have arrived; `None` while it is incomplete.
    fn rate(&self) -> Option<usize> {
        let extra = usize::try_from(self.asked.checked_sub(REQUEST_LEN)?).unwrap_or(usize::MAX);
        Some(extra.min(self.chunks.len() - 1))
    }
}

impl TrafficSource for DashServer {
    fn handle_event(&mut self, event: &AppEvent, _: Instant) {
        match event {
            AppEvent::Connected => (self.asked, self.owed, self.closing) = (0, ByteCount::ZERO, false),
            AppEvent::Delivered { bytes } => {
                let before = self.rate();
                let tail_fits = |rate: usize| rate as u64 + bytes.bytes() < self.chunks.len() as u64;
                match before {
                    // The request is complete, and these bytes are too many to belong to it. So they start the next
                    // request.
                    Some(rate) if !tail_fits(rate) => {
                        self.asked = bytes.bytes();
                        self.owed += self.rate().map_or(ByteCount::ZERO, |rate| self.chunks[rate]);
                    }
                    _ => {
                        self.asked += bytes.bytes();
                        let answered = before.map_or(ByteCount::ZERO, |rate| self.chunks[rate]);
                        let asked = self.rate().map_or(ByteCount::ZERO, |rate| self.chunks[rate]);
                        self.owed += asked.saturating_sub(answered);
                    }
                }
            }
            AppEvent::PeerClosed => self.closing = true,
            AppEvent::Datagram { .. } => {}
        }
    }

    fn poll_action(&mut self, _: Instant) -> Option<AppAction> {
        let bytes = core::mem::take(&mut self.owed);
        if bytes > ByteCount::ZERO {
            return Some(AppAction::Write { bytes });
        }
        core::mem::take(&mut self.closing).then_some(AppAction::Close)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _: Instant) {}
}

/// Rule for the time and the rate of the next request.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// Rate `next` is due at `gap * next` in the round that began at `round_at`.
    Cycle { round_at: Instant, next: usize, gap: Duration, period: Duration },
    /// A request is due when less than `buffer` is left to play.
    Adaptive { buffer: Duration },
}

/// Playback state. Each chunk adds its playing time. The wait for the first chunk is a stall too, as in ITU-T P.1203.
#[derive(Clone, Copy, Debug)]
struct Playback {
    chunk: Duration,
    /// Time when all chunks so far will have been played; the start before the first chunk.
    runs_dry_at: Instant,
}

impl Playback {
    /// Adds a chunk. Returns how long playback stalled before it.
    fn append(&mut self, now: Instant) -> Option<Duration> {
        let stall = self.stall_until(now);
        self.runs_dry_at = self.runs_dry_at.max(now).saturating_add(self.chunk);
        stall
    }

    /// Returns how long playback has been stalled at `now`.
    fn stall_until(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_since(self.runs_dry_at)).filter(|stall| !stall.is_zero())
    }

    /// Time when only `level` is left to play.
    fn falls_to(&self, level: Duration) -> Instant {
        Instant::ZERO + self.runs_dry_at.saturating_since(Instant::ZERO.saturating_add(level))
    }
}

/// The highest rate not above the throughput of a chunk, or else the lowest rate.
fn highest_within(rates: &[Bitrate], bytes: ByteCount, took: Duration) -> usize {
    let nanos = u128::from(took.as_nanos().max(1));
    let throughput_bps = u128::from(bytes.bytes()) * 8_000_000_000 / nanos;
    rates.iter().rposition(|rate| u128::from(rate.bps()) <= throughput_bps).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    fn config(requests: DashRequests) -> DashConfig {
        let rates = [500_000, 1_000_000, 5_000_000].map(Bitrate::from_bps).to_vec();
        DashConfig { chunk: Duration::from_secs(5), rates, requests }
    }

    /// Collom2016 section III.B: 500, 1000 and 5000 kbit/s, 2 s apart, every 10 s.
    const CYCLE: DashRequests =
        DashRequests::Cycle { gap: Duration::from_secs(2), period: Duration::from_secs(10) };

    /// Client and server over a pipe of `rate` without delay, which delivers data in pieces of `piece` bytes.
    struct Rig {
        client: DashClient,
        server: DashServer,
        rate: Bitrate,
        piece: u64,
        /// Arrival time and size of the chunk in the pipe.
        under_way: Option<(Instant, ByteCount)>,
        /// Time and size of each request.
        requests: Vec<(Instant, u64)>,
        /// Size of each answer.
        answered: Vec<u64>,
        reports: Vec<AppReport>,
        closed: bool,
    }

    impl Rig {
        fn new(requests: DashRequests, rate_bps: u64, stop_s: u64) -> Self {
            let schedule = Schedule { start: Duration::ZERO, stop: Some(Duration::from_secs(stop_s)) };
            let (client, server) = build(&config(requests), schedule);
            Self {
                client,
                server,
                rate: Bitrate::from_bps(rate_bps),
                piece: 1448,
                under_way: None,
                requests: vec![],
                answered: vec![],
                reports: vec![],
                closed: false,
            }
        }

        fn run(mut self) -> Self {
            let transfer = |at: Option<(Instant, ByteCount)>| at.map(|(at, _)| at);
            while let Some(now) =
                gamelane_core::time::earliest(self.client.poll_timeout(), transfer(self.under_way))
            {
                self.client.handle_timeout(now);
                self.drain(now);
                if let Some((_, bytes)) = self.under_way.take_if(|(at, _)| *at == now) {
                    deliver(&mut self.client, bytes, self.piece, now);
                }
                self.drain(now);
            }
            self
        }

        fn drain(&mut self, now: Instant) {
            while let Some(action) = self.client.poll_action(now) {
                match action {
                    AppAction::Connect => {
                        self.server.handle_event(&AppEvent::Connected, now);
                        self.client.handle_event(&AppEvent::Connected, now);
                    }
                    AppAction::Write { bytes } => {
                        self.requests.push((now, bytes.bytes()));
                        deliver(&mut self.server, bytes, self.piece, now);
                    }
                    AppAction::Report(report) => self.reports.push(report),
                    AppAction::Close => self.server.handle_event(&AppEvent::PeerClosed, now),
                    other => panic!("{other:?} from a player"),
                }
            }
            let mut answer = ByteCount::ZERO;
            while let Some(action) = self.server.poll_action(now) {
                match action {
                    AppAction::Write { bytes } => answer += bytes,
                    AppAction::Close => self.closed = true,
                    other => panic!("{other:?} from a video server"),
                }
            }
            if answer > ByteCount::ZERO {
                self.answered.push(answer.bytes());
                let nanos = answer.bytes() * 8_000_000_000 / self.rate.bps();
                self.under_way = Some((now + Duration::from_nanos(nanos), answer));
            }
        }

        fn stalled(&self) -> Duration {
            self.reports.iter().fold(Duration::ZERO, |sum, report| match report {
                AppReport::Stall { lasted } => sum + *lasted,
                AppReport::Chunk { .. } | AppReport::Transfer { .. } => sum,
            })
        }
    }

    fn deliver(to: &mut impl TrafficSource, bytes: ByteCount, piece: u64, now: Instant) {
        let mut left = bytes.bytes();
        while left > 0 {
            let bytes = ByteCount(left.min(piece));
            to.handle_event(&AppEvent::Delivered { bytes }, now);
            left -= bytes.bytes();
        }
    }

    #[test]
    fn a_cycle_asks_for_each_rate_two_seconds_apart_every_ten() {
        let rig = Rig::new(CYCLE, 12_000_000, 20).run();
        let times: Vec<u64> = rig.requests.iter().map(|(at, _)| at.as_nanos() / 1_000_000_000).collect();
        assert_eq!(times, [0, 2, 4, 10, 12, 14]);
        let sizes: Vec<u64> = rig.requests.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(sizes, [300, 301, 302, 300, 301, 302]);
        // 5 s at 500, 1000 and 5000 kbit/s.
        assert_eq!(rig.answered[..3], [312_500, 625_000, 3_125_000]);
        assert!(rig.closed);
        // The first chunk has 312,500 B, the third 3,125,000 B, at 12 Mbit/s.
        assert_eq!(rig.reports[1], AppReport::Stall { lasted: Duration::from_nanos(208_333_333) });
        assert_eq!(rig.stalled(), Duration::from_nanos(208_333_333));
        let took = Duration::from_nanos(2_083_333_333);
        assert_eq!(rig.reports[3], AppReport::Chunk { index: 2, bytes: ByteCount(3_125_000), took });
    }

    #[test]
    fn a_request_waits_for_the_chunk_before_it_and_the_clock_stays() {
        // At 4 Mbit/s the third chunk takes 6.25 s: from 4 s to 10.25 s, after the start of the next round.
        let rig = Rig::new(CYCLE, 4_000_000, 20).run();
        let times: Vec<u64> = rig.requests.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [0, 2000, 4000, 10_250, 12_000, 14_000]);
    }

    #[test]
    fn playback_stands_still_while_nothing_has_arrived() {
        // At 400 kbit/s each chunk of the lowest rate takes 6.25 s and plays for 5 s.
        let rig = Rig::new(DashRequests::Adaptive { buffer: Duration::from_secs(10) }, 400_000, 30).run();
        assert_eq!(rig.answered, [312_500; 5]);
        // Chunks arrive at 6.25, 12.5, 18.75 and 25 s: a wait of 6.25 s, then three stalls of 1.25 s. The last chunk
        // plays until the stop.
        let stall = AppReport::Stall { lasted: Duration::from_millis(1250) };
        assert_eq!(rig.reports.iter().filter(|report| **report == stall).count(), 3);
        assert_eq!(rig.stalled(), Duration::from_millis(6250 + 3750));
    }

    #[test]
    fn a_stall_that_lasts_is_reported_at_the_stop() {
        let rig = Rig::new(DashRequests::Adaptive { buffer: Duration::from_secs(10) }, 400_000, 12).run();
        // The first chunk plays from 6.25 s to 11.25 s.
        assert_eq!(rig.reports.last(), Some(&AppReport::Stall { lasted: Duration::from_millis(750) }));
    }

    #[test]
    fn a_video_that_gets_no_chunk_stands_still_from_its_start() {
        let buffer = Duration::from_secs(10);
        // The first chunk would need 25 s.
        let rig = Rig::new(DashRequests::Adaptive { buffer }, 100_000, 20).run();
        assert_eq!(rig.reports, [AppReport::Stall { lasted: Duration::from_secs(20) }]);
        // A run that ends before the video's stop has the stall so far.
        let (client, _) = build(&config(CYCLE), Schedule { start: Duration::from_secs(3), stop: None });
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert_eq!(client.unfinished(at(2)), None);
        assert_eq!(client.unfinished(at(10)), Some(AppReport::Stall { lasted: Duration::from_secs(7) }));
    }

    #[test]
    fn an_adaptive_player_follows_the_throughput_and_keeps_its_buffer() {
        let buffer = Duration::from_secs(10);
        let rig = Rig::new(DashRequests::Adaptive { buffer }, 2_000_000, 60).run();
        // The lowest rate first, then 1 Mbit/s: the highest rate not above 2 Mbit/s.
        assert_eq!(rig.requests[0].1, 300);
        assert!(rig.requests[1..].iter().all(|(_, bytes)| *bytes == 301));
        // The first chunk has 312,500 B.
        assert_eq!(rig.stalled(), Duration::from_millis(1250));
        // When the buffer is full, one chunk is requested per playing time of a chunk.
        let gaps: Vec<Duration> = rig.requests.windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert!(gaps[4..].iter().all(|gap| *gap == Duration::from_secs(5)), "{gaps:?}");
    }

    proptest! {
        #[test]
        fn every_byte_asked_for_is_answered_once_however_tcp_cuts(
            rate_bps in 300_000..50_000_000u64,
            piece in 3..2000u64,
            buffer_s in 1..40u64,
        ) {
            for requests in [CYCLE, DashRequests::Adaptive { buffer: Duration::from_secs(buffer_s) }] {
                let mut rig = Rig::new(requests, rate_bps, 120);
                rig.piece = piece;
                let rig = rig.run();
                let sizes = [312_500, 625_000, 3_125_000];
                let asked: Vec<u64> = rig.requests.iter().map(|(_, n)| sizes[(n - REQUEST_LEN) as usize]).collect();
                prop_assert_eq!(&asked, &rig.answered);
                let chunks = rig.reports.iter().filter(|r| matches!(r, AppReport::Chunk { .. })).count();
                prop_assert!(chunks == asked.len() || chunks + 1 == asked.len());
                prop_assert!(rig.closed);
            }
        }
    }
}
