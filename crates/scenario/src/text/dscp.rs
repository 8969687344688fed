//! Differentiated services code points (DSCP), by number or registered name (RFC 2474, 2597, 3246, 5865, 8622).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::Fault;
use super::from_text::in_text;

/// A DSCP, 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(pub u8);

impl FromStr for Dscp {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, code)| *code);
        let code = named.or_else(|| text.parse().ok().filter(|code| *code < 64));
        code.map(Self).ok_or_else(|| {
            let fault = Fault::new("this is not a DSCP").one_of(text, NAMES.map(|(name, _)| name));
            fault.allowed("0 to 63, CS0 to CS7, AF11 to AF43, EF, VA or LE")
        })
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, code)| *code == self.0) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

in_text!(Dscp, "a DSCP: 0 to 63, or a name such as \"EF\"");

impl JsonSchema for Dscp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "type": "string", "enum": names }],
            "x-type": "0 to 63, `CS0` to `CS7`, `AF11` to `AF43`, `EF`, `VA` or `LE`",
        })
    }
}

const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
