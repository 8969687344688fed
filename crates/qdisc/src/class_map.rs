//! From classes to the places of a queue that has several: bands, DRR classes, HTB leaves.

use alloc::vec::Vec;
use gamelane_core::ClassId;

use crate::config_error::ConfigError;

/// Where packets of each class go: position is the class, value the place. A class beyond the end goes where the last one
/// does. An empty map sends class 0 to place 0, 1 to 1, and whatever has no place of its own to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassMap(pub Vec<u8>);

impl ClassMap {
    /// Position among `places`.
    pub(crate) fn place(&self, class: ClassId, places: usize) -> usize {
        let index = match self.0.get(class.index()).or(self.0.last()) {
            Some(&place) => usize::from(place),
            None => class.index(),
        };
        index.min(places - 1)
    }

    /// Checks that each of `classes` leads to one of `places`, and each place has a class that leads to it.
    pub(crate) fn check(&self, classes: usize, places: usize) -> Result<(), ConfigError> {
        if let Some(class) = self.0.iter().position(|&place| usize::from(place) >= places) {
            return Err(ConfigError::NoSuchPlace { class, place: usize::from(self.0[class]), places });
        }
        if self.0.len() > classes {
            return Err(ConfigError::NoSuchClass { class: self.0.len() - 1, classes });
        }
        let reached = |place| (0..classes).any(|class| self.place(ClassId(class as u8), places) == place);
        match (0..places).find(|&place| !reached(place)) {
            Some(place) => Err(ConfigError::PlaceWithoutClass { place }),
            None => Ok(()),
        }
    }
}
