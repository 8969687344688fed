//! Tables of records through the Arrow C data interface, without copying columns.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowDictionaryKeyType, UInt8Type, UInt32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, PrimitiveArray, RecordBatch, RecordBatchIterator, StringArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use gamelane_record::Records;
use gamelane_record::table::{Cells, Column, TABLES, Unit};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// A table that polars, pyarrow and other libraries read without a copy: `polars.DataFrame(table)`.
#[pyclass(frozen, module = "gamelane._native")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// Exports the table (Arrow PyCapsule interface). The requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// Makes the table `name`. `own` are the names of the flows of the records, `all` the categories of the column `flow`.
pub(crate) fn table(records: &Records, name: &str, own: &[&str], all: &[String]) -> PyResult<Table> {
    let table =
        gamelane_record::table::Table::named(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    let columns = table.columns().into_iter().zip(table.cells(records));
    let columns = columns.map(|(column, cells)| array(&column, cells, own, all));
    let made = columns.collect::<Result<Vec<_>, _>>().and_then(|columns| {
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    });
    made.map(Table).map_err(|error| PyRuntimeError::new_err(format!("{name}: {error}")))
}

/// Describes every table: name, meaning of a row, and columns.
#[pyfunction]
pub(crate) fn tables(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let described = TABLES.iter().map(|table| {
        let columns = table.columns().into_iter().map(|column| {
            let dict = PyDict::new(py);
            dict.set_item("name", column.name)?;
            dict.set_item("unit", column.unit.name())?;
            dict.set_item("nullable", column.unit.is_nullable())?;
            dict.set_item("about", column.about)?;
            if let Unit::Word(words) = column.unit {
                dict.set_item("words", words)?;
            }
            Ok(dict)
        });
        let dict = PyDict::new(py);
        dict.set_item("name", table.name)?;
        dict.set_item("row", table.row)?;
        dict.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}

fn array(
    column: &Column,
    cells: Cells,
    own: &[&str],
    all: &[String],
) -> Result<(Field, ArrayRef), ArrowError> {
    let (array, words): (ArrayRef, Option<Vec<&str>>) = match (cells, column.unit) {
        (Cells::Flows(flows), _) => {
            let place = |name: &&str| all.iter().position(|known| known == name).unwrap_or(usize::MAX) as u32;
            let places: Vec<u32> = own.iter().map(place).collect();
            let keys = flows.into_iter().map(|flow| places[flow as usize]);
            let words: Vec<&str> = all.iter().map(String::as_str).collect();
            (dictionary::<UInt32Type>(keys.collect::<Vec<_>>().into(), &words)?, Some(words))
        }
        (Cells::Words(cells), Unit::Word(words)) => {
            (dictionary::<UInt8Type>(cells.into(), words)?, Some(words.to_vec()))
        }
        (Cells::Words(cells), _) => {
            return Err(ArrowError::SchemaError(format!("{} words without a list", cells.len())));
        }
        (Cells::Times(cells), _) => (Arc::new(Float64Array::from(cells)), None),
        (Cells::MaybeTimes(cells), _) => (Arc::new(Float64Array::from(cells)), None),
        (Cells::Counts(cells), _) => (Arc::new(UInt32Array::from(cells)), None),
        (Cells::SmallCounts(cells), _) => (Arc::new(UInt16Array::from(cells)), None),
        (Cells::Amounts(cells), _) => (Arc::new(UInt64Array::from(cells)), None),
        (Cells::MaybeAmounts(cells), _) => (Arc::new(UInt64Array::from(cells)), None),
    };
    let kind: DataType = array.data_type().clone();
    let field = Field::new(column.name, kind, column.unit.is_nullable());
    let field = match words {
        Some(words) => field.with_metadata([(POLARS_ENUM, enumeration(&words))]),
        None => field,
    };
    Ok((field, array))
}

fn dictionary<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    words: &[&str],
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<K>::try_new(keys, Arc::new(StringArray::from(words.to_vec())))?))
}

/// Metadata key that makes polars read a dictionary as an `Enum`.
const POLARS_ENUM: &str = "_PL_ENUM_VALUES2";

/// Encodes words as polars does: length, semicolon, word.
fn enumeration(words: &[&str]) -> String {
    words.iter().map(|word| format!("{};{word}", word.len())).collect()
}
