//! Addresses and prefixes as text: `"198.51.100.10"`, `"198.51.100.0/24"`, `"2001:db8::/32"`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use gamelane_qdisc::classify;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::error::Fault;
use super::from_text::in_text;

/// An address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix(pub classify::Prefix);

impl FromStr for Prefix {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let fault = || Fault::new("this is not an address or a prefix").allowed(EXAMPLES);
        let (address, len) = match text.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (text, None),
        };
        let host = classify::Prefix::host(address.parse::<IpAddr>().map_err(|_| fault())?);
        let Some(len) = len else { return Ok(Self(host)) };
        match len.parse::<u8>() {
            Ok(len) if len <= host.len => Ok(Self(classify::Prefix { len, ..host })),
            _ => Err(Fault::new("this prefix length is too large, or is not a number")
                .allowed(format!("0 to {}", host.len))),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == classify::Prefix::host(self.0.address) { self.0.address.fmt(f) } else { self.0.fmt(f) }
    }
}

const EXAMPLES: &str = "such as \"198.51.100.10\" or \"198.51.100.0/24\"";

in_text!(Prefix, ["an address or a prefix, ", EXAMPLES].concat());

impl JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "Prefix".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = ["an address or a prefix, ", EXAMPLES].concat();
        json_schema!({ "type": "string", "description": description, "x-type": "address or prefix" })
    }
}
