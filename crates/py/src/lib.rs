//! The Python extension module `gamelane._native`: takes scenarios and captures, returns columns. It has no logic of its own.
//! `python/gamelane/_native.pyi` describes its types.

mod apply;
mod arrow;
mod capture;
mod datagrams;
mod error;
mod generate;
mod kernel;
mod messages;
mod quantity;
mod rate;
mod recording;
mod replay;
mod run;
mod scenario;

use gamelane_core::headers;
use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<error::ScenarioError>())?;
    module.add("Cancelled", py.get_type::<error::Cancelled>())?;
    module.add("ETHERNET_HEADER", headers::ETHERNET_HEADER)?;
    module.add("IPV4_HEADER", headers::IPV4_HEADER)?;
    module.add("TCP_HEADER", headers::TCP_HEADER)?;
    module.add("UDP_HEADER", headers::UDP_HEADER)?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<apply::Recipe>()?;
    module.add_function(wrap_pyfunction!(apply::recipes, module)?)?;
    module.add_function(wrap_pyfunction!(apply::recipe_targets, module)?)?;
    module.add_class::<run::Cancel>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<recording::Recording>()?;
    module.add_function(wrap_pyfunction!(arrow::tables, module)?)?;
    module.add_function(wrap_pyfunction!(recording::played, module)?)?;
    module.add_function(wrap_pyfunction!(recording::tapped, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_class::<capture::Analysis>()?;
    module.add_function(wrap_pyfunction!(capture::analyze_captures, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture_lines, module)?)?;
    module.add_function(wrap_pyfunction!(capture::connection_log, module)?)?;
    module.add_function(wrap_pyfunction!(capture::keeps_whole_flows, module)?)?;
    module.add_function(wrap_pyfunction!(replay::recorded_streams, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::schema, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::models, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::presets, module)?)?;
    module.add_function(wrap_pyfunction!(datagrams::udp_datagrams, module)?)?;
    module.add_function(wrap_pyfunction!(generate::generate, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::classes_of_priority, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::kernel_queues, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::size_table, module)?)?;
    module.add_function(wrap_pyfunction!(messages::message_schedule, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::read_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::quantity_units, module)?)?;
    module.add_function(wrap_pyfunction!(rate::find_rate, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    Ok(())
}

/// Version of the program.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
