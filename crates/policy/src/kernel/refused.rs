//! What Linux cannot do.

use core::fmt;

/// What the other engine is.
pub const USER: &str = "it takes the place of a bridge (take its ports out first), not of a router";

/// A part of a policy that Linux cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key, such as `gateway.up.limit`.
    pub key: String,
    /// Why not.
    pub why: String,
    /// What to write instead; `None` if only the gateway in user space can do it.
    pub instead: Option<String>,
}

impl Refused {
    /// A key that Linux cannot do, but the gateway in user space can.
    pub(super) fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into(), instead: None }
    }

    /// With something else to write.
    pub(super) fn or(self, instead: impl Into<String>) -> Self {
        Self { instead: Some(instead.into()), ..self }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}\n  hint:    ", self.key, self.why)?;
        match &self.instead {
            Some(instead) => write!(f, "{instead}; or use --engine user: {USER}"),
            None => write!(f, "--engine user can; {USER}"),
        }
    }
}

impl core::error::Error for Refused {}
