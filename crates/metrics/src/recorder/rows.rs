//! Rows of samples, and the tables they become.

use super::{FlowRecorder, LinkRecorder};
use crate::figure::{Cell, Figure};
use crate::series::{Column, ColumnData, FloatColumn, TextColumn, TimeSeries};
use crate::table::{FlowSummary, LinkSummary};
use paceline_units::Time;
use std::borrow::Borrow;
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

/// Name, unit and definition of a column.
type Heading<'h> = (&'h str, &'static str, &'static str);

impl Figure {
    /// Name and meaning of its column.
    pub(super) fn heading(&self) -> Heading<'static> {
        (self.name, self.unit, self.definition)
    }
}

/// The headings of the columns of `figures`: those that say which row it is, and the others.
fn headings(figures: &'static [Figure]) -> (Vec<Heading<'static>>, Vec<Heading<'static>>) {
    let columns = figures.iter().filter(|figure| figure.cell.is_some());
    let (keys, others): (Vec<_>, Vec<_>) = columns.partition(|figure| matches!(figure.cell, Some(Cell::Key)));
    let headings = |figures: Vec<&Figure>| figures.into_iter().map(Figure::heading).collect();
    (headings(keys), headings(others))
}

fn column((name, unit, definition): Heading<'_>, data: ColumnData) -> Column {
    Column { name: name.into(), unit, definition, data }
}

fn float(values: impl Iterator<Item = Option<f64>>) -> ColumnData {
    let mut column = FloatColumn::default();
    values.for_each(|value| column.push(value));
    ColumnData::Float(column)
}

fn text(names: Vec<String>, indices: impl Iterator<Item = usize>) -> ColumnData {
    let mut column = TextColumn::new(names);
    indices.for_each(|index| column.push(index));
    ColumnData::Text(column)
}

/// The table of all flows, `flows.parquet`: by time, then flow, then stream.
pub fn flow_series(recorders: &[impl Borrow<FlowRecorder>]) -> TimeSeries {
    let recorders: Vec<&FlowRecorder> = recorders.iter().map(Borrow::borrow).collect();
    let tables: Vec<Rows> = recorders.iter().map(|recorder| recorder.rows()).collect();
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
    let (keys, mut others) = headings(FlowSummary::FIGURES);
    let rows = [
        float(order.iter().map(|(at, _, _)| Some(at.as_secs_f64()))),
        text(flows, order.iter().map(|(_, table, _)| *table)),
        text(labels.clone(), order.iter().map(stream)),
    ];
    let mut columns: Vec<Column> = keys.into_iter().zip(rows).map(|(key, data)| column(key, data)).collect();
    for heading in recorders.iter().flat_map(|recorder| recorder.headings()) {
        if !others.iter().any(|(name, ..)| *name == heading.0) {
            others.push(heading);
        }
    }
    for heading in others {
        // Flows record different states: where is this one, if anywhere?
        let places: Vec<_> = recorders
            .iter()
            .map(|recorder| recorder.headings().position(|other| other.0 == heading.0))
            .collect();
        let cell = |&(_, table, row): &(Time, usize, usize)| {
            places[table].map(|place: usize| tables[table].row(row)[place])
        };
        columns.push(column(heading, float(order.iter().map(cell))));
    }
    TimeSeries { columns }
}

/// The table of all links, `links.parquet`: by time, then link.
pub fn link_series(recorders: &[impl Borrow<LinkRecorder>]) -> TimeSeries {
    let recorders: Vec<&LinkRecorder> = recorders.iter().map(Borrow::borrow).collect();
    let order = order(recorders.iter().map(|recorder| &recorder.rows));
    let links = recorders.iter().map(|recorder| recorder.name.clone()).collect();
    let (keys, others) = headings(LinkSummary::FIGURES);
    let rows = [
        float(order.iter().map(|(at, _, _)| Some(at.as_secs_f64()))),
        text(links, order.iter().map(|(_, table, _)| *table)),
    ];
    let mut columns: Vec<Column> = keys.into_iter().zip(rows).map(|(key, data)| column(key, data)).collect();
    for (place, heading) in others.into_iter().enumerate() {
        let cell = |&(_, table, row): &(Time, usize, usize)| Some(recorders[table].rows.row(row)[place]);
        columns.push(column(heading, float(order.iter().map(cell))));
    }
    TimeSeries { columns }
}
