//! What can be wrong with the configuration of a queue that has parts.

use alloc::string::String;
use core::fmt;
use gamelane_core::Bitrate;

/// A configuration no queue can be built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A queue of parts has none.
    NoPlaces,
    /// More bands, classes or leaves than this queue can have.
    TooManyPlaces {
        /// How many were given.
        places: usize,
        /// How many it can have.
        most: usize,
    },
    /// A class is sent where nothing is.
    NoSuchPlace {
        /// The class.
        class: usize,
        /// Where it is sent.
        place: usize,
        /// How many places there are, from 0.
        places: usize,
    },
    /// A class is sent somewhere but nothing is ever put in it.
    NoSuchClass {
        /// The class.
        class: usize,
        /// How many classes there are, from 0.
        classes: usize,
    },
    /// No class leads to this band, class or leaf.
    PlaceWithoutClass {
        /// Its position.
        place: usize,
    },
    /// A rate of nothing: no packet would ever leave.
    ZeroRate {
        /// Which.
        name: String,
    },
    /// A quantum of nothing: no packet would ever leave.
    ZeroQuantum {
        /// Position of the class.
        place: usize,
    },
    /// HTB: the parent does not stand before its child.
    NoSuchParent {
        /// The child.
        name: String,
    },
    /// HTB: a class deeper than levels go.
    TooDeep {
        /// The class.
        name: String,
    },
    /// HTB: a ceiling below the rate it is the ceiling of.
    CeilBelowRate {
        /// The class.
        name: String,
        /// Its rate.
        rate: Bitrate,
        /// Its ceiling.
        ceil: Bitrate,
    },
    /// HTB: children are promised more than their parent has.
    ChildrenAboveParent {
        /// The parent.
        parent: String,
        /// Its rate.
        rate: Bitrate,
        /// The sum of its children's rates.
        children: Bitrate,
    },
    /// HTB: a child may go faster than its parent.
    CeilAboveParent {
        /// The child.
        name: String,
        /// Its ceiling.
        ceil: Bitrate,
        /// The parent's ceiling.
        parent: Bitrate,
    },
    /// HTB: a class with children has a queue, or one without has none.
    QueueNotAtLeaf {
        /// The class.
        name: String,
    },
    /// A shaper at or above the rate of the link below it shapes nothing: the queue forms below.
    ShaperAboveLink {
        /// The shaper's rate.
        shaper: Bitrate,
        /// The link's.
        link: Bitrate,
    },
    /// A number outside what it can be.
    OutOfRange {
        /// Which.
        name: &'static str,
        /// What it can be.
        allowed: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlaces => write!(f, "the queue has no class to put packets in"),
            Self::TooManyPlaces { places, most } => {
                write!(f, "the queue has {places} classes, at most {most} are possible")
            }
            Self::NoSuchPlace { class, place, places } => {
                write!(f, "class {class} is sent to {place}, but there are {places}, from 0")
            }
            Self::NoSuchClass { class, classes } => {
                write!(f, "class {class} is given a place, but there are {classes} classes, from 0")
            }
            Self::PlaceWithoutClass { place } => write!(f, "no class leads to {place}"),
            Self::ZeroRate { name } => write!(f, "the rate of `{name}` is zero"),
            Self::ZeroQuantum { place } => write!(f, "the quantum of {place} is zero"),
            Self::NoSuchParent { name } => write!(f, "the parent of `{name}` must stand before it"),
            Self::TooDeep { name } => write!(f, "`{name}` is more than 7 classes below the root"),
            Self::CeilBelowRate { name, rate, ceil } => {
                write!(f, "the ceiling of `{name}`, {ceil}, is below its rate, {rate}")
            }
            Self::ChildrenAboveParent { parent, rate, children } => {
                write!(f, "the children of `{parent}` have rates of {children} together, above its {rate}")
            }
            Self::CeilAboveParent { name, ceil, parent } => {
                write!(f, "the ceiling of `{name}`, {ceil}, is above its parent's, {parent}")
            }
            Self::QueueNotAtLeaf { name } => {
                write!(f, "`{name}` must have either children or a queue, not both")
            }
            Self::ShaperAboveLink { shaper, link } => {
                write!(
                    f,
                    "the shaper at {shaper} is not below the link's {link}: the queue would form below it"
                )
            }
            Self::OutOfRange { name, allowed } => write!(f, "`{name}` must be {allowed}"),
        }
    }
}

impl core::error::Error for ConfigError {}
