//! What Linux cannot do.

use core::fmt;

/// A part of a policy that Linux cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key, such as `gateway.up.limit`.
    pub key: String,
    /// Why not.
    pub why: String,
    /// What helps.
    pub remedy: String,
}

impl Refused {
    /// What only the gateway in user space can do.
    pub(super) fn only_here(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            why: why.into(),
            remedy: "--engine user can; it takes the place of a bridge, not of a router".into(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}\n  hint:    {}", self.key, self.why, self.remedy)
    }
}

impl core::error::Error for Refused {}
