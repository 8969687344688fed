//! Serde over a TOML table, with the path of a key that it refuses.
//!
//! One reader for all depths. TOML's own reader in a wrapper that follows the path becomes a type for each depth, and then some 200
//! types of a scenario are compiled again for each of them.

use std::cell::RefCell;

use serde::de::value::Error;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use toml::{Table, Value};

use super::origin::{Path, Step};

/// What serde refused.
pub(super) struct Refused {
    /// Key that was refused.
    pub(super) path: Path,
    /// Serde's own words, or those of a [`Fault`](super::error::Fault).
    pub(super) message: String,
}

/// Reads a value from a table.
pub(super) fn deserialize<T: DeserializeOwned>(table: Table) -> Result<T, Refused> {
    let track = RefCell::new(Track::default());
    let read = T::deserialize(Reader { value: Value::Table(table), track: &track });
    read.map_err(|error| Refused {
        path: track.into_inner().refused.unwrap_or_default(),
        message: error.to_string(),
    })
}

/// Where a reader is.
#[derive(Default)]
struct Track {
    here: Path,
    /// The first value that was refused, which is the innermost.
    refused: Option<Path>,
}

struct Reader<'t> {
    value: Value,
    track: &'t RefCell<Track>,
}

impl Reader<'_> {
    /// Reads what is one `step` inside of the value that is being read.
    fn inside<'de, S: DeserializeSeed<'de>>(self, step: Step, seed: S) -> Result<S::Value, Error> {
        let track = self.track;
        track.borrow_mut().here.0.push(step);
        let read = seed.deserialize(self);
        let track = &mut *track.borrow_mut();
        if read.is_err() {
            track.refused.get_or_insert_with(|| track.here.clone());
        }
        track.here.0.pop();
        read
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let track = self.track;
        match self.value {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(is) => visitor.visit_bool(is),
            Value::Datetime(time) => visitor.visit_string(time.to_string()),
            Value::Array(values) => {
                let count = values.len();
                let mut items = Items { rest: values.into_iter().enumerate(), track };
                let read = visitor.visit_seq(&mut items)?;
                // A visitor for a pair reads two items and does not look whether there are more.
                if items.rest.len() > 0 {
                    return Err(Error::invalid_length(count, &"fewer elements in array"));
                }
                Ok(read)
            }
            Value::Table(table) => visitor.visit_map(Entries { rest: table.into_iter(), value: None, track }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'t> {
    rest: std::iter::Enumerate<std::vec::IntoIter<Value>>,
    track: &'t RefCell<Track>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        Reader { value, track: self.track }.inside(Step::Index(index), seed).map(Some)
    }
}

struct Entries<'t> {
    rest: toml::map::IntoIter<String, Value>,
    /// The entry whose key was read.
    value: Option<(String, Value)>,
    track: &'t RefCell<Track>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key.clone(), value));
        let value = Value::String(key.clone());
        Reader { value, track: self.track }.inside(Step::Key(key), seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) = self.value.take().expect("serde asks for a key first");
        Reader { value, track: self.track }.inside(Step::Key(key), seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        let refused = |refused: Refused| format!("{}: {}", refused.path, refused.message);
        deserialize::<std::collections::BTreeMap<String, T>>(text.parse().unwrap())
            .map_err(refused)
            .map(|mut read| read.remove("a").unwrap())
    }

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        assert_eq!(read::<Vec<(u32, u32)>>("a = [[1, 2], [3, 4]]"), Ok(vec![(1, 2), (3, 4)]));
        assert_eq!(
            read::<Vec<(u32, u32)>>("a = [[1, 2], [3, 4, 5]]").unwrap_err(),
            "a[1]: invalid length 3, expected fewer elements in array"
        );
    }

    #[test]
    fn an_error_has_the_path_of_the_innermost_value() {
        assert_eq!(read::<Vec<(u32, u32)>>("a = [[1, 'x']]").unwrap_err().split(':').next(), Some("a[0][1]"));
    }
}
