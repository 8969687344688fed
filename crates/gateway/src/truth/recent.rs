//! Delays and drops of the last seconds: two spans of five seconds. When the newer span is full, the older is discarded.

use gamelane_core::{Duration, Instant};
use gamelane_service::histogram::Fine;

use super::Passed;

/// What happened in the last five to ten seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent {
    spans: [Span; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Number of the five seconds, from 1; 0 for none.
    number: u64,
    delays: Fine<u32>,
    drops: u32,
    /// Bytes that left, each times its delay in microseconds: the mean backlog, but for the length of the span.
    held: u64,
}

const SPAN: Duration = Duration::from_secs(5);

impl Recent {
    /// Notes packets that left.
    pub fn left(&mut self, passed: &Passed, now: Instant) {
        let span = self.span(now);
        span.delays.record_many(passed.sojourn, passed.packets);
        span.held += passed.bytes.bytes().saturating_mul(passed.sojourn.as_nanos() / 1000);
    }

    /// Notes packets that were dropped.
    pub fn dropped(&mut self, packets: u32, now: Instant) {
        self.span(now).drops += packets;
    }

    /// Bytes that left, each times its delay in microseconds. By Little's law this is in proportion to the mean backlog.
    pub fn held(&self, now: Instant) -> u64 {
        self.valid(now).map(|span| span.held).sum()
    }

    /// Delays of packets that left.
    pub fn histogram(&self, now: Instant) -> Fine<u32> {
        let mut sum = Fine::default();
        for span in self.valid(now) {
            sum.add(&span.delays);
        }
        sum
    }

    /// Packets that left.
    pub fn count(&self, now: Instant) -> u64 {
        self.valid(now).map(|span| span.delays.count()).sum()
    }

    /// Packets dropped.
    pub fn drops(&self, now: Instant) -> u32 {
        self.valid(now).map(|span| span.drops).sum()
    }

    fn span(&mut self, now: Instant) -> &mut Span {
        let number = number(now);
        let span = &mut self.spans[(number % 2) as usize];
        if span.number != number {
            *span = Span { number, ..Span::default() };
        }
        span
    }

    fn valid(&self, now: Instant) -> impl Iterator<Item = &Span> {
        let number = number(now);
        self.spans.iter().filter(move |span| span.number != 0 && span.number + 1 >= number)
    }
}

const fn number(now: Instant) -> u64 {
    now.as_nanos() / SPAN.as_nanos() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::ByteCount;

    #[test]
    fn what_is_over_is_forgotten() {
        let mut recent = Recent::default();
        let passed = |ms| Passed { packets: 1, bytes: ByteCount(100), sojourn: Duration::from_millis(ms) };
        recent.left(&passed(3), Instant::from_secs(1));
        recent.dropped(1, Instant::from_secs(1));
        assert_eq!((recent.count(Instant::from_secs(9)), recent.drops(Instant::from_secs(9))), (1, 1));
        recent.left(&passed(4), Instant::from_secs(7));
        assert_eq!(recent.held(Instant::from_secs(7)), 100 * 7000);
        assert_eq!(recent.histogram(Instant::from_secs(7)).count(), 2);
        assert_eq!((recent.count(Instant::from_secs(10)), recent.drops(Instant::from_secs(10))), (1, 0));
    }
}
