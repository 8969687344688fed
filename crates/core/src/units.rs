//! Rates and sizes as separate types, so that bits, bytes, IP lengths and wire lengths cannot be mixed up.

use crate::quantity::RATE;
use crate::time::Duration;
use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

macro_rules! byte_unit {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// Zero bytes.
            pub const ZERO: Self = Self(0);

            /// Number of bytes.
            pub const fn bytes(self) -> u64 {
                self.0 as u64
            }

            /// `self - other`, zero if `other` is larger.
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}b", self.0)
            }
        }
    };
}

byte_unit!(
    /// Number of bytes of a window, a buffer or a transfer.
    ByteCount(u64)
);
byte_unit!(
    /// Length of an IP packet in bytes: IP header included, link layer excluded. Queues count this length.
    IpLen(u32)
);
byte_unit!(
    /// Length of a packet on the medium in bytes, link-layer overhead included. Serialisation time follows from it.
    WireLen(u32)
);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

impl Bitrate {
    /// Makes a rate from bits per second.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// The rate in bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Time to serialise `len` at this rate, rounded up to a nanosecond.
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    pub const fn time_to_send(self, len: WireLen) -> Duration {
        Duration::from_nanos((len.0 as u64 * 8_000_000_000).div_ceil(self.0))
    }

    /// Number of whole bytes that pass in `span` at this rate.
    pub const fn bytes_in(self, span: Duration) -> ByteCount {
        ByteCount((self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000) as u64)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.text(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_twelve_milliseconds_at_one_megabit() {
        assert_eq!(Bitrate::from_bps(1_000_000).time_to_send(WireLen(1500)), Duration::from_millis(12));
        assert_eq!(Bitrate::from_bps(12_000_000).time_to_send(WireLen(1500)), Duration::from_millis(1));
    }

    #[test]
    fn serialisation_rounds_up() {
        // 1 byte at 3 bit/s is 2.666… s.
        assert_eq!(Bitrate::from_bps(3).time_to_send(WireLen(1)), Duration::from_nanos(2_666_666_667));
    }

    #[test]
    fn bytes_in_a_span() {
        assert_eq!(Bitrate::from_bps(12_000_000).bytes_in(Duration::from_millis(40)), ByteCount(60_000));
    }
}
