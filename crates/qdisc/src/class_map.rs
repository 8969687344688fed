//! The map from packet classes to the places of a discipline. A *place* is a priority band, a DRR class or an HTB leaf.

use alloc::vec::Vec;
use gamelane_core::ClassId;

use crate::config_error::ConfigError;

/// Place of each class: entry n is the place of class n. Classes beyond the last entry go to the place of that entry.
/// An empty map sends class n to place n, or to the last place if there is no place n.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassMap(pub Vec<u8>);

impl ClassMap {
    /// Returns the place of `class` in a discipline with this many `places`.
    pub fn place(&self, class: ClassId, places: usize) -> usize {
        let index = match self.0.get(class.index()).or(self.0.last()) {
            Some(&place) => usize::from(place),
            None => class.index(),
        };
        index.min(places - 1)
    }

    /// Checks the map for this many `classes` and `places`: every entry names an existing place, no entry is for a
    /// class that does not exist, and every place gets at least one class.
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
