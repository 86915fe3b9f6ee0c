//! The results of a run, as Python sees them.

use paceline_metrics::{ColumnData, TimeSeries};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// The figures and time series of a run.
#[pyclass(frozen, module = "paceline._core")]
pub struct RunOutput {
    /// The figures, `summary.json`.
    #[pyo3(get)]
    summary_json: String,
    resolved: paceline_scenario::Scenario,
    /// Oddities that did not stop the run.
    #[pyo3(get)]
    warnings: Vec<String>,
    flow_rows: TimeSeries,
    link_rows: TimeSeries,
}

impl RunOutput {
    pub fn new(
        summary_json: String,
        resolved: paceline_scenario::Scenario,
        warnings: Vec<String>,
        flow_rows: TimeSeries,
        link_rows: TimeSeries,
    ) -> RunOutput {
        RunOutput { summary_json, resolved, warnings, flow_rows, link_rows }
    }
}

#[pymethods]
impl RunOutput {
    /// The scenario as resolved: the run can be repeated from it.
    #[getter]
    fn resolved_toml(&self) -> String {
        self.resolved.to_toml()
    }

    /// The columns of flows.parquet: name, unit, definition and buffers in Arrow's layout. The buffers of numbers are the validity
    /// bits (none if every number is there) and the float64 values; those of texts the names and the int32 index of each row.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, &self.flow_rows)
    }

    /// The columns of links.parquet, likewise.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        columns(py, &self.link_rows)
    }
}

fn columns<'py>(py: Python<'py>, series: &TimeSeries) -> PyResult<Bound<'py, PyList>> {
    let table = PyList::empty(py);
    for column in &series.columns {
        let (name, unit, definition) = (&column.name, column.unit, column.definition);
        match &column.data {
            ColumnData::Float(floats) => {
                let validity = (floats.nulls() > 0).then(|| PyBytes::new(py, floats.validity()));
                let values = buffer(py, floats.values(), f64::to_le_bytes)?;
                table.append((name, unit, definition, validity, values))?;
            }
            ColumnData::Text(texts) => {
                let indices = buffer(py, texts.indices(), i32::to_le_bytes)?;
                table.append((name, unit, definition, texts.names(), indices))?;
            }
        }
    }
    Ok(table)
}

/// `values` one after another as bytes.
fn buffer<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |buffer| {
        for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&bytes(*value));
        }
        Ok(())
    })
}
