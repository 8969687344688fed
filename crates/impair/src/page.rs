//! The settings in force and the counters, as text.

use gamelane_core::Direction;

use crate::control::{Answer, Counters};

/// Returns the settings in force as TOML, and the counters.
pub fn page(answer: &Answer) -> String {
    format!("{}\n{}", answer.config, counters(answer))
}

/// Returns the counters, a line for each direction.
pub fn counters(answer: &Answer) -> String {
    let line = |direction: Direction, of: &Counters| {
        format!(
            "{:<5} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
            direction.name(),
            of.arrived,
            of.delivered,
            of.lost,
            of.tail,
            of.duplicated,
            of.reordered,
            of.inside
        )
    };
    let [up, down] = Direction::BOTH;
    let head = format!(
        "{:<5} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
        "", "arrived", "delivered", "lost", "tail", "copied", "late", "inside"
    );
    let missed = |of: &Counters| of.no_room + of.ring_full + of.not_sent;
    let more = match (missed(&answer.up), missed(&answer.down)) {
        (0, 0) => String::new(),
        (up, down) => format!(
            "this machine was too slow, or an interface down: {up} up and {down} down are lost besides\n"
        ),
    };
    head + &line(up, &answer.up) + &line(down, &answer.down) + &more
}
