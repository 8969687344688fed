//! A value for both directions of a link or path, or one for each: `jitter = "2ms"` or `jitter = { up = "2ms" }`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use gamelane_core::Direction;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::nearest;

/// One value for both directions, or one for each. A direction without a value takes the default.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EachWay<T> {
    /// The same value up and down.
    Both(T),
    /// A value for each direction.
    Split(Split<T>),
}

/// Values by direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split<T> {
    /// From the home to the internet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<T>,
    /// From the internet to the home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<T>,
}

impl<T> EachWay<T> {
    /// The value of one direction, if given.
    pub fn towards(&self, direction: Direction) -> Option<&T> {
        match (self, direction) {
            (Self::Both(value), _) => Some(value),
            (Self::Split(split), Direction::Up) => split.up.as_ref(),
            (Self::Split(split), Direction::Down) => split.down.as_ref(),
        }
    }
}

impl<T: Default> Default for EachWay<T> {
    fn default() -> Self {
        Self::Both(T::default())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for EachWay<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EachWayVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for EachWay<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("EachWay_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                one,
                {
                    "type": "object",
                    "properties": { "up": one, "down": one },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// Tells the two forms apart by the first key of a table. The path that serde reports in an error stays intact.
struct EachWayVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EachWayVisitor<T> {
    type Value = EachWay<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value, or a table with one for up and one for down")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        T::deserialize(value.into_deserializer()).map(EachWay::Both)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(text.into_deserializer()).map(EachWay::Both)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(EachWay::Both)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(EachWay::Both)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut rest: A) -> Result<Self::Value, A::Error> {
        let first = rest.next_key::<String>()?;
        // A name near `up` or `down` counts as a direction, so that `dwn` gets the hint "did you mean".
        let by_direction = first.as_deref().is_none_or(|key| nearest(key, &["up", "down"]).is_some());
        let table = MapAccessDeserializer::new(Reread { first, rest });
        if by_direction {
            Split::deserialize(table).map(EachWay::Split)
        } else {
            T::deserialize(table).map(EachWay::Both)
        }
    }
}

/// A table whose first key was already read.
struct Reread<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Reread<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}
