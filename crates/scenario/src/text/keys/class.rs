//! `[[gateway.class]]`: the classes of queues that tell packets apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::{Discipline, Queue};
use crate::text::each_way::EachWay;
use crate::text::share::RateShare;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::Size;

/// A class. Each queue reads what it can use: `priority` the order of the classes, `drr` their quanta, `htb` rates,
/// ceilings, parents and priorities; so queues can be compared by one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Short name.
    pub name: String,
    /// For `htb`, the class it borrows from first, listed before it. Left out: the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For `htb`, which must have it: what the class may always send, as a rate or a share of all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<EachWay<RateShare>>,
    /// For `htb`, what it may send at most, the rest borrowed. Left out: as much as its parent. The same as `rate`: it borrows
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<EachWay<RateShare>>,
    /// For `htb`, bytes it may send at once after silence, on top of one packet. Left out: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
    /// For `htb`, who borrows first: 0 before 7.
    #[serde(default)]
    pub priority: u8,
    /// For `drr`, bytes in a turn; for `htb`, the same among equals. Left out: the largest packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Its queue: a discipline without classes, or a table as of `gateway.up`. Left out: a FIFO, with the `limit` of the queue
    /// it is in, or 50 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<ClassQueue>,
}

/// A queue by its discipline, or in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ClassQueue(pub TextOrTable<Discipline, Queue>);

impl ClassQueue {
    /// In full.
    pub(crate) fn queue(&self) -> Queue {
        match &self.0 {
            TextOrTable::Text(discipline) => Queue { queue: *discipline, ..Queue::default() },
            TextOrTable::Table(queue) => queue.clone(),
        }
    }
}
