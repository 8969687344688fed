//! A small map in insertion order: flows as in the scenario, queues from the gateway outwards.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Index;

use serde::{Serialize, Serializer};

/// Values by name, in order. JSON writes it as an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find_map(|(own, value)| (own == name).then_some(value))
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<T> FromIterator<(String, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The value at a position.
///
/// # Panics
///
/// If there are fewer values.
impl<T> Index<usize> for Named<T> {
    type Output = T;

    fn index(&self, position: usize) -> &T {
        &self.0[position].1
    }
}

/// The value called `name`.
///
/// # Panics
///
/// If there is none.
impl<T> Index<&str> for Named<T> {
    type Output = T;

    fn index(&self, name: &str) -> &T {
        self.get(name).unwrap_or_else(|| panic!("nothing is called {name}"))
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Named<T> {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        alloc::collections::BTreeMap::<String, T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        alloc::collections::BTreeMap::<String, T>::json_schema(generator)
    }
}
