//! An HTB tree as a scenario says it, and what can be wrong with it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{Bitrate, ByteCount, Overhead};

use crate::class_map::ClassMap;
use crate::config_error::ConfigError;
use crate::priority::check_places;
use crate::tree::DisciplineConfig;

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbClass {
    /// What errors call it.
    pub name: String,
    /// Position of its parent, which stands before it; `None` for a root.
    pub parent: Option<usize>,
    /// What it may always send.
    pub rate: Bitrate,
    /// What it may send at most, with the rest borrowed.
    pub ceil: Bitrate,
    /// Bytes it may send at once after silence, on top of the packet that may always go; `None` keeps packets evenly
    /// spaced.
    pub burst: Option<ByteCount>,
    /// Who borrows first: 0 before 7.
    pub priority: u8,
    /// Bytes a turn among equals; `None` is one MTU.
    pub quantum: Option<ByteCount>,
    /// The queue of a class without children.
    pub queue: Option<Box<DisciplineConfig>>,
}

impl HtbClass {
    /// A class whose ceiling is its rate, without a queue.
    pub fn new(name: &str, parent: Option<usize>, rate: Bitrate) -> Self {
        Self {
            name: name.into(),
            parent,
            rate,
            ceil: rate,
            burst: None,
            priority: 0,
            quantum: None,
            queue: None,
        }
    }
}

/// A tree of classes.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbConfig {
    /// Every class, parents before children.
    pub tree: Vec<HtbClass>,
    /// Leaf of each class a classifier gives: counted among the leaves alone, in their order in `tree`.
    pub classes: ClassMap,
    /// What rates count on top of an IP packet.
    pub overhead: Overhead,
}

impl HtbConfig {
    /// Priorities there are, as in Linux.
    pub const PRIORITIES: usize = 8;
    /// Classes there can be.
    pub const MOST_CLASSES: usize = 64;

    /// Finds what no queue can be built from, given how many classes packets are put in.
    ///
    /// # Errors
    /// Whatever of [`ConfigError`] is said to be HTB's, rates of zero, a map that does not fit the leaves, and those of
    /// the leaves' queues.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        check_places(self.tree.len(), Self::MOST_CLASSES)?;
        for (index, class) in self.tree.iter().enumerate() {
            self.check_class(index, class)?;
        }
        for (index, class) in self.tree.iter().enumerate() {
            let children = self.tree.iter().filter(|child| child.parent == Some(index));
            let promised = children.map(|child| child.rate.bps()).fold(0, u64::saturating_add);
            if promised > class.rate.bps() {
                return Err(ConfigError::ChildrenAboveParent {
                    parent: class.name.clone(),
                    rate: class.rate,
                    children: Bitrate::from_bps(promised),
                });
            }
        }
        self.classes.check(classes, self.leaves().count())?;
        self.tree.iter().filter_map(|class| class.queue.as_ref()).try_for_each(|queue| queue.check(classes))
    }

    fn check_class(&self, index: usize, class: &HtbClass) -> Result<(), ConfigError> {
        let name = || class.name.clone();
        if class.rate.bps() == 0 {
            return Err(ConfigError::ZeroRate { name: name() });
        }
        if class.ceil < class.rate {
            return Err(ConfigError::CeilBelowRate { name: name(), rate: class.rate, ceil: class.ceil });
        }
        if usize::from(class.priority) >= Self::PRIORITIES {
            return Err(ConfigError::OutOfRange { name: "priority", allowed: "from 0 to 7" });
        }
        if class.quantum == Some(ByteCount::ZERO) {
            return Err(ConfigError::ZeroQuantum { place: index });
        }
        if self.is_leaf(index) != class.queue.is_some() {
            return Err(ConfigError::QueueNotAtLeaf { name: name() });
        }
        let Some(parent) = class.parent else { return Ok(()) };
        if parent >= index {
            return Err(ConfigError::NoSuchParent { name: name() });
        }
        if self.depth(index) >= super::LEVELS {
            return Err(ConfigError::TooDeep { name: name() });
        }
        if class.ceil > self.tree[parent].ceil {
            let parent = self.tree[parent].ceil;
            return Err(ConfigError::CeilAboveParent { name: name(), ceil: class.ceil, parent });
        }
        Ok(())
    }

    /// Positions of the classes without children.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.len()).filter(|&index| self.is_leaf(index))
    }

    pub(super) fn is_leaf(&self, index: usize) -> bool {
        self.tree.iter().all(|class| class.parent != Some(index))
    }

    /// How far below its root a class is; parents stand before their children.
    pub(super) fn depth(&self, mut index: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.tree[index].parent {
            index = parent;
            depth += 1;
        }
        depth
    }
}
