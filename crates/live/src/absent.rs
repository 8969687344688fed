//! Systems without packet sockets: opening an interface returns [`LiveError::Unsupported`].

use std::time::Duration;

use crate::Settings;
use crate::error::LiveError;
use crate::frame::{Counts, Frame};

/// An interface; none can be opened here.
#[derive(Debug)]
pub enum Source {}

impl Source {
    /// Returns that this system has no packet sockets.
    pub fn open(settings: &Settings) -> Result<Self, LiveError> {
        Err(LiveError::Unsupported { interface: settings.interface.clone() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Number in tcpdump's registry of link types.
    pub fn link_type(&self) -> u16 {
        match *self {}
    }

    pub(crate) fn snap_len(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn largest_frame(&self) -> u32 {
        match *self {}
    }

    pub(crate) fn wait(&mut self, _timeout: Duration) -> Result<(), LiveError> {
        match *self {}
    }

    pub(crate) fn counts(&mut self) -> Result<Counts, LiveError> {
        match *self {}
    }

    pub(crate) fn take(&mut self, _each: impl FnMut(&Frame<'_>)) -> bool {
        match *self {}
    }
}

/// Does nothing: no privilege was used.
pub fn drop_privileges() -> std::io::Result<()> {
    Ok(())
}
