//! Packets of a network interface, as they pass: [`Source`] takes them from the kernel, [`Files`] keeps them in pcapng files
//! that rotate, [`Watch`] analyses them meanwhile, [`Recorder`] ties the three together. The caller owns time: it asks the
//! recorder for a [`Recorder::step`] until it has enough, and then for the end.

mod device;
mod error;
mod files;
#[cfg(target_os = "linux")]
mod filter;
mod recorder;
mod watch;

pub use device::{Counts, Source, drop_privileges};
pub use error::LiveError;
pub use files::{Files, Rotation};
pub use recorder::{Progress, Recorder};
pub use watch::{Watch, Watched};

/// What to take from an interface.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name, or `any` for all of them.
    pub interface: String,
    /// Bytes stored of each packet at most.
    pub snap_len: u32,
    /// In tcpdump's language; empty for everything.
    pub filter: String,
    /// Whether to take packets that are not for this machine too: behind a mirror port of a switch.
    pub promiscuous: bool,
    /// Bytes of the kernel's ring: how far this process may fall behind.
    pub ring_bytes: usize,
}

impl Settings {
    /// Whole packets of an interface, with a ring of 32 MiB.
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            snap_len: MAX_SNAP_LEN,
            filter: String::new(),
            promiscuous: false,
            ring_bytes: 32 << 20,
        }
    }
}

/// What is stored of a packet unless less is asked for: tcpdump's default.
pub const MAX_SNAP_LEN: u32 = 262_144;
