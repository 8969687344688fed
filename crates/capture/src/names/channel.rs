//! Channels of the Quake family in one direction of a flow. A message begins with its number, which
//! [`numbering`](crate::analysis::numbering) follows. What comes next tells the families apart:
//!
//! - QuakeWorld, GoldSrc and Source: the number of the last message that came from the other side
//!   (Quake `QW/client/net_chan.c`).
//! - Quake III: from a client two bytes that never change, its `qport` (ioquake3 `code/qcommon/net_chan.c`).

/// Messages of one direction that have no signature.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Channel {
    /// Number of the last message, without flags.
    last: u32,
    port: [u8; 2],
    messages: u8,
    /// Messages with the same bytes in the place of the `qport` as the one before.
    same_port: u8,
    /// Messages that acknowledge a recent one of the other side.
    acknowledging: u8,
}

impl Channel {
    /// Adds a message with these first bytes and those after. `other` is the opposite direction.
    pub(super) fn saw(&mut self, start: [u8; 4], next: [u8; 4], other: &Self) {
        let [low, high, ..] = next;
        let acknowledged = u32::from_le_bytes(next) & !FLAGS;
        let is_recent = other.messages > 0 && other.last.wrapping_sub(acknowledged) < RECENT;
        self.acknowledging += u8::from(is_recent);
        self.same_port += u8::from(self.messages > 0 && self.port == [low, high]);
        self.port = [low, high];
        self.last = u32::from_le_bytes(start) & !FLAGS;
        self.messages += 1;
    }

    /// True if the messages have a client's `qport`.
    pub(super) fn has_port(&self) -> bool {
        self.messages >= ENOUGH && self.same_port >= self.messages - self.messages / 20 - 1
    }

    /// True if the messages acknowledge those of the other side.
    pub(super) fn acknowledges(&self) -> bool {
        self.messages >= ENOUGH && self.acknowledging >= self.messages - self.messages / 10
    }
}

/// Flags in the highest bits of a number.
const FLAGS: u32 = 0b11 << 30;
/// An acknowledgement is at most so many messages old.
const RECENT: u32 = 128;
/// Messages after which the form is told.
const ENOUGH: u8 = 40;
