//! Even streams from the internet: a few at a time. Only the fastest gives signals.

use gamelane_core::{Duration, FlowKey, Instant};
use gamelane_stage::EvenStream;
use gamelane_stage::autorate::Signal;

use super::numbers::Numbers;
use super::rhythm::Rhythm;

/// Streams that are followed.
#[derive(Debug, Default)]
pub(super) struct Streams {
    places: [Option<Stream>; STREAMS],
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// 5-tuple as the home sends it.
    key: FlowKey,
    seen: Instant,
    numbers: Numbers,
    rhythm: Rhythm,
    /// Set once its interval is known.
    even: Option<EvenStream>,
}

impl Streams {
    /// Notes a packet from the internet, of a conversation that behaves like a game or a call.
    pub(super) fn came(&mut self, key: &FlowKey, payload: &[u8], now: Instant) -> Option<Signal> {
        let place = self.place(key, now)?;
        let stream = self.places[place].get_or_insert_with(|| Stream {
            key: *key,
            seen: now,
            numbers: Numbers::default(),
            rhythm: Rhythm::default(),
            even: None,
        });
        let signal = stream.came(payload, now)?;
        let fastest = (0..STREAMS)
            .filter_map(|place| Some((self.places[place].as_ref()?.interval(now)?, place)))
            .min_by_key(|(interval, _)| *interval);
        fastest.is_some_and(|(_, fastest)| fastest == place).then_some(signal)
    }

    /// Place of the stream, or a free one; `None` while all are taken.
    fn place(&self, key: &FlowKey, now: Instant) -> Option<usize> {
        let known =
            self.places.iter().position(|place| place.as_ref().is_some_and(|known| known.key == *key));
        known.or_else(|| {
            self.places
                .iter()
                .position(|place| place.as_ref().is_none_or(|other| now.saturating_since(other.seen) > OVER))
        })
    }
}

impl Stream {
    fn came(&mut self, payload: &[u8], now: Instant) -> Option<Signal> {
        let silent = now.saturating_since(std::mem::replace(&mut self.seen, now));
        let number = self.numbers.read(payload)?;
        if silent > PAUSE {
            self.rhythm.restart();
            self.even = None;
        }
        self.rhythm.came(number, now);
        let Some(interval) = self.rhythm.interval() else {
            self.even = None;
            return None;
        };
        let even = self.even.get_or_insert(EvenStream::new(interval));
        even.set_interval(interval);
        even.came(number, now)
    }

    /// Interval of a stream that gives signals.
    fn interval(&self, now: Instant) -> Option<Duration> {
        self.even.as_ref().filter(|_| now.saturating_since(self.seen) <= PAUSE * 4).map(EvenStream::interval)
    }
}

/// Most games and calls followed at once.
const STREAMS: usize = 8;
/// A stream silent for longer is over.
const OVER: Duration = Duration::from_secs(5);
/// A longer silence is a pause of the sender, not a queue.
const PAUSE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Protocol;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            source: ([10, 0, 0, 1], port).into(),
            destination: ([10, 0, 1, 1], 9).into(),
            protocol: Protocol::Udp,
        }
    }

    /// Packet `number` of a stream as Quake III numbers it.
    fn payload(number: u64) -> [u8; 40] {
        let mut payload = [0; 40];
        payload[..4].copy_from_slice(&(number as u32).to_le_bytes());
        payload
    }

    #[test]
    fn the_fastest_even_stream_tells_how_late_it_is() {
        let mut streams = Streams::default();
        let mut told = [0; 2];
        let mut late = Duration::ZERO;
        for ms in 0..40_000_u64 {
            // From 30 s on a queue of 40 ms stands in the way.
            let queue = if ms > 30_000 { 40 } else { 0 };
            for (port, interval) in [(1, 50), (2, 20)] {
                if ms % interval == 0 {
                    let at = Instant::from_millis(ms + queue);
                    let signal = streams.came(&key(port), &payload(ms / interval), at);
                    told[usize::from(port - 1)] += u32::from(signal.is_some());
                    if let (Some(Signal::GameLag(lag)), 30_500..31_000) = (signal, ms) {
                        late = late.max(lag);
                    }
                }
            }
        }
        assert!(told[0] == 0 && told[1] > 1400, "{told:?}");
        assert!((38..=40).contains(&(late.as_nanos() / 1_000_000)), "{late:?}");
    }

    #[test]
    fn a_pause_is_no_queue_and_a_crowd_finds_no_place() {
        let mut streams = Streams::default();
        let mut now = Instant::ZERO;
        let mut longest = Duration::ZERO;
        for number in 0..3000_u64 {
            // A pause, as when nobody speaks.
            now += Duration::from_millis(if number % 500 == 499 { 700 } else { 20 });
            if let Some(Signal::GameLag(lag)) = streams.came(&key(1), &payload(number), now) {
                longest = longest.max(lag);
            }
        }
        assert_eq!(longest, Duration::ZERO);
        for port in 2..50 {
            streams.came(&key(port), &payload(0), now);
        }
        assert_eq!(streams.place(&key(1), now), Some(0), "those that are heard keep their places");
        assert_eq!(streams.place(&key(49), now), None);
    }
}
