//! Reads what Linux's queues did. Nothing is decided again: what the recording says goes into the same accounts as when it happened.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{Direction, Instant, Seed};
use gamelane_device::Headers;
use gamelane_policy::Policy;

use super::feed::Feed;
use super::recording::Recording;
use super::{Ended, Recorded, ReplayError, Report};
use crate::tap::log::Event;
use crate::tap::{About, Point, about};
use crate::watched::{Arrival, Ledger, Packet};

/// Records of a recording of Linux's queues.
///
/// # Errors
/// It cannot be read, or a policy is refused.
pub(super) fn recorded(folder: &Path, about: &About) -> Result<Recorded, ReplayError> {
    let policy = Policy::load(&about::policy(folder, 0), &about.overrides)?;
    let mut seen = Seen {
        about,
        recording: Recording::open(folder)?,
        ledger: Ledger::new(Some(&policy), Seed(about.seed), Instant::ZERO),
        feed: Feed::default(),
        waiting: BTreeMap::new(),
        next: Next::default(),
        now: Instant::ZERO,
        report: Report { identical: true, ..Report::new(&policy, about) },
    };
    while let Some(event) = seen.recording.next_event()? {
        if !seen.take(event)? {
            break;
        }
    }
    let Seen { feed, ledger, now: end, report, .. } = seen;
    Ok(feed.finish(&ledger, about.seed, end, Report { until_s: end.as_secs_f64(), ..report }))
}

struct Seen<'a> {
    about: &'a About,
    recording: Recording<'a>,
    ledger: Ledger,
    feed: Feed,
    /// Packets that have not left, by number.
    waiting: BTreeMap<u64, Packet>,
    next: Next,
    now: Instant,
    report: Report,
}

/// What the log says of the next frame.
#[derive(Default)]
struct Next {
    packets: Option<u32>,
    home: Option<SocketAddr>,
    is_past: bool,
}

impl Seen<'_> {
    /// Takes an event; false at the end.
    fn take(&mut self, event: Event) -> Result<bool, ReplayError> {
        self.report.calls += u64::from(!matches!(event, Event::Now(_)));
        match event {
            Event::Now(now) => {
                self.recording.check_moment(self.now, now)?;
                self.now = now;
                self.feed.sample(&self.ledger, now);
            }
            Event::Timeout => self.ledger.follow(self.now),
            Event::Large(packets) if packets > MOST => {
                return Err(self.recording.damaged(format!("a packet of {packets} segments")));
            }
            Event::Large(packets) => self.next.packets = Some(packets),
            Event::Home(home) => self.next.home = Some(home),
            Event::Past => self.next.is_past = true,
            Event::Arrived(direction) => return self.came(direction),
            Event::Left(direction, number) => return self.left(direction, number),
            Event::Dropped(direction, number, reason) => {
                self.report.dropped += 1;
                let Some((_, len)) = self.recording.frame(Point::Dropped, direction)? else {
                    return Ok(false);
                };
                if let Some(packet) = self.end(number, len) {
                    self.ledger.dropped(&packet, reason, self.now);
                    self.feed.dropped(direction, number, packet.left, reason, self.now);
                }
            }
            Event::Reloaded(number) => {
                self.report.reloads += 1;
                let file = about::policy(self.recording.folder, number);
                self.ledger.reload(&Policy::load(&file, &self.about.overrides)?, self.now);
            }
            Event::Lost(_) => {
                self.report.ended = Ended::Lost;
                return Ok(false);
            }
            Event::End => {
                self.report.ended = Ended::Whole;
                return Ok(false);
            }
            Event::Nothing(_) | Event::NoRoom(_) | Event::NotSent(_) | Event::StoodStill => {
                return Err(self.recording.damaged("a call of the gateway's own queues".into()));
            }
        }
        self.feed.called(&self.ledger, self.now);
        Ok(true)
    }

    fn came(&mut self, direction: Direction) -> Result<bool, ReplayError> {
        let Next { packets, home, .. } = std::mem::take(&mut self.next);
        let Some((frame, len)) = self.recording.frame(Point::In, direction)? else { return Ok(false) };
        self.report.frames += 1;
        let len = u32::try_from(len).unwrap_or(u32::MAX).saturating_sub(ETHERNET_HEADER);
        let mut headers = Headers::parse_start(frame, len);
        if let (Some(ip), Some(home)) = (&mut headers.ip, home) {
            match direction {
                Direction::Up => ip.key.source = home,
                Direction::Down => ip.key.destination = home,
            }
        }
        let meta = headers.meta(frame, self.now);
        let segments = packets.map(|packets| (1, packets));
        let arrival = Arrival { headers, meta, frame, len, segments };
        let packet = self.ledger.came(&arrival, direction, self.now, self.now);
        self.feed.came(direction, packet.number, packet.packets, &headers, self.now);
        self.waiting.insert(packet.number, packet);
        self.feed.called(&self.ledger, self.now);
        Ok(true)
    }

    fn left(&mut self, direction: Direction, number: u64) -> Result<bool, ReplayError> {
        let Next { is_past, .. } = std::mem::take(&mut self.next);
        self.report.left += 1;
        let Some((frame, len)) = self.recording.frame(Point::Out, direction)? else { return Ok(false) };
        let frame = frame.to_vec();
        if let Some(packet) = self.end(number, len) {
            let is_marked = packet.is_marked(&frame);
            self.ledger.left(&packet, self.now, is_marked, is_past, self.now);
            self.feed.left(direction, number, packet.left, is_marked, self.now);
        }
        self.feed.called(&self.ledger, self.now);
        Ok(true)
    }

    /// What ends with a frame of this length: a packet, or a segment of one.
    fn end(&mut self, number: u64, frame_len: usize) -> Option<Packet> {
        let len = u32::try_from(frame_len).unwrap_or(u32::MAX).saturating_sub(ETHERNET_HEADER);
        let packet = self.waiting.get_mut(&number)?;
        if packet.packets == 1 || packet.len == len {
            return self.waiting.remove(&number);
        }
        let segment = packet.segment(len);
        packet.left = packet.left.saturating_sub(1);
        if packet.left == 0 {
            self.waiting.remove(&number);
        }
        Some(segment)
    }
}

/// Most segments of a packet: 64 KiB of the smallest ones.
const MOST: u32 = 2048;
