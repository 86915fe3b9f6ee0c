//! Time series as columns that another language can take over without copying values one by one.

/// A table of columns of one length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TimeSeries {
    /// The columns, in order.
    pub columns: Vec<Column>,
}

/// A column and what it holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The unit of its values; empty for names, counts and ratios of a controller.
    pub unit: &'static str,
    /// Definition of its values, in a sentence.
    pub definition: &'static str,
    /// The values, one for each row.
    pub data: ColumnData,
}

/// The values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnData {
    /// Numbers, some absent.
    Float(FloatColumn),
    /// Names, each stored once.
    Text(TextColumn),
}

/// Numbers of which some may be absent. The layout is Arrow's: values, and one bit per value, lowest bit first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FloatColumn {
    values: Vec<f64>,
    validity: Vec<u8>,
    nulls: usize,
}

/// Names as indices into a list. The layout is that of Arrow's dictionaries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextColumn {
    indices: Vec<i32>,
    names: Vec<String>,
}

impl FloatColumn {
    /// Appends a value; what is not finite is absent.
    pub fn push(&mut self, value: Option<f64>) {
        let value = value.filter(|value| value.is_finite());
        let row = self.values.len();
        if row.is_multiple_of(8) {
            self.validity.push(0);
        }
        if let (Some(_), Some(byte)) = (value, self.validity.last_mut()) {
            *byte |= 1 << (row % 8);
        }
        self.nulls += usize::from(value.is_none());
        self.values.push(value.unwrap_or(0.0));
    }

    /// The values, zero where absent.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One bit per value, lowest first: whether it is there.
    pub fn validity(&self) -> &[u8] {
        &self.validity
    }

    /// How many are absent.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// The value of a row.
    pub fn value(&self, row: usize) -> Option<f64> {
        let is_there = self.validity.get(row / 8)? >> (row % 8) & 1 == 1;
        if is_there { self.values.get(row).copied() } else { None }
    }
}

impl TextColumn {
    /// A column of these names, without rows.
    pub fn new(names: Vec<String>) -> TextColumn {
        TextColumn { indices: Vec::new(), names }
    }

    /// Appends a row with the name of this index.
    pub fn push(&mut self, index: usize) {
        self.indices.push(index as i32);
    }

    /// The index of each row's name.
    pub fn indices(&self) -> &[i32] {
        &self.indices
    }

    /// Names that the column's indices stand for.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a row.
    pub fn value(&self, row: usize) -> Option<&str> {
        let index = usize::try_from(*self.indices.get(row)?).ok()?;
        self.names.get(index).map(String::as_str)
    }
}

impl TimeSeries {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.data {
            ColumnData::Float(column) => column.values.len(),
            ColumnData::Text(column) => column.indices.len(),
        })
    }

    /// The column of numbers called `name`.
    pub fn float(&self, name: &str) -> Option<&FloatColumn> {
        self.columns.iter().find(|column| column.name == name).and_then(|column| match &column.data {
            ColumnData::Float(column) => Some(column),
            ColumnData::Text(_) => None,
        })
    }

    /// The column of names called `name`.
    pub fn text(&self, name: &str) -> Option<&TextColumn> {
        self.columns.iter().find(|column| column.name == name).and_then(|column| match &column.data {
            ColumnData::Text(column) => Some(column),
            ColumnData::Float(_) => None,
        })
    }
}

#[cfg(test)]
mod tests;
