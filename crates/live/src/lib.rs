//! Records packets of a network interface. [`Source`] takes them from the kernel, [`Files`] keeps them in pcapng files that rotate,
//! [`Watch`] analyses them meanwhile, [`Top`] sums up what the flows do now, [`screen`] shows it, and [`Recorder`] joins them. The
//! caller owns time: it calls [`Recorder::step`] as long as it likes, then [`Recorder::finish`].

#![forbid(unsafe_code)]

mod error;
mod files;
mod filter;
mod frame;
mod meter;
mod recorder;
pub mod screen;
mod source;
mod top;
mod watch;

pub use error::LiveError;
pub use files::{Files, Rotation};
pub use frame::Counts;
pub use recorder::{Progress, Recorder};
pub use source::Source;
pub use top::{FlowNow, Top};
pub use watch::{Watch, Watched};

/// What to record of an interface.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name, or `any` for all of them.
    pub interface: String,
    /// Most bytes stored of each packet.
    pub snap_len: u32,
    /// Filter in tcpdump's language; empty for everything.
    pub filter: String,
    /// Whether to record packets for other machines too, as behind a mirror port of a switch.
    pub promiscuous: bool,
    /// Bytes of the kernel's ring, which holds packets while this process is busy.
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

/// Default for the bytes stored of a packet: tcpdump's.
pub const MAX_SNAP_LEN: u32 = 262_144;
