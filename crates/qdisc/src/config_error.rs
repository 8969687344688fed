//! Errors in the configuration of a discipline. Each message says what is wrong, what is allowed and, where it is not
//! obvious, what to do. The scenario reader adds file, key and line.

use alloc::string::String;
use core::fmt;
use gamelane_core::Bitrate;

/// A configuration from which no queue can be built. *Place* stands for a band, a DRR class or an HTB leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A discipline that sorts packets into places was given none.
    NoPlaces,
    /// A discipline has more places than it supports.
    TooManyPlaces {
        /// Number of places given.
        places: usize,
        /// Largest number of places.
        most: usize,
    },
    /// A class is mapped to a place that does not exist.
    NoSuchPlace {
        /// Number of the class, from 0.
        class: usize,
        /// Number of the missing place, from 0.
        place: usize,
        /// Number of places.
        places: usize,
    },
    /// The class map has an entry for a class that does not exist.
    NoSuchClass {
        /// Number of the class, from 0.
        class: usize,
        /// Number of classes.
        classes: usize,
    },
    /// No class is mapped to this place, so it would never get a packet.
    PlaceWithoutClass {
        /// Number of the place, from 0.
        place: usize,
    },
    /// A rate is too low to send packets.
    ZeroRate {
        /// Name of the class, or the key of the rate.
        name: String,
    },
    /// A quantum is zero, so no packet would ever leave.
    ZeroQuantum {
        /// Number of the class, from 0.
        place: usize,
    },
    /// HTB: the parent of a class is not listed before it.
    NoSuchParent {
        /// Name of the child.
        name: String,
    },
    /// HTB: a class is more than seven classes below its root.
    TooDeep {
        /// Name of the class.
        name: String,
    },
    /// HTB: the ceiling of a class is below its rate.
    CeilBelowRate {
        /// Name of the class.
        name: String,
        /// Its rate.
        rate: Bitrate,
        /// Its ceiling.
        ceil: Bitrate,
    },
    /// HTB: the rates of the children add up to more than the rate of their parent.
    ChildrenAboveParent {
        /// Name of the parent.
        parent: String,
        /// Rate of the parent.
        rate: Bitrate,
        /// Sum of the rates of its children.
        children: Bitrate,
    },
    /// HTB: the ceiling of a class is above that of its parent.
    CeilAboveParent {
        /// Name of the child.
        name: String,
        /// Ceiling of the child.
        ceil: Bitrate,
        /// Ceiling of the parent.
        parent: Bitrate,
    },
    /// HTB: a class with children has a queue, or a class without children has none.
    QueueNotAtLeaf {
        /// Name of the class.
        name: String,
    },
    /// A value is out of range.
    OutOfRange {
        /// Key of the value.
        name: &'static str,
        /// Values that are allowed.
        allowed: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlaces => write!(f, "the queue has no band or class for packets; give it at least one"),
            Self::TooManyPlaces { places, most } => {
                write!(f, "the queue has {places} bands or classes; at most {most} are allowed")
            }
            Self::NoSuchPlace { class, place, places } => {
                write!(
                    f,
                    "class {class} is mapped to band or leaf {place}; allowed: 0 to {}",
                    places.saturating_sub(1)
                )
            }
            Self::NoSuchClass { class, classes } => {
                write!(f, "the class map names class {class}; allowed: 0 to {}", classes.saturating_sub(1))
            }
            Self::PlaceWithoutClass { place } => {
                write!(f, "no class is mapped to band or leaf {place}; map one to it or remove it")
            }
            Self::ZeroRate { name } => {
                write!(f, "the rate of `{name}` is zero or close to it; set it to 1kbit or more")
            }
            Self::ZeroQuantum { place } => {
                write!(f, "the quantum of class {place} is zero; give it at least 1 byte, better one MTU")
            }
            Self::NoSuchParent { name } => {
                write!(f, "list the parent of class `{name}` before the class itself")
            }
            Self::TooDeep { name } => {
                write!(
                    f,
                    "class `{name}` is too deep in the tree; at most 7 classes below the root are allowed"
                )
            }
            Self::CeilBelowRate { name, rate, ceil } => {
                write!(f, "the ceiling of class `{name}` is {ceil}, below its rate; allowed: {rate} or more")
            }
            Self::ChildrenAboveParent { parent, rate, children } => {
                write!(
                    f,
                    "the rates of the children of class `{parent}` add up to {children}; at most {rate}, the \
                     parent's rate, is allowed"
                )
            }
            Self::CeilAboveParent { name, ceil, parent } => {
                write!(
                    f,
                    "the ceiling of class `{name}` is {ceil}; at most {parent}, the parent's ceiling, is allowed"
                )
            }
            Self::QueueNotAtLeaf { name } => {
                write!(f, "class `{name}` needs either children or a queue, and not both")
            }
            Self::OutOfRange { name, allowed } => write!(f, "`{name}` must be {allowed}"),
        }
    }
}

impl core::error::Error for ConfigError {}
