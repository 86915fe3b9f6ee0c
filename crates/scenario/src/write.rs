//! A resolved scenario as TOML: every default written out, so that the run can be repeated from it.

use crate::params;
use crate::priorities::Priorities;
use crate::spec::*;
use paceline_link::{QueueConfig, QueueLimit};
use paceline_units::param::{Kinds, ParamSet};
use paceline_units::text::{format_size, format_time};
use paceline_units::{Bytes, TimeDelta};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

impl Scenario {
    /// The scenario as TOML. Reading it gives the same scenario again; file names stand as they are.
    pub fn to_toml(&self) -> String {
        self.document().to_string()
    }

    /// The same before it is a text.
    pub(crate) fn document(&self) -> DocumentMut {
        let mut document = DocumentMut::new();
        params::write(document.as_table_mut(), self);
        if !self.links.is_empty() {
            document
                .insert("links", named(self.links.iter().map(|link| (link.name.as_str(), link_table(link)))));
        }
        document.insert("flows", named(self.flows.iter().map(|flow| (flow.name.as_str(), flow_table(flow)))));
        if !self.couplings.is_empty() {
            let tables = self.couplings.iter();
            document.insert(
                "coupling",
                named(tables.map(|coupling| (coupling.name.as_str(), coupling_table(coupling, &self.flows)))),
            );
        }
        document
    }
}

/// Tables by name, without a header of their own.
fn named<'n>(tables: impl Iterator<Item = (&'n str, Table)>) -> Item {
    let mut all = Table::new();
    all.set_implicit(true);
    for (name, table) in tables {
        all.insert(name, Item::Table(table));
    }
    Item::Table(all)
}

/// Sets a key.
pub(crate) fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key, toml_edit::value(value));
}

fn time(span: TimeDelta) -> Value {
    format_time(span).into()
}

/// A size, as a value.
pub(crate) fn size(size: Bytes) -> Value {
    format_size(size).into()
}

/// A whole number; more than TOML can say, which nothing reaches, as the largest that it can.
fn count(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

fn list<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Value {
    items.into_iter().map(Into::into).collect::<Array>().into()
}

/// An inline table.
#[derive(Default)]
pub(crate) struct Inline(InlineTable);

impl Inline {
    /// One of a family with all its parameters.
    fn kind(chosen: &impl Kinds) -> Inline {
        Inline::default().with("kind", chosen.kind()).with_all(chosen)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Inline {
        self.0.insert(key, value.into());
        self
    }

    /// Left out if there is no value.
    pub(crate) fn perhaps(self, key: &str, value: Option<impl Into<Value>>) -> Inline {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// All parameters of a set that are not left out.
    pub(crate) fn with_all(mut self, params: &impl ParamSet) -> Inline {
        params::write(&mut self.0, params);
        self
    }
}

impl From<Inline> for Value {
    fn from(inline: Inline) -> Value {
        inline.0.into()
    }
}

fn link_table(link: &LinkSpec) -> Table {
    let mut table = all(link);
    put(&mut table, "queue", queue(&link.queue));
    if let [noise] = link.noise.as_slice() {
        put(&mut table, "noise", Inline::kind(noise));
    }
    table
}

fn queue(config: &QueueConfig) -> Value {
    let table = Inline::default().with("kind", config.kind());
    let table = match config.limit() {
        QueueLimit::Time(span) => table.with("limit", time(span)),
        QueueLimit::Packets(packets) => table.with("packets", count(packets)),
        QueueLimit::Bytes(bytes) => table.with("bytes", size(bytes)),
        QueueLimit::Unlimited => table.with("packets", count(u64::MAX)),
    };
    table.with_all(config).into()
}

fn flow_table(flow: &FlowSpec) -> Table {
    let mut table = Table::new();
    put(&mut table, "transport", flow.transport.name());
    if let [stream @ StreamSpec { name: None, .. }] = flow.streams.as_slice() {
        put(&mut table, "source", Inline::kind(&stream.source));
        if let Some(limits) = stream.limits.filter(|_| !flow.controller.has_limits()) {
            let mut keys = limits.said();
            keys.start = keys.start.filter(|_| flow.controller.params.bitrate_names()[1].is_none());
            put(&mut table, "bitrate", Inline::default().with_all(&keys));
        }
    }
    params::write(&mut table, flow);
    // Several streams have priorities of their own; the flow's is said only where it shares with others.
    if flow.priority == Priorities::default() && flow.streams.iter().any(|stream| stream.name.is_some()) {
        table.remove("priority");
    }
    flow.transport.write(&mut table);
    put(&mut table, "record", list(flow.record.iter().map(String::as_str)));
    table.insert("controller", Item::Table(controller_table(&flow.controller)));
    let streams = || flow.streams.iter().filter(|stream| stream.name.is_some());
    if streams().next().is_some() {
        table.insert("streams", named(streams().map(|stream| (stream.label(), all(stream)))));
    }
    table
}

fn coupling_table(coupling: &CouplingSpec, flows: &[FlowSpec]) -> Table {
    let mut table = Table::new();
    put(&mut table, "kind", coupling.params.kind());
    put(&mut table, "profile", coupling.profile.as_str());
    let names = |group: &Vec<usize>| list(group.iter().map(|&flow| flows[flow].name.as_str()));
    put(&mut table, "groups", list(coupling.groups.iter().map(names)));
    params::write(&mut table, &coupling.params);
    if let Some(detection) = &coupling.detection {
        put(&mut table, "detection", Inline::default().with_all(detection));
    }
    if !coupling.truth.is_empty() {
        let step = |step: &TruthStep| list([time(step.at), list(step.groups.iter().map(names))]);
        put(&mut table, "truth", list(coupling.truth.iter().map(step)));
    }
    table
}

/// A table of its own with everything that a set says.
fn all(params: &impl ParamSet) -> Table {
    let mut table = Table::new();
    params::write(&mut table, params);
    table
}

/// A table of its own: the parameters are too many for a line.
fn controller_table(controller: &ControllerSpec) -> Table {
    let mut table = Table::new();
    put(&mut table, "kind", controller.params.kind());
    put(&mut table, "profile", controller.profile.as_str());
    params::write(&mut table, &controller.params);
    table
}
