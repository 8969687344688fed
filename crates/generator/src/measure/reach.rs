//! Connects to the first address of a server's name that accepts. A name may have addresses of IPv6 that the server does not listen on.

use std::io;
use std::net::{SocketAddr, TcpStream};

use gamelane_core::Duration;

use crate::measure::trouble::Trouble;

/// Time for all addresses together.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Shortest time for an address. It suffices for a SYN that is sent again once.
const SHORTEST: Duration = Duration::from_secs(2);

/// A server that has accepted a connection.
#[derive(Debug)]
pub struct Reached {
    /// The address that accepted. UDP and loads use it too.
    pub to: SocketAddr,
    /// The control connection.
    pub(super) socket: TcpStream,
}

/// Tries the addresses in turn.
///
/// # Errors
/// If no address accepts. The error names each address with its reason.
pub fn reach(addresses: &[SocketAddr]) -> Result<Reached, Trouble> {
    let share = Duration::from_nanos(PATIENCE.as_nanos() / addresses.len().max(1) as u64).max(SHORTEST);
    let patience = std::time::Duration::from_nanos(share.as_nanos());
    let mut refused: Vec<(SocketAddr, io::Error)> = Vec::new();
    for to in addresses {
        match TcpStream::connect_timeout(to, patience) {
            Ok(socket) => return Ok(Reached { to: *to, socket }),
            Err(error) => refused.push((*to, error)),
        }
    }
    Err(Trouble::Unreached(
        refused.iter().map(|(to, error)| format!("{to}: {error}")).collect::<Vec<_>>().join("; "),
    ))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A port of loopback on which nobody listens.
    fn closed(host: &str) -> SocketAddr {
        TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr()).unwrap()
    }

    /// Regression: only the first address of a name was tried.
    #[test]
    fn the_next_address_is_tried_after_one_that_refuses() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        assert_eq!(reach(&[closed("127.0.0.2"), at]).unwrap().to, at);
    }

    #[test]
    fn the_error_names_every_address() {
        let tried = [closed("127.0.0.2"), closed("127.0.0.3")];
        let said = reach(&tried).unwrap_err().to_string();
        assert!(tried.iter().all(|to| said.contains(&to.to_string())), "{said}");
    }
}
