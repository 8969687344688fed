//! The handshake of a TCP carrier: TLS, then at the far end the first frame (hello), which names the session. This module limits
//! the bytes; the caller limits the time.

use crate::entrance::Turns;
use crate::link::LinkError;
use gamelane_mux::{Frame, Hello, Parsed, ProtocolError, frame};
use rustls::Connection;
use std::io::{ErrorKind, Read as _};
use tokio::net::TcpStream;

/// Longest hello, in bytes.
const MAX_HELLO: usize = 128;

/// Completes the TLS handshake. With `turns`, each message waits for its turn to be processed.
pub(crate) async fn handshake(
    socket: &TcpStream,
    tls: &mut Connection,
    turns: Option<&Turns>,
) -> Result<(), LinkError> {
    let mut out = Vec::new();
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut out)?;
        }
        write_all(socket, &out).await?;
        out.clear();
        if !tls.is_handshaking() {
            return Ok(());
        }
        if let Err(error) = read_tls(socket, tls, turns).await {
            // Send the TLS alert that names the reason.
            while tls.wants_write() {
                tls.write_tls(&mut out)?;
            }
            let _ = write_all(socket, &out).await;
            return Err(error);
        }
    }
}

/// Reads until the hello is complete. Returns it with all bytes read, its own included.
pub(crate) async fn hello(
    socket: &TcpStream,
    mut tls: Option<&mut Connection>,
) -> Result<(Hello, Vec<u8>), LinkError> {
    let mut bytes = Vec::new();
    loop {
        if let Some(tls) = tls.as_deref_mut() {
            // Records may have arrived together with the end of the handshake.
            let pending = tls.process_new_packets()?.plaintext_bytes_to_read();
            let start = bytes.len();
            bytes.resize(start + pending, 0);
            tls.reader().read_exact(&mut bytes[start..])?;
        }
        match frame::parse(&bytes, 0)? {
            Parsed::Frame { frame: Frame::Hello(hello), .. } => return Ok((hello, bytes)),
            Parsed::Frame { .. } => return Err(ProtocolError::OutOfPlace.into()),
            Parsed::Incomplete { .. } if bytes.len() >= MAX_HELLO => {
                return Err(ProtocolError::OutOfPlace.into());
            }
            Parsed::Incomplete { .. } => {}
        }
        match tls.as_deref_mut() {
            Some(tls) => read_tls(socket, tls, None).await?,
            None => {
                let mut part = [0; MAX_HELLO];
                let count = read(socket, &mut part).await?;
                bytes.extend_from_slice(&part[..count]);
            }
        }
    }
}

/// Writes everything.
pub(crate) async fn write_all(socket: &TcpStream, mut bytes: &[u8]) -> Result<(), LinkError> {
    while !bytes.is_empty() {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads exactly as many bytes as fit.
pub(crate) async fn read_exact(socket: &TcpStream, mut into: &mut [u8]) -> Result<(), LinkError> {
    while !into.is_empty() {
        let count = read(socket, into).await?;
        into = &mut into[count..];
    }
    Ok(())
}

async fn read(socket: &TcpStream, into: &mut [u8]) -> Result<usize, LinkError> {
    loop {
        socket.readable().await?;
        match socket.try_read(into) {
            Ok(0) => return Err(LinkError::Closed),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn read_tls(socket: &TcpStream, tls: &mut Connection, turns: Option<&Turns>) -> Result<(), LinkError> {
    let mut sealed = [0; 4096];
    let count = read(socket, &mut sealed).await?;
    let mut process = || {
        let mut rest = &sealed[..count];
        while !rest.is_empty() {
            tls.read_tls(&mut rest)?;
            tls.process_new_packets()?;
        }
        Ok(())
    };
    match turns {
        Some(turns) => turns.take(process).await,
        None => process(),
    }
}
