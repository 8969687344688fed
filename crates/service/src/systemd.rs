//! Tells systemd how the program is: sd_notify(3). The socket stays open, so it can be used after the program has given up the right
//! to open others.

use std::io::Result;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The way to systemd, if that started the program.
#[derive(Debug)]
pub struct Notify(Option<UnixDatagram>);

impl Notify {
    /// Reads `NOTIFY_SOCKET`. Without it, nothing is told to anybody.
    ///
    /// # Errors
    /// The variable is set, and nobody listens there.
    pub fn from_environment() -> Result<Self> {
        let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(Self(None)) };
        let address = match path.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(&path)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(Self(Some(socket)))
    }

    /// The program does its work.
    pub fn ready(&self) {
        self.say(b"READY=1");
    }

    /// It still does. With `WatchdogSec=` in its unit, systemd restarts a program that does not say so.
    pub fn alive(&self) {
        self.say(b"WATCHDOG=1");
    }

    /// It ends.
    pub fn stopping(&self) {
        self.say(b"STOPPING=1");
    }

    fn say(&self, what: &[u8]) {
        if let Some(socket) = &self.0 {
            // systemd that has no room for a message will get the next one.
            let _ = socket.send(what);
        }
    }
}
