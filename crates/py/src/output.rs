//! What a run leaves behind, as Python sees it.

use paceline_metrics::{ColumnData, TimeSeries};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// The figures and time series of a run.
#[pyclass(frozen, module = "paceline._core")]
pub struct RunOutput {
    /// The figures, `summary.json`.
    #[pyo3(get)]
    summary_json: String,
    /// The scenario as resolved: the run can be repeated from it.
    #[pyo3(get)]
    resolved_toml: String,
    /// What was odd but did not stop the run.
    #[pyo3(get)]
    warnings: Vec<String>,
    flow_rows: TimeSeries,
    link_rows: TimeSeries,
}

impl RunOutput {
    pub fn new(
        summary_json: String,
        resolved_toml: String,
        warnings: Vec<String>,
        flow_rows: TimeSeries,
        link_rows: TimeSeries,
    ) -> RunOutput {
        RunOutput { summary_json, resolved_toml, warnings, flow_rows, link_rows }
    }
}

#[pymethods]
impl RunOutput {
    /// The columns of flows.parquet: names as lists, numbers as little-endian float64 with NaN where absent.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, &self.flow_rows)
    }

    /// The columns of links.parquet, likewise.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, &self.link_rows)
    }
}

fn columns<'py>(py: Python<'py>, series: &TimeSeries) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for column in &series.columns {
        match &column.data {
            ColumnData::Float(values) => {
                let value = |row| values.value(row).unwrap_or(f64::NAN).to_le_bytes();
                let bytes: Vec<u8> = (0..values.values().len()).flat_map(value).collect();
                table.set_item(&column.name, PyBytes::new(py, &bytes))?;
            }
            ColumnData::Text(values) => {
                let names = (0..values.indices().len()).map(|row| values.value(row));
                table.set_item(&column.name, PyList::new(py, names.collect::<Vec<_>>())?)?;
            }
        }
    }
    Ok(table)
}
