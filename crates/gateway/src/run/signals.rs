//! Signals: SIGTERM and SIGINT end the gateway, SIGHUP reads the policy again.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What signals asked for since the start. Readable when one arrived.
pub(super) struct Signals {
    arrived: UnixStream,
    end: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

impl Signals {
    /// Handles signals from now on.
    pub(super) fn register() -> std::io::Result<Self> {
        let (arrived, writer) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let told = Self { arrived, end: Arc::default(), reload: Arc::default() };
        for (signal, flag) in [(SIGTERM, &told.end), (SIGINT, &told.end), (SIGHUP, &told.reload)] {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        Ok(told)
    }

    /// Whether the gateway is to end.
    pub(super) fn end_asked(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether SIGHUP arrived since the last call.
    pub(super) fn reload_asked(&mut self) -> bool {
        self.arrived.read(&mut [0; 16]).is_ok() && self.reload.swap(false, Ordering::Relaxed)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.as_fd()
    }
}
