//! `[[gateway.class]]`: the classes of queues that treat packets by class.

use gamelane_qdisc::Discipline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::Queue;
use crate::text::each_way::EachWay;
use crate::text::share::RateShare;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::Size;
use crate::text::words::Word;

/// A class of packets. Each queue reads only the keys it needs, so one scenario serves to compare queues. `priority`
/// reads the order of the classes, `drr` their quanta, and `htb` their rates, ceilings, parents and priorities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Unique name, of a-z, 0-9, `_` and `-`.
    pub name: String,
    /// HTB: class to borrow from first. List it before this one. Default: the root of the tree, which has the whole
    /// rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// HTB: guaranteed rate, or its share of the whole rate. Required for `htb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<EachWay<RateShare>>,
    /// HTB: highest rate including borrowed rate. A class whose `ceil` equals its `rate` borrows nothing. Default: the
    /// parent's `ceil`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<EachWay<RateShare>>,
    /// HTB: bytes the class may send at once after silence, in addition to one packet. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
    /// HTB: order of borrowing, 0 to 7. Classes with 0 borrow first.
    #[serde(default)]
    pub priority: u8,
    /// DRR: bytes per turn. HTB: bytes per turn among classes of equal `priority`. Default: `link.mtu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Queue of the class: the name of a discipline without classes, or a table like `gateway.up`. Default: a FIFO with
    /// the `limit` of the queue around it, or 50 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<ClassQueue>,
}

/// A queue: the name of its discipline, or a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClassQueue(pub TextOrTable<Word<Discipline>, Queue>);

impl ClassQueue {
    /// In full.
    pub(crate) fn queue(&self) -> Queue {
        match &self.0 {
            TextOrTable::Text(discipline) => Queue { queue: *discipline, ..Queue::default() },
            TextOrTable::Table(queue) => queue.clone(),
        }
    }
}
