//! Serde by way of text. A type with `FromStr` and `Display` is read from a string and printed as one. A bare number is
//! passed on as its digits, so that the type can say which unit is missing.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserializer, de};

use super::error::Fault;

/// Reads a `T` from a string or a number. For any other type of value, `expecting` finishes the message "this takes …".
pub(crate) fn from_text<'de, T, D>(deserializer: D, expecting: &str) -> Result<T, D::Error>
where
    T: FromStr<Err = Fault>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(FromText { expecting, value: PhantomData })
}

/// Implements `Serialize` and `Deserialize` through `Display` and `FromStr`.
macro_rules! in_text {
    ($name:ident, $expecting:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::from_text::from_text(deserializer, &$expecting)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

pub(crate) use in_text;

struct FromText<'a, T> {
    expecting: &'a str,
    value: PhantomData<T>,
}

impl<T: FromStr<Err = Fault>> de::Visitor<'_> for FromText<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
