//! A game seen at two capture points, in the few numbers of [`Game`]. Losses and the lag until delivery are the pair's.
//! Retransmissions and stalls are those of the capture nearer to the sender, because only the sender's end shows them
//! all. Late messages and gaps are those of the capture nearer to the receiver, where the player meets them.

use super::{PairedDirection, PairedFlow};
use crate::analysis::games::{Counted, Game, Kind};

/// Joins the numbers of a flow in the first and in the second capture. Its kind is that of the first capture that
/// recognises a game.
pub fn joined(flow: &PairedFlow, alone: [&Game; 2]) -> Game {
    let kind = alone.map(|game| game.kind).into_iter().find(|&kind| kind != Kind::Other).unwrap_or_default();
    let near_client = usize::from(flow.first_is_near_client == Some(false));
    let mut game = Game { kind, ..Game::default() };
    for (direction, pair) in flow.directions.iter().enumerate() {
        // The client's data goes from the client's point to the server's.
        let near_sender = if direction == 0 { near_client } else { 1 - near_client };
        let (sender, receiver) = (alone[near_sender], alone[1 - near_sender]);
        if game.kind == Kind::ThinTcp {
            let way = &mut game.tcp[direction];
            *way = sender.tcp[direction];
            way.counted = counted(pair);
            if let Some(delivery) = &pair.delivery {
                way.lag_ns = delivery.late_ns;
            }
        } else {
            game.udp[direction] = receiver.udp[direction];
            game.udp[direction].counted = counted(pair);
        }
    }
    game
}

fn counted(pair: &PairedDirection) -> Counted {
    pair.losses.as_ref().map_or_else(
        |_| Counted::default(),
        |losses| Counted {
            flows: 1,
            sent: losses.sent,
            lost: losses.lost,
            duplicated: losses.duplicated,
            reordered: losses.reordered,
        },
    )
}
