//! Configuration of an HTB tree and its checks. The words are those of `tc-htb(8)`.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use gamelane_core::{Bitrate, ByteCount, Overhead};

use crate::catalogue::DisciplineConfig;
use crate::class_map::ClassMap;
use crate::config_error::ConfigError;
use crate::priority::check_places;

/// Configuration of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbClass {
    /// Name in error messages.
    pub name: String,
    /// Index of the parent in [`HtbConfig::tree`], which must be listed first; `None` for a root.
    pub parent: Option<usize>,
    /// Guaranteed rate.
    pub rate: Bitrate,
    /// Highest rate, with capacity borrowed from ancestors.
    pub ceil: Bitrate,
    /// Bytes that may be sent at once after an idle time, in addition to one packet. `None` spaces packets evenly.
    pub burst: Option<ByteCount>,
    /// Priority for borrowing, 0 (first) to 7 (last).
    pub priority: u8,
    /// Bytes per round between classes of equal priority; `None` is one MTU.
    pub quantum: Option<ByteCount>,
    /// Queue of the class; only a class without children has one.
    pub queue: Option<Box<DisciplineConfig>>,
}

impl HtbClass {
    /// Makes a class that cannot borrow (its ceiling is its rate) and has no queue.
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

/// Configuration of an HTB tree.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbConfig {
    /// All classes, parents before their children.
    pub tree: Vec<HtbClass>,
    /// Maps the class of a packet to a leaf. Only leaves are counted, in their order in `tree`.
    pub classes: ClassMap,
    /// Link-layer overhead that the rates include.
    pub overhead: Overhead,
}

impl HtbConfig {
    /// Number of priorities, as in Linux (`TC_HTB_NUMPRIO`).
    pub const PRIORITIES: usize = 8;
    /// Largest number of classes.
    pub const MOST_CLASSES: usize = 64;

    /// Checks the configuration for packets of this many `classes`.
    ///
    /// # Errors
    /// Every [`ConfigError`] that begins with HTB in its description, a rate or quantum of zero, too many classes, a
    /// class map that does not fit the leaves, or an error of a leaf's queue.
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
            return Err(ConfigError::OutOfRange { name: "priority", allowed: "0 to 7" });
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

    /// Indices of the classes without children.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tree.len()).filter(|&index| self.is_leaf(index))
    }

    pub(super) fn is_leaf(&self, index: usize) -> bool {
        self.tree.iter().all(|class| class.parent != Some(index))
    }

    /// Number of ancestors of a class. Parents must be listed before their children, otherwise this never ends.
    pub(super) fn depth(&self, mut index: usize) -> usize {
        let mut depth = 0;
        while let Some(parent) = self.tree[index].parent {
            index = parent;
            depth += 1;
        }
        depth
    }
}
