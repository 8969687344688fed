//! A value that is text in the simple case and a table in the detailed one, such as `loss = "1%"` and
//! `loss = { good_to_bad = "1%", bad_to_good = "20%" }`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// One of the two forms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TextOrTable<A, B> {
    /// `key = "…"`
    Text(A),
    /// `key = { … }`
    Table(B),
}

impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Deserialize<'de> for TextOrTable<A, B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTableVisitor(PhantomData))
    }
}

impl<A: JsonSchema, B: JsonSchema> JsonSchema for TextOrTable<A, B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", A::schema_name(), B::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<A>(), generator.subschema_for::<B>()] })
    }
}

/// Passes text and bare numbers to `A`, which knows the message about a missing unit, and tables to `B`.
struct TextOrTableVisitor<A, B>(PhantomData<(A, B)>);

impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Visitor<'de> for TextOrTableVisitor<A, B> {
    type Value = TextOrTable<A, B>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value in quotes, or a table")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        A::deserialize(text.into_deserializer()).map(TextOrTable::Text)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        A::deserialize(number.into_deserializer()).map(TextOrTable::Text)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        A::deserialize(number.into_deserializer()).map(TextOrTable::Text)
    }

    fn visit_map<M: MapAccess<'de>>(self, table: M) -> Result<Self::Value, M::Error> {
        B::deserialize(MapAccessDeserializer::new(table)).map(TextOrTable::Table)
    }
}
