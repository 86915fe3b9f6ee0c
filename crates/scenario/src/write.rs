//! A resolved scenario as text: every default written out, so that the run can be repeated from it.

mod source;

use self::source::source;
use crate::overrides::quoted_key;
use crate::parameter;
use crate::quantity::{format_rate, format_size, format_time};
use crate::schema::{self, ECHO, ECN, RECOVERY, SHAPES};
use crate::spec::*;
use paceline_cc::params::ParamSet;
use paceline_link::generate::{RateState, StateParams, StatesParams};
use paceline_link::trace::{Column, TraceFormat, TraceOptions};
use paceline_link::{LossConfig, MarkConfig, NoiseConfig, NoiseKind, QueueConfig, QueueLimit};
use paceline_media::PlayoutConfig;
use paceline_transport::rtp::FeedbackConfig;
use paceline_transport::tcp::TcpConfig;
use paceline_units::{Bitrate, Bytes, TimeDelta};
use std::fmt::Write;

impl Scenario {
    /// The scenario as TOML. Reading it gives the same scenario again; file names stand as they are.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        line(&mut out, "name", &text(&self.name));
        line(&mut out, "duration", &time(self.duration));
        line(&mut out, "warmup", &time(self.warmup));
        line(&mut out, "seed", &self.seed.to_string());
        line(&mut out, "sample", &time(self.sample));
        for link in &self.links {
            write_link(&mut out, link);
        }
        for flow in &self.flows {
            write_flow(&mut out, flow);
        }
        out
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{key} = {value}");
}

fn text(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

fn time(span: TimeDelta) -> String {
    format!("\"{}\"", format_time(span))
}

fn rate(rate: Bitrate) -> String {
    format!("\"{}\"", format_rate(rate))
}

fn size(size: Bytes) -> String {
    format!("\"{}\"", format_size(size))
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

/// The pairs of an inline table.
#[derive(Default)]
struct Inline(Vec<String>);

impl Inline {
    fn kind(kind: &str) -> Inline {
        Inline::default().with("kind", text(kind))
    }

    fn with(mut self, key: &str, value: String) -> Inline {
        self.0.push(format!("{} = {value}", quoted_key(key)));
        self
    }

    /// Left out if there is no value.
    fn perhaps(self, key: &str, value: Option<String>) -> Inline {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn end(self) -> String {
        format!("{{ {} }}", self.0.join(", "))
    }
}

fn write_link(out: &mut String, link: &LinkSpec) {
    let _ = writeln!(out, "\n[links.{}]", quoted_key(&link.name));
    for (key, node) in [("from", &link.from), ("to", &link.to)] {
        if let Some(node) = node {
            line(out, key, &text(node));
        }
    }
    line(out, "rate", &link_rate(&link.rate));
    line(out, "delay", &time(link.delay));
    line(out, "queue", &queue(&link.queue));
    if let Some(config) = &link.mark {
        line(out, "mark", &mark(config));
    }
    if let Some(config) = &link.loss {
        line(out, "loss", &loss(config));
    }
    if let Some(config) = &link.noise {
        line(out, "noise", &noise(config));
    }
    line(out, "down", &list(link.down.iter().map(|(from, to)| list([time(*from), time(*to)]))));
    line(out, "overhead", &size(link.overhead));
}

fn link_rate(spec: &RateSpec) -> String {
    match spec {
        RateSpec::Constant(constant) => rate(*constant),
        RateSpec::Steps(steps) => {
            let steps = steps.iter().map(|(at, step)| list([time(*at), link_rate(step)]));
            Inline::default().with("steps", list(steps)).end()
        }
        RateSpec::Trace(trace) => {
            let table = options(Inline::default().with("trace", text(&trace.file)), &trace.options);
            let table = table.with("offset", time(trace.offset)).perhaps("zero", trace.zero.map(rate));
            played(table, trace.scale, trace.repeat)
        }
        RateSpec::Mmwave(mmwave) => {
            let table = Inline::default()
                .with("generator", text("mmwave"))
                .perhaps("length", mmwave.length.map(time))
                .perhaps("seed", mmwave.seed.map(|seed| seed.to_string()));
            played(mmwave_model(table, &mmwave.model), mmwave.scale, mmwave.repeat)
        }
    }
}

fn mmwave_model(table: Inline, model: &MmwaveModel) -> Inline {
    match model {
        MmwaveModel::TwoStates(params) => table
            .with("los", state(&params.los))
            .with("blocked", state(&params.blocked))
            .with("outage_ratio", number(params.outage_ratio))
            .with("rate_max", rate(params.rate_max))
            .with("interval", time(params.interval)),
        MmwaveModel::States(params) => table
            .with("states", list(params.states.iter().map(|state| rate_state(state, params))))
            .with("ramps", params.ramps.to_string())
            .with("interval", time(params.interval)),
    }
}

fn rate_state(state: &RateState, params: &StatesParams) -> String {
    let weights = params.states.iter().zip(&state.next).filter(|(_, weight)| **weight > 0.0);
    let next = weights.fold(Inline::default(), |table, (to, weight)| table.with(&to.name, number(*weight)));
    Inline::default()
        .with("name", text(&state.name))
        .with("rates", list(state.rates.iter().map(|&quantile| rate(quantile))))
        .with("correlation", time(state.correlation))
        .with("dwell", time(state.dwell))
        .with("dwell_shape", number(state.dwell_shape))
        .with("next", next.end())
        .end()
}

fn played(table: Inline, scale: f64, repeat: bool) -> String {
    table.with("scale", number(scale)).with("repeat", repeat.to_string()).end()
}

/// A number with a point, the shortest that reads back as the same.
fn number(number: f64) -> String {
    format!("{number:?}")
}

fn options(table: Inline, options: &TraceOptions) -> Inline {
    let name =
        TraceFormat::ALL.iter().find(|(_, format)| *format == options.format).map_or("", |(name, _)| name);
    let column = |column: &Option<Column>| {
        column.as_ref().map(|column| match column {
            Column::Index(index) => index.to_string(),
            Column::Name(name) => text(name),
        })
    };
    let opportunity = (options.format == TraceFormat::Mahimahi).then(|| size(options.opportunity));
    table
        .with("format", text(name))
        .perhaps("interval", options.interval.map(time))
        .perhaps("column", column(&options.column))
        .perhaps("time_column", column(&options.time_column))
        .perhaps("opportunity", opportunity)
}

fn state(state: &StateParams) -> String {
    let shape = SHAPES.iter().find(|(_, shape)| *shape == state.shape).map_or("", |(name, _)| name);
    Inline::default()
        .with("mean", rate(state.mean))
        .with("std", rate(state.std))
        .with("shape", text(shape))
        .with("correlation", time(state.correlation))
        .with("dwell", time(state.dwell))
        .end()
}

fn queue(config: &QueueConfig) -> String {
    let table = Inline::kind(config.kind());
    let table = match config.limit() {
        QueueLimit::Time(span) => table.with("limit", time(span)),
        QueueLimit::Packets(packets) => table.with("packets", packets.to_string()),
        QueueLimit::Bytes(bytes) => table.with("bytes", size(bytes)),
        // The largest count that TOML can say: nothing reaches it.
        QueueLimit::Unlimited => table.with("packets", i64::MAX.to_string()),
    };
    let values = config.keys().iter().map(|key| (key.name, config.value(key.name).map(schema::queue::toml)));
    values.fold(table, |table, (name, value)| table.perhaps(name, value)).end()
}

fn mark(config: &MarkConfig) -> String {
    match *config {
        MarkConfig::Step { at } => Inline::kind("step").with("at", time(at)),
        MarkConfig::Ramp { low, high } => {
            Inline::kind("ramp").with("low", time(low)).with("high", time(high))
        }
        MarkConfig::Classic { at, lasting } => {
            Inline::kind("classic").with("at", time(at)).with("for", time(lasting))
        }
    }
    .end()
}

fn loss(config: &LossConfig) -> String {
    match *config {
        LossConfig::Bernoulli { ratio } => Inline::kind("bernoulli").with("ratio", number(ratio)),
        LossConfig::GilbertElliott { p, r, loss_good, loss_bad } => Inline::kind("gilbert-elliott")
            .with("p", number(p))
            .with("r", number(r))
            .with("loss_good", number(loss_good))
            .with("loss_bad", number(loss_bad)),
    }
    .end()
}

fn noise(config: &NoiseConfig) -> String {
    let table = match config.kind {
        NoiseKind::Rfc8868 { std, n_std } => {
            Inline::kind("rfc8868").with("std", time(std)).with("n_std", number(n_std))
        }
        NoiseKind::Uniform { max } => Inline::kind("uniform").with("max", time(max)),
        NoiseKind::Exponential { mean, max } => Inline::kind("exponential")
            .with("mean", time(mean))
            .perhaps("max", (max != TimeDelta::MAX).then(|| time(max))),
    };
    table.with("reorder", config.reorder.to_string()).end()
}

fn write_flow(out: &mut String, flow: &FlowSpec) {
    let name = quoted_key(&flow.name);
    let ecn = ECN.iter().find(|(_, mode)| *mode == flow.ecn).map_or("", |(name, _)| name);
    let _ = writeln!(out, "\n[flows.{name}]");
    line(out, "transport", &text(flow.transport.name()));
    if let [StreamSpec { name: None, source, priority, .. }] = flow.streams.as_slice() {
        line(out, "source", &self::source::source(source));
        line(out, "priority", &number(*priority));
    }
    line(out, "ecn", &text(ecn));
    line(out, "path", &list(flow.path.iter().map(|link| text(link))));
    line(out, "return_path", &list(flow.return_path.iter().map(|link| text(link))));
    if flow.return_path.is_empty() {
        line(out, "return_delay", &time(flow.return_delay));
    }
    line(out, "start", &time(flow.start));
    if let Some(stop) = flow.stop {
        line(out, "stop", &time(stop));
    }
    if !flow.pause.is_empty() {
        let pauses = flow.pause.iter().map(|(from, to)| list([time(*from), time(*to)]));
        line(out, "pause", &list(pauses));
    }
    line(out, "packet_size", &size(flow.packet_size));
    line(out, "overhead", &size(flow.overhead));
    if flow.transport.reports(flow.controller.params.kind()) {
        line(out, "feedback", &feedback(&flow.feedback));
    }
    if flow.transport.plays_out(flow.controller.params.kind()) {
        line(out, "playout", &playout(&flow.playout));
    }
    if let Some(config) = &flow.tcp {
        line(out, "tcp", &tcp(config));
    }
    if let Some(spec) = &flow.dccp {
        line(out, "dccp", &dccp(spec));
    }
    line(out, "record", &list(flow.record.iter().map(|state| text(state))));
    write_controller(out, &name, &flow.controller);
    for stream in flow.streams.iter().filter(|stream| stream.name.is_some()) {
        write_stream(out, &name, stream);
    }
}

fn write_controller(out: &mut String, flow: &str, controller: &ControllerSpec) {
    // A table of its own: the parameters are too many for a line.
    let _ = writeln!(out, "\n[flows.{flow}.controller]");
    line(out, "kind", &text(controller.params.kind()));
    line(out, "profile", &text(&controller.profile));
    for spec in controller.params.specs() {
        if let Some(value) = controller.params.value(spec.name) {
            line(out, spec.name, &parameter::toml(value));
        }
    }
}

fn write_stream(out: &mut String, flow: &str, stream: &StreamSpec) {
    let _ = writeln!(out, "\n[flows.{flow}.streams.{}]", quoted_key(stream.label()));
    line(out, "source", &source(&stream.source));
    line(out, "priority", &number(stream.priority));
    if let Some(limits) = stream.limits {
        line(out, "target_bitrate_min", &rate(limits.min));
        line(out, "target_bitrate_start", &rate(limits.start));
        line(out, "target_bitrate_max", &rate(limits.max));
    }
}

fn feedback(feedback: &FeedbackConfig) -> String {
    Inline::default()
        .with("packets", feedback.packets.to_string())
        .with("time", time(feedback.time))
        .with("marker", feedback.marker.to_string())
        .with("clock", format!("\"1/{}s\"", feedback.clock.ticks_per_second()))
        .with("overlap", feedback.overlap.to_string())
        .end()
}

fn tcp(config: &TcpConfig) -> String {
    let recovery = RECOVERY.iter().find(|(_, kind)| *kind == config.recovery).map_or("", |(name, _)| name);
    let echo = ECHO.iter().find(|(_, echo)| *echo == config.ecn_echo).map_or("", |(name, _)| name);
    Inline::default()
        .with("ack_every", config.ack_every.to_string())
        .with("ack_delay", time(config.ack_delay))
        .with("recovery", text(recovery))
        .with("initial_window", config.initial_window.to_string())
        .with("initial_rto", time(config.initial_rto))
        .with("min_rto", time(config.min_rto))
        .with("max_rto", time(config.max_rto))
        .with("clock", time(config.clock))
        .with("one_sample", config.one_sample.to_string())
        .with("handshake", config.handshake.to_string())
        .perhaps("max_window", config.max_window.map(size))
        .with("duplicate_acks", config.duplicate_acks.to_string())
        .with("limited_transmit", config.limited_transmit.to_string())
        .with("prr", config.prr.to_string())
        .with("impatient", config.impatient.to_string())
        .with("ecn_echo", text(echo))
        .end()
}

fn dccp(spec: &DccpSpec) -> String {
    Inline::default()
        .with("sequence_window", spec.sequence_window.to_string())
        .with("ack_vector", spec.ack_vector.to_string())
        .with("handshake", spec.handshake.to_string())
        .with("short_numbers", spec.short_numbers.to_string())
        .with("ack_delay", time(spec.ack_delay))
        .with("ack_at_once", spec.ack_at_once.to_string())
        .with("service", text(&spec.service.to_string()))
        .with("rtp", spec.rtp.to_string())
        .perhaps("discard_age", spec.discard_age.map(time))
        .with("options", size(spec.options))
        .perhaps("header", spec.header.map(size))
        .end()
}

fn playout(config: &PlayoutConfig) -> String {
    match config {
        PlayoutConfig::Immediate => Inline::kind("immediate"),
        PlayoutConfig::Fixed(delay) => Inline::kind("fixed").with("delay", time(*delay)),
        PlayoutConfig::Adaptive(params) => Inline::kind("adaptive")
            .with("smoothing", params.smoothing.to_string())
            .with("deviations", params.deviations.to_string())
            .with("min", time(params.min))
            .with("max", time(params.max)),
    }
    .end()
}
