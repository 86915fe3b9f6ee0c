//! Rows of samples, and the tables they become.

use super::{FlowRecorder, LinkRecorder};
use crate::series::{Column, ColumnData, FloatColumn, TextColumn, TimeSeries};
use paceline_units::Time;
use std::collections::BTreeMap;

/// Samples of one flow or link: rows of `width` numbers one after another, NaN where absent.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    width: usize,
    times: Vec<Time>,
    /// Of each row, the stream.
    streams: Vec<u8>,
    cells: Vec<f64>,
}

impl Rows {
    pub(super) fn new(width: usize) -> Rows {
        Rows { width, times: Vec::new(), streams: Vec::new(), cells: Vec::new() }
    }

    pub(super) fn push(&mut self, at: Time, stream: u8, cells: impl IntoIterator<Item = Option<f64>>) {
        self.times.push(at);
        self.streams.push(stream);
        self.cells.extend(cells.into_iter().take(self.width).map(|cell| cell.unwrap_or(f64::NAN)));
        // A caller with fewer states than it declared leaves the rest absent.
        self.cells.resize(self.times.len() * self.width, f64::NAN);
    }

    /// Time and stream of a row, if there is one: rows are in this order.
    pub(super) fn key(&self, row: usize) -> Option<(Time, u8)> {
        Some((*self.times.get(row)?, *self.streams.get(row)?))
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.width..][..self.width]
    }

    /// The mean of each column over the rows that `counts` accepts; absent cells count in neither sum nor number.
    pub(super) fn means(&self, counts: impl Fn(Time) -> bool) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0u64); self.width];
        for (index, _) in self.times.iter().enumerate().filter(|(_, at)| counts(**at)) {
            for (sum, cell) in sums.iter_mut().zip(self.row(index)).filter(|(_, cell)| cell.is_finite()) {
                *sum = (sum.0 + cell, sum.1 + 1);
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / count as f64)).collect()
    }
}

/// Which row of which table comes when: by time, then table, then row.
fn order<'r>(tables: impl Iterator<Item = &'r Rows>) -> Vec<(Time, usize, usize)> {
    let mut order: Vec<_> = tables
        .enumerate()
        .flat_map(|(table, rows)| rows.times.iter().enumerate().map(move |(row, at)| (*at, table, row)))
        .collect();
    order.sort_unstable();
    order
}

fn float(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    let mut column = FloatColumn::default();
    values.for_each(|value| column.push(value));
    Column { name: name.into(), data: ColumnData::Float(column) }
}

fn text(name: &str, names: Vec<String>, indices: impl Iterator<Item = usize>) -> Column {
    let mut column = TextColumn::new(names);
    indices.for_each(|index| column.push(index));
    Column { name: name.into(), data: ColumnData::Text(column) }
}

/// The table of all flows, `flows.parquet`: by time, then flow, then stream.
pub fn flow_series(recorders: &[FlowRecorder]) -> TimeSeries {
    let tables: Vec<Rows> = recorders.iter().map(FlowRecorder::rows).collect();
    let order = order(tables.iter());
    let mut labels: Vec<String> =
        recorders.iter().flat_map(|recorder| recorder.config.streams.iter().cloned()).collect();
    labels.sort_unstable();
    labels.dedup();
    let label_of: BTreeMap<&str, usize> =
        labels.iter().enumerate().map(|(index, label)| (label.as_str(), index)).collect();
    let stream = |&(_, table, row): &(Time, usize, usize)| {
        let label = recorders[table].config.streams.get(usize::from(tables[table].streams[row]));
        label.and_then(|label| label_of.get(label.as_str())).copied().unwrap_or(0)
    };
    let flows = recorders.iter().map(|recorder| recorder.config.name.clone()).collect();
    let mut columns = vec![
        float("time_s", order.iter().map(|(at, _, _)| Some(at.as_secs_f64()))),
        text("flow", flows, order.iter().map(|(_, table, _)| *table)),
        text("stream", labels.clone(), order.iter().map(stream)),
    ];
    let mut names: Vec<&str> = FlowRecorder::COLUMNS.to_vec();
    for recorder in recorders {
        for name in recorder.column_names() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in names {
        // Flows record different states: where is this one, if anywhere?
        let places: Vec<_> = recorders
            .iter()
            .map(|recorder| recorder.column_names().position(|column| column == name))
            .collect();
        let cell = |&(_, table, row): &(Time, usize, usize)| {
            places[table].map(|place: usize| tables[table].row(row)[place])
        };
        columns.push(float(name, order.iter().map(cell)));
    }
    TimeSeries { columns }
}

/// The table of all links, `links.parquet`: by time, then link.
pub fn link_series(recorders: &[LinkRecorder]) -> TimeSeries {
    let order = order(recorders.iter().map(|recorder| &recorder.rows));
    let links = recorders.iter().map(|recorder| recorder.name.clone()).collect();
    let mut columns = vec![
        float("time_s", order.iter().map(|(at, _, _)| Some(at.as_secs_f64()))),
        text("link", links, order.iter().map(|(_, table, _)| *table)),
    ];
    for (place, name) in LinkRecorder::COLUMNS.iter().enumerate() {
        columns.push(float(
            name,
            order.iter().map(|&(_, table, row)| Some(recorders[table].rows.row(row)[place])),
        ));
    }
    TimeSeries { columns }
}
