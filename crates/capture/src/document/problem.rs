//! An error of reading a capture, in the document.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CaptureError;

/// What could not be read, and what to do.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Problem {
    kind: Cow<'static, str>,
    message: String,
    hint: String,
    offset: Option<u64>,
    packets_read: u64,
}

impl Problem {
    pub(super) fn of(error: &CaptureError) -> Self {
        let text = error.to_string();
        let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        let (kind, offset, packets_read) = match error {
            CaptureError::NotACapture { .. } => ("not-a-capture", Some(0), 0),
            CaptureError::Truncated { packets_read, offset, .. } => {
                ("truncated", Some(*offset), *packets_read)
            }
            CaptureError::Malformed { packets_read, offset, .. } => ("damaged", Some(*offset), *packets_read),
            CaptureError::MixedLinkTypes { packets_read, offset, .. } => {
                ("unsupported-link-type", Some(*offset), *packets_read)
            }
            CaptureError::UnsupportedLinkType { .. } => ("unsupported-link-type", None, 0),
            CaptureError::Encrypted { packets_read, .. } => ("encrypted", None, *packets_read),
            _ => ("unreadable", None, 0),
        };
        Self { kind: kind.into(), message: message.to_owned(), hint: hint.to_owned(), offset, packets_read }
    }
}

/// The message, and the hint on a line of its own.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\n  hint:    {}", self.hint) }
    }
}
