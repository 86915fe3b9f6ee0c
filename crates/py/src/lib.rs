//! Python bindings of the controllers, the simulator and the network driver: thin, no policy. The only room that knows pyo3.

mod arguments;
mod browser;
mod controller;
mod coupling;
mod exchange;
mod guest;
mod half;
mod media_receiver;
mod media_sender;
mod network;
mod output;
mod probe;
mod registry;
mod simulate;
mod source;
mod video;

use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be run."
);

/// Puts everything that the package `paceline` needs into its module `_core`.
///
/// # Errors
/// If Python refuses.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    paceline_metrics::set_version(env!("PACELINE_VERSION"));
    module.add("version", paceline_metrics::version())?;
    module.add("build", paceline_sim::BUILD)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<guest::SentPacket>()?;
    module.add_class::<guest::PacketResult>()?;
    module.add_class::<guest::FlowFacts>()?;
    module.add_function(wrap_pyfunction!(guest::register_class, module)?)?;
    module.add_function(wrap_pyfunction!(guest::register_program, module)?)?;
    module.add_function(wrap_pyfunction!(guest::withdraw_guest, module)?)?;
    module.add_function(wrap_pyfunction!(guest::registered_guests, module)?)?;
    module.add_class::<controller::Controller>()?;
    module.add_class::<coupling::Coupling>()?;
    module.add_class::<half::ReceiverHalf>()?;
    module.add_class::<media_sender::MediaSender>()?;
    module.add_class::<media_sender::MediaDatagram>()?;
    module.add_class::<media_sender::MediaEvent>()?;
    module.add_class::<media_receiver::MediaReceiver>()?;
    module.add_class::<media_receiver::MediaArrival>()?;
    module.add_class::<source::Scenario>()?;
    module.add_class::<output::RunOutput>()?;
    module.add_function(wrap_pyfunction!(source::heading_units, module)?)?;
    module.add_function(wrap_pyfunction!(source::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(controller::bitrate_names, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::run, module)?)?;
    module.add_function(wrap_pyfunction!(registry::registry_json, module)?)?;
    module.add_function(wrap_pyfunction!(registry::registry_families, module)?)?;
    module.add_function(wrap_pyfunction!(registry::figures_json, module)?)?;
    module.add_function(wrap_pyfunction!(network::send, module)?)?;
    module.add_function(wrap_pyfunction!(network::receive, module)?)?;
    module.add_function(wrap_pyfunction!(network::link, module)?)?;
    module.add_function(wrap_pyfunction!(network::live, module)?)?;
    module.add_function(wrap_pyfunction!(network::tunnel, module)?)?;
    module.add_function(wrap_pyfunction!(browser::browser, module)?)?;
    module.add_function(wrap_pyfunction!(probe::probe_link, module)?)?;
    module.add_function(wrap_pyfunction!(probe::probe_path, module)?)?;
    module.add_function(wrap_pyfunction!(probe::pair_link, module)?)?;
    module.add_function(wrap_pyfunction!(probe::pair_path, module)?)?;
    module.add_function(wrap_pyfunction!(probe::reflect, module)?)?;
    module.add_function(wrap_pyfunction!(exchange::exchange, module)?)?;
    Ok(())
}
