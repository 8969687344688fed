//! Ended connections, whose memory new ones use again. An allocation costs more than a packet.

use crate::tcp::connection::Connection;

/// A bounded stock of ended connections.
#[derive(Debug, Default)]
pub(super) struct Spare {
    #[expect(clippy::vec_box, reason = "a connection moves between here and its flow")]
    connections: Vec<Box<Connection>>,
}

impl Spare {
    /// Returns a connection without packets.
    pub(super) fn take(&mut self) -> Box<Connection> {
        self.connections.pop().unwrap_or_default()
    }

    /// Keeps a connection that has begun again ([`TcpReport::take`](super::TcpReport::take)).
    pub(super) fn keep(&mut self, connection: Box<Connection>) {
        if self.connections.len() < MOST {
            self.connections.push(connection);
        }
    }
}

/// Maximum number of connections that are kept.
const MOST: usize = 256;
