//! A resolved scenario as TOML: every default written out, so that the run can be repeated from it.

use crate::params;
use crate::spec::*;
use paceline_cc::Priority;
use paceline_link::{QueueConfig, QueueLimit};
use paceline_units::param::{Kinds, ParamSet};
use paceline_units::text::{format_rate, format_size, format_time};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

impl Scenario {
    /// The scenario as TOML. Reading it gives the same scenario again; file names stand as they are.
    pub fn to_toml(&self) -> String {
        self.document().to_string()
    }

    /// The same before it is a text.
    pub(crate) fn document(&self) -> DocumentMut {
        let mut document = DocumentMut::new();
        put(&mut document, "name", self.name.as_str());
        put(&mut document, "duration", time(self.duration));
        put(&mut document, "warmup", time(self.warmup));
        put(&mut document, "seed", count(self.seed));
        put(&mut document, "sample", time(self.sample));
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

fn rate(rate: Bitrate) -> Value {
    format_rate(rate).into()
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
    let mut table = Table::new();
    for (key, node) in [("from", &link.from), ("to", &link.to)] {
        if let Some(node) = node {
            put(&mut table, key, node.as_str());
        }
    }
    put(&mut table, "rate", params::toml(&link.rate.to_value()));
    put(&mut table, "delay", time(link.delay));
    put(&mut table, "queue", queue(&link.queue));
    let families =
        [("mark", link.mark.as_ref().map(Inline::kind)), ("loss", link.loss.as_ref().map(Inline::kind))];
    for (key, chosen) in families {
        if let Some(chosen) = chosen {
            put(&mut table, key, chosen);
        }
    }
    match link.noise.as_slice() {
        [] => {}
        [noise] => put(&mut table, "noise", Inline::kind(noise)),
        noises => put(&mut table, "noise", list(noises.iter().map(Inline::kind))),
    }
    put(&mut table, "down", list(link.down.iter().map(|(from, to)| list([time(*from), time(*to)]))));
    put(&mut table, "overhead", size(link.overhead));
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
        if !flow.controller.has_limits() {
            put_bitrate(&mut table, stream, flow.controller.params.bitrate_names()[1].is_none());
        }
    }
    match flow.priority.as_slice() {
        // Several streams have priorities of their own; the flow's is said only where it shares with others.
        [only]
            if only.priority == Priority::ONE && flow.streams.iter().any(|stream| stream.name.is_some()) => {}
        [only] => put(&mut table, "priority", only.priority.weight()),
        steps => {
            let step = |step: &PriorityStep| list([time(step.at), step.priority.weight().into()]);
            put(&mut table, "priority", list(steps.iter().map(step)));
        }
    }
    put(&mut table, "ecn", flow.ecn.name());
    put(&mut table, "path", list(flow.path.iter().map(String::as_str)));
    put(&mut table, "return_path", list(flow.return_path.iter().map(String::as_str)));
    if flow.return_path.is_empty() {
        put(&mut table, "return_delay", time(flow.return_delay));
    }
    put(&mut table, "start", time(flow.start));
    if let Some(stop) = flow.stop {
        put(&mut table, "stop", time(stop));
    }
    if !flow.pause.is_empty() {
        let pauses = flow.pause.iter().map(|(from, to)| list([time(*from), time(*to)]));
        put(&mut table, "pause", list(pauses));
    }
    put(&mut table, "packet_size", size(flow.packet_size));
    put(&mut table, "overhead", size(flow.overhead));
    if flow.transport.choice().plays_out(flow.controller.params.steers()) {
        put(&mut table, "playout", Inline::kind(&flow.playout));
    }
    flow.transport.write(&mut table);
    put(&mut table, "record", list(flow.record.iter().map(String::as_str)));
    table.insert("controller", Item::Table(controller_table(&flow.controller)));
    let streams = || flow.streams.iter().filter(|stream| stream.name.is_some());
    if streams().next().is_some() {
        table.insert("streams", named(streams().map(|stream| (stream.label(), stream_table(stream)))));
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

/// A table of its own: the parameters are too many for a line.
fn controller_table(controller: &ControllerSpec) -> Table {
    let mut table = Table::new();
    put(&mut table, "kind", controller.params.kind());
    put(&mut table, "profile", controller.profile.as_str());
    params::write(&mut table, &controller.params);
    table
}

/// The limits of a stream; `start` where the controller does not say it.
fn put_bitrate(table: &mut Table, stream: &StreamSpec, start: bool) {
    let Some(limits) = stream.limits else { return };
    let min = (limits.min > Bitrate::ZERO).then(|| rate(limits.min));
    let max = (limits.max < Bitrate::MAX).then(|| rate(limits.max));
    let start = start.then(|| rate(limits.start));
    let bitrate = Inline::default().perhaps("min", min).perhaps("start", start);
    put(table, "bitrate", bitrate.perhaps("max", max));
}

fn stream_table(stream: &StreamSpec) -> Table {
    let mut table = Table::new();
    put(&mut table, "source", Inline::kind(&stream.source));
    put(&mut table, "priority", stream.priority);
    put_bitrate(&mut table, stream, true);
    for (key, at) in [("start", stream.start), ("stop", stream.stop)] {
        if let Some(at) = at {
            put(&mut table, key, time(at));
        }
    }
    table
}
