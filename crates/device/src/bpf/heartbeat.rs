//! Shows programs in the kernel that this process is at work, so that they let frames pass while it stands still.

use std::io::{Error, ErrorKind, Result};

use gamelane_core::Duration;

use super::{Helper::KtimeGetNs, Instruction, Register::*, SharedNumber};
use crate::clock::monotonic_ns;

/// When the process was at work last, for programs to read.
#[derive(Debug)]
pub struct Heartbeat(SharedNumber);

impl Heartbeat {
    /// After this time without a beat the process counts as standing still.
    pub const PATIENCE: Duration = Duration::from_secs(1);

    /// Begins with a beat.
    ///
    /// # Errors
    /// There is no memory for programs, or this process may not load them.
    pub fn new() -> Result<Self> {
        let number = SharedNumber::new().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Error::new(error.kind(), "it may not load programs (CAP_BPF)"),
            _ => error,
        })?;
        let heartbeat = Self(number);
        heartbeat.beat();
        Ok(heartbeat)
    }

    /// Says that the process is at work. Makes no system call.
    pub fn beat(&self) {
        self.0.store(monotonic_ns());
    }

    /// Instructions that skip the next `count` while the process is at work. They use `R0` to `R5`.
    pub fn skip_if_at_work(&self, count: i16) -> [Instruction; 6] {
        let [low, high] = Instruction::address_of(R1, self.0.map());
        [
            Instruction::call(KtimeGetNs),
            low,
            high,
            Instruction::load_double(R1, R1, 0),
            Instruction::subtract(R0, R1),
            Instruction::skip_if_at_most(R0, Self::PATIENCE.as_nanos() as i32, count),
        ]
    }
}
