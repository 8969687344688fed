//! What a server allows, so that nobody can abuse it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use gamelane_core::{Duration, Instant};

use crate::measure::handshake::Refusal;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Measurements at a time.
    pub clients: u16,
    /// Measurements at a time from one address; from one /64 network in IPv6.
    pub per_address: u16,
    /// Longest measurement, in seconds.
    pub seconds: u16,
    /// Rate of all loads together in each direction, in Mbit/s.
    pub mbit: u32,
    /// Time for the messages before a measurement.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients: 4, per_address: 1, seconds: 60, mbit: 1000, handshake: Duration::from_secs(5) }
    }
}

/// Most connections without a proof at a time.
pub const UNPROVED: u16 = 512;
/// Most of them from one address. A client opens up to 64 streams of a phase at once.
pub const UNPROVED_PER_ADDRESS: u16 = 64;

/// A number of places, in all and for each address.
#[derive(Debug)]
pub struct Places {
    most: u16,
    per_address: u16,
    present: Mutex<BTreeMap<IpAddr, u16>>,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub struct Place<'a> {
    of: &'a Places,
    address: IpAddr,
}

impl Places {
    /// Has `most` places, and `per_address` for one address.
    pub const fn new(most: u16, per_address: u16) -> Self {
        Self { most, per_address, present: Mutex::new(BTreeMap::new()) }
    }

    /// Takes a place, or says which limit is reached.
    pub fn take(&self, address: IpAddr) -> Result<Place<'_>, Refusal> {
        let address = network(address);
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if present.get(&address).is_some_and(|own| *own >= self.per_address) {
            return Err(Refusal::Address(self.per_address));
        }
        if present.values().map(|own| u32::from(*own)).sum::<u32>() >= u32::from(self.most) {
            return Err(Refusal::Busy(self.most));
        }
        *present.entry(address).or_default() += 1;
        Ok(Place { of: self, address })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut present = self.of.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = present.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                present.remove(&self.address);
            }
        }
    }
}

/// The address as limits count it. A home has a whole /64 network of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// A token bucket that all loads of a direction share. Its level may become negative.
#[derive(Debug)]
pub struct Bucket {
    bytes_per_second: f64,
    /// Level in bytes, and the time of that level.
    level: Mutex<(f64, Instant)>,
}

/// The bucket holds the bytes of this time.
const BURST: Duration = Duration::from_millis(20);

impl Bucket {
    /// Fills at `mbit` Mbit/s.
    pub fn new(mbit: u32, now: Instant) -> Self {
        Self { bytes_per_second: f64::from(mbit) * 125_000.0, level: Mutex::new((0.0, now)) }
    }

    /// Time until bytes may move; `None` if they may now.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let mut held = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let (level, at) = *held;
        let filled = level + now.saturating_since(at).as_secs_f64() * self.bytes_per_second;
        let level = filled.min(BURST.as_secs_f64() * self.bytes_per_second);
        *held = (level, now.max(at));
        (level < 0.0).then(|| Duration::from_secs_f64(-level / self.bytes_per_second))
    }

    /// Takes bytes that have moved.
    pub fn take(&self, bytes: usize) {
        self.level.lock().unwrap_or_else(PoisonError::into_inner).0 -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_address_and_network() {
        let places = Places::new(3, 1);
        let at = |text: &str| places.take(text.parse().unwrap());
        let first = at("192.0.2.1").unwrap();
        assert_eq!(at("::ffff:192.0.2.1").unwrap_err(), Refusal::Address(1));
        let _second = at("2001:db8::1").unwrap();
        assert_eq!(at("2001:db8::ffff:2").unwrap_err(), Refusal::Address(1));
        let _third = at("2001:db8:0:1::1").unwrap();
        assert_eq!(at("192.0.2.2").unwrap_err(), Refusal::Busy(3));
        drop(first);
        at("192.0.2.2").unwrap();
    }

    #[test]
    fn a_bucket_holds_its_rate() {
        let start = Instant::from_secs(5);
        let (bucket, mut now, mut taken) = (Bucket::new(8, start), start, 0);
        while now < start + Duration::from_secs(10) {
            if let Some(wait) = bucket.wait(now) {
                now += wait + Duration::from_nanos(1);
            } else {
                bucket.take(16_384);
                taken += 16_384;
            }
        }
        assert!((9_950_000..10_050_000).contains(&taken), "{taken} B in 10 s at 1 MB/s");
    }
}
