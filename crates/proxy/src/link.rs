//! A TCP carrier's socket with optional TLS: reads and writes frames without blocking.

use crate::payload::Payload;
use crate::sockets;
use crate::wait::Waiting;
use gamelane_mux::{Body as _, DecodeError, Frame, Parsed, frame};
use rustls::Connection;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use tokio::net::TcpStream;

/// Longest body of a data frame, in bytes.
pub(crate) const MAX_PAYLOAD: usize = 16 << 10;

/// Bytes of frames collected for one write.
pub(crate) const BATCH: usize = 16 << 10;

/// Why a carrier ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the other end closed the connection")]
    Closed,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    #[error("{0}")]
    Frame(#[from] DecodeError),
    #[error("{0}")]
    Protocol(#[from] gamelane_mux::ProtocolError),
    #[error("{0}")]
    Late(&'static str),
    #[error(
        "limits.handshakes or limits.handshakes_per_source reached: its place was given to a newer connection"
    )]
    Evicted,
}

impl LinkError {
    /// The handshake took longer than `timeouts.handshake`.
    pub(crate) fn late() -> Self {
        Self::Late("no answer within timeouts.handshake")
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    pub socket: Arc<TcpStream>,
    tls: Option<Box<Connection>>,
    /// Encoded frames that are neither encrypted nor written.
    plain: Vec<u8>,
    /// Bytes for the socket; those before `written` are sent.
    out: Vec<u8>,
    written: usize,
    /// The beginning of a frame whose rest has not arrived.
    partial: Vec<u8>,
    /// The socket is full.
    pub blocked: bool,
    /// The task that serves the socket.
    pub waiting: Waiting,
}

impl Link {
    /// Makes a link. `early` holds bytes that arrived with the handshake.
    pub(crate) fn new(socket: Arc<TcpStream>, tls: Option<Box<Connection>>, early: Vec<u8>) -> Self {
        Self {
            socket,
            tls,
            plain: Vec::with_capacity(BATCH),
            out: Vec::new(),
            written: 0,
            partial: early,
            blocked: false,
            waiting: Waiting::default(),
        }
    }

    /// Bytes that wait for the socket.
    pub(crate) fn backlog(&self) -> usize {
        self.out.len() - self.written + self.plain.len()
    }

    /// Encodes a frame for the next [`flush`](Self::flush).
    pub(crate) fn put(&mut self, frame: &Frame<Payload>) {
        frame.put_header(&mut self.plain);
        if let Some(body) = frame.body() {
            self.plain.extend_from_slice(&body.0);
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.plain.len() < BATCH
    }

    /// Writes waiting bytes and returns how many. Sets [`blocked`](Self::blocked) if the socket is full.
    pub(crate) fn flush(&mut self) -> Result<usize, LinkError> {
        let mut total = 0;
        self.blocked = false;
        loop {
            if self.written == self.out.len() {
                self.out.clear();
                self.written = 0;
                self.seal()?;
                if self.out.is_empty() {
                    return Ok(total);
                }
            }
            match self.socket.try_write(&self.out[self.written..]) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(count) => {
                    self.written += count;
                    total += count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked = true;
                    return Ok(total);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Encrypts waiting frames, or without TLS moves them, to the bytes for the socket.
    fn seal(&mut self) -> Result<(), LinkError> {
        let Some(tls) = &mut self.tls else {
            std::mem::swap(&mut self.plain, &mut self.out);
            return Ok(());
        };
        let taken = tls.writer().write(&self.plain)?;
        self.plain.drain(..taken);
        while tls.wants_write() {
            tls.write_tls(&mut self.out)?;
        }
        Ok(())
    }

    /// Reads once from the socket through `scratch` and appends complete frames.
    pub(crate) fn receive(
        &mut self,
        scratch: &mut [u8],
        frames: &mut Vec<Frame<Payload>>,
    ) -> Result<(), LinkError> {
        let count = match sockets::read(&self.socket, scratch) {
            Ok(0) => return Err(LinkError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some(tls) = &mut self.tls else {
            return self.split(&scratch[..count], frames);
        };
        let mut sealed = &scratch[..count];
        let mut plain = Vec::new();
        while !sealed.is_empty() {
            tls.read_tls(&mut sealed)?;
            let state = tls.process_new_packets()?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain[start..])?;
        }
        self.split(&plain, frames)
    }

    /// Appends complete frames that arrived with the handshake.
    pub(crate) fn receive_early(&mut self, frames: &mut Vec<Frame<Payload>>) -> Result<(), LinkError> {
        self.split(&[], frames)
    }

    fn split(&mut self, fresh: &[u8], frames: &mut Vec<Frame<Payload>>) -> Result<(), LinkError> {
        let handle = &mut |frame| {
            frames.push(frame);
            Ok(())
        };
        if self.partial.is_empty() {
            let used = split_frames(fresh, handle)?;
            self.partial.extend_from_slice(&fresh[used..]);
        } else {
            self.partial.extend_from_slice(fresh);
            let used = split_frames(&self.partial, handle)?;
            self.partial.drain(..used);
        }
        Ok(())
    }
}

/// Calls `handle` for each complete frame at the front of `bytes`, and returns their total length.
pub(crate) fn split_frames(
    bytes: &[u8],
    handle: &mut impl FnMut(Frame<Payload>) -> Result<(), LinkError>,
) -> Result<usize, LinkError> {
    let mut used = 0;
    while let Parsed::Frame { frame, header } = frame::parse(&bytes[used..], MAX_PAYLOAD)? {
        let body = used + header..used + header + frame.body().map_or(0, |body| body.len());
        used = body.end;
        handle(frame.map_body(|_| Payload::copy(&bytes[body])))?;
    }
    Ok(used)
}
