//! Compares the clocks of two points. The difference of a packet's times is its delay plus the clocks' offset plus
//! their drift. A drift makes the delay seem to grow one way and to shrink the other way by as much; a queue does
//! not. So a drift is removed only if the least delays of *both* directions lie on lines with opposite
//! slopes (the line below all delays is that of Moon, Skelly and Towsley, INFOCOM 1999, who measure one direction).
//! Otherwise nothing is removed, and times on one clock stay exact. Clocks that are stepped are left out.

/// How the clock of the second point runs against that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clocks {
    drift: Option<Drift>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Drift {
    /// Nanoseconds that the second clock gains per second of the first (parts per billion).
    ppb: f64,
    /// Time of the first clock from which the drift counts.
    from_ns: u64,
}

impl Clocks {
    /// Compares the clocks by packets that travel from the first point to the second, and by packets that travel back.
    /// `for_each` calls its argument once for each packet: with true if the packet travels from the first point to the
    /// second, its time at the first point, and its time at the second.
    pub fn compare(for_each: impl Fn(&mut dyn FnMut(bool, u64, u64))) -> Self {
        // Each direction's range of times at the first point.
        let mut ranges = [(u64::MAX, 0u64); 2];
        for_each(&mut |forth, first_ns, _| {
            let range = &mut ranges[usize::from(forth)];
            *range = (range.0.min(first_ns), range.1.max(first_ns));
        });
        let (from_ns, to_ns) = (ranges[0].0.max(ranges[1].0), ranges[0].1.min(ranges[1].1));
        if to_ns <= from_ns || to_ns - from_ns < MIN_SPAN_NS {
            return Self::default();
        }
        // Time and delay of the packet with the least delay in each segment of time, by direction.
        let mut least = [[None::<(u64, i64)>; SEGMENTS]; 2];
        let length_ns = (to_ns - from_ns).div_ceil(SEGMENTS as u64);
        for_each(&mut |forth, first_ns, second_ns| {
            let difference = second_ns.wrapping_sub(first_ns) as i64;
            let delay = if forth { difference } else { difference.saturating_neg() };
            let segment = first_ns.checked_sub(from_ns).map(|since| (since / length_ns) as usize);
            if let Some(least) = segment.and_then(|segment| least[usize::from(forth)].get_mut(segment))
                && least.is_none_or(|(_, other)| delay < other)
            {
                *least = Some((first_ns, delay));
            }
        });
        let lines = least.map(|least| {
            let points: Vec<(u64, i64)> = least.into_iter().flatten().collect();
            let &(_, level) = points.first()?;
            let relative =
                |&(at_ns, delay): &(u64, i64)| ((at_ns - from_ns) as f64, delay.saturating_sub(level) as f64);
            (points.len() >= MIN_SEGMENTS)
                .then(|| Line::below(&points.iter().map(relative).collect::<Vec<_>>()))
        });
        let [Some(back), Some(forth)] = lines else { return Self::default() };
        let slope = if forth.residual_ns < back.residual_ns { forth.slope } else { -back.slope };
        let gained_ns = slope.abs() * (to_ns - from_ns) as f64;
        let opposite = (forth.slope + back.slope).abs() <= AGREE * slope.abs();
        let straight = forth.residual_ns.max(back.residual_ns) <= STRAIGHT * gained_ns;
        let plausible = (MIN_DRIFT..=MAX_DRIFT).contains(&slope.abs());
        Self { drift: (opposite && straight && plausible).then_some(Drift { ppb: slope * 1e9, from_ns }) }
    }

    /// Drift of the second clock against the first in nanoseconds per second; `None` if it was not measured.
    pub fn drift_ppb(&self) -> Option<f64> {
        self.drift.map(|drift| drift.ppb)
    }

    /// Time at the receiver minus time at the sender, without the drift: the delay plus a constant offset.
    pub fn delay(&self, sent_ns: u64, received_ns: u64, sender_is_first: bool) -> i64 {
        let difference = received_ns.wrapping_sub(sent_ns) as i64;
        if sender_is_first {
            difference.saturating_sub(self.gained(sent_ns))
        } else {
            difference.saturating_add(self.gained(received_ns))
        }
    }

    /// Receiver's time of a packet with this [`delay`](Self::delay).
    pub fn arrival(&self, sent_ns: u64, delay: i64, sender_is_first: bool) -> i64 {
        let about = (sent_ns as i64).saturating_add(delay);
        let gained = self.gained(if sender_is_first { sent_ns } else { about as u64 });
        if sender_is_first { about.saturating_add(gained) } else { about.saturating_sub(gained) }
    }

    /// Sender's time of a packet with this [`delay`](Self::delay).
    pub fn departure(&self, received_ns: u64, delay: i64, sender_is_first: bool) -> i64 {
        let about = (received_ns as i64).saturating_sub(delay);
        let gained = self.gained(if sender_is_first { about as u64 } else { received_ns });
        if sender_is_first { about.saturating_sub(gained) } else { about.saturating_add(gained) }
    }

    /// Nanoseconds that the second clock has gained at a time of the first.
    fn gained(&self, first_ns: u64) -> i64 {
        self.drift.map_or(0, |drift| {
            let since = first_ns.wrapping_sub(drift.from_ns) as i64;
            libm::round(since as f64 * drift.ppb / 1e9) as i64
        })
    }
}

/// Line below the least delays that is close to most of them.
#[derive(Clone, Copy, Debug)]
struct Line {
    slope: f64,
    /// Median distance of the least delays above the line.
    residual_ns: f64,
}

impl Line {
    /// Finds the line with the smallest median distance. It tries slope 0 and the slopes between all points that are
    /// far apart. A queue that did not empty raises the least delay of a segment, so the median ignores the more
    /// distant half of the points.
    fn below(points: &[(f64, f64)]) -> Self {
        let far = (points[points.len() - 1].0 - points[0].0) / 4.0;
        let mut best = Self::level(points, 0.0);
        for (place, &(at, delay)) in points.iter().enumerate() {
            for &(later, other) in points[place + 1..].iter().filter(|(later, _)| later - at >= far) {
                let slope = (other - delay) / (later - at);
                if slope.abs() <= MAX_DRIFT {
                    let line = Self::level(points, slope);
                    if line.residual_ns < best.residual_ns {
                        best = line;
                    }
                }
            }
        }
        best
    }

    fn level(points: &[(f64, f64)], slope: f64) -> Self {
        let mut above: Vec<f64> = points.iter().map(|(at, delay)| delay - slope * at).collect();
        let level = above.iter().copied().fold(f64::INFINITY, f64::min);
        let middle = above.len() / 2;
        let residual_ns = *above.select_nth_unstable_by(middle, f64::total_cmp).1 - level;
        Self { slope, residual_ns }
    }
}

/// Segments of time, each of which gives its least delay.
const SEGMENTS: usize = 48;
const MIN_SEGMENTS: usize = 16;
const MIN_SPAN_NS: u64 = 10_000_000_000;
/// Crystals differ by up to 100 ppm, and NTP slews a clock by up to 500 ppm.
const MAX_DRIFT: f64 = 500e-6;
/// A smaller drift cannot be told from noise; at this drift a clock gains 60 microseconds in a minute.
const MIN_DRIFT: f64 = 1e-6;
/// Largest difference of the two slopes, as a share of the drift.
const AGREE: f64 = 0.2;
/// Largest residual, as a share of what the clock gained.
const STRAIGHT: f64 = 0.1;
