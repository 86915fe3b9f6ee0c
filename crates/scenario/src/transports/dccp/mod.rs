//! DCCP: datagrams under a congestion control that both ends negotiate.

mod ccids;

pub use ccids::{FlowCcids, Halves};

use super::{Configured, EndsParts, FlowEnds, FlowTable};
use crate::assembly::{Builder, wrong};
use crate::error::ScenarioError;
use crate::key_path::quoted_key;
use crate::params;
use crate::registry::{Entry, listed};
use crate::schema::keys::key;
use crate::source::SourceSpec;
use crate::spec::{ControllerSpec, FlowSpec};
use crate::write::{Inline, put};
use paceline_cc::{AnyController, Steers, Verb};
use paceline_dccp::{
    CCID_2, Carried, Ccid, DccpConfig, DccpSender, SEQUENCE_WINDOW_MAX, SEQUENCE_WINDOW_MIN,
};
use paceline_ends::SendingEnd;
use paceline_media::{PlayoutConfig, Source};
use paceline_rtp::RTP_HEADER;
use paceline_units::param::Spec;
use paceline_units::text::format_size;
use paceline_units::{Bytes, Stack, TimeDelta, params};
use paceline_wire::dccp::ServiceCode;

params! {
    /// Configuration of a DCCP connection.
    #[derive(Copy)]
    pub struct DccpSpec {
        sequence_window: u64 = 10_000, in SEQUENCE_WINDOW_MIN as f64, SEQUENCE_WINDOW_MAX as f64, "RFC 4340 7.5.2", "Sequence Window of both ends at first, in packets: about five times those of a round trip, with which it grows. With too small a window a burst of losses ends in Syncs";
        ack_vector: bool = true, else "as the CCID needs: ccid2 true, ccid3 false", "RFC 4340 11.4", "Acknowledgements bear Ack Vectors; ccid2 cannot do without";
        ack_delay: TimeDelta = TimeDelta::from_millis(200), in 1e-9, 1e6, "RFC 4340 11.3", "How long an acknowledgement waits for the Ack Ratio's packets";
        ack_at_once: bool = true, else "true; with profile = \"ns2\" false", "RFC 4340 8.1, 11.3", "Holes, marks and the data of a client in PARTOPEN are acknowledged at once; else by Ack Ratio and ack_delay alone";
        handshake: bool = true, "RFC 4340 8.1", "A handshake opens the connection; else it is open, and all is negotiated, at the flow's start";
        rtp: bool = true, else "true; for bulk, and with profile = \"ns2\", false", "RFC 5762", "Each datagram is an RTP packet: 12 B more of header. Without, none are counted, and frames are told apart nevertheless";
        discard_age: Option<TimeDelta> = Some(TimeDelta::from_millis(500)), else "500ms; for bulk, and with profile = \"ns2\", nothing is discarded", in 1e-9, 1e6, "ours", "When the oldest that waits to be sent is older, the send queue is discarded and a key frame asked for, as scream does. To keep everything say a longer time than the run's";
        service: ServiceCode = ServiceCode::NONE, else "with rtp SC:RTPV, else SC=0", "RFC 4340 8.1.2, RFC 5762 5.2", "Purpose of the connection";
        short_numbers: bool = false, "RFC 4340 5.1", "Sequence numbers of 24 bits, where the other end agrees";
        options: Bytes = Bytes::new(400), in 0.0, LONGEST_HEADER, "ours", "Room for options beside a full datagram: acknowledgements that find none go by themselves";
        header: Option<Bytes> = None, else "as encoded; with profile = \"ns2\" 32B", in 0.0, LONGEST_HEADER, "ours", "A data packet counts as its payload plus this, and a packet without data as this much more than 16 B longer than it is encoded: for comparison with simulators that count so";
    }
}

/// The longest header (RFC 4340 section 5), in bytes.
const LONGEST_HEADER: f64 = 1020.0;

impl DccpSpec {
    /// The header of a datagram with long numbers, without options (RFC 4340 section 5.1).
    pub const HEADER: Bytes = Bytes::new(16);

    /// The choices of a stack.
    pub fn of(stack: Stack) -> DccpSpec {
        match stack {
            Stack::Ns2 => DccpSpec::ns2(),
            Stack::Standard | Stack::Rfc6675 | Stack::Linux | Stack::Quic => DccpSpec::default(),
        }
    }

    /// ns-2.35's: an IP header of 20 bytes and one of 12 on data, acknowledgements by the Ack Ratio alone, and everything
    /// is sent.
    pub fn ns2() -> DccpSpec {
        let header = Some(Bytes::new(32));
        DccpSpec { header, ack_at_once: false, rtp: false, discard_age: None, ..DccpSpec::default() }
    }

    /// Header of a datagram without options.
    pub fn header(&self) -> Bytes {
        self.header.unwrap_or(DccpSpec::HEADER)
    }

    /// RTP's header beside it.
    pub fn rtp_header(&self) -> Bytes {
        if self.rtp { RTP_HEADER } else { Bytes::ZERO }
    }
}

impl Configured for DccpSpec {
    const HEADER: Bytes = DccpSpec::HEADER;
    const KEYS: &'static [Spec] =
        &[key("dccp", "table", "see below", "Configuration of the connection, over DCCP alone")];
    const CLOSES: bool = true;

    fn carries(steers: Steers) -> bool {
        matches!(steers, Steers::Ccid(_))
    }

    fn executes(_steers: Steers) -> &'static [Verb] {
        DccpSender::<FlowCcids>::EXECUTES
    }

    fn plays_out(_steers: Steers) -> bool {
        true
    }

    fn tables() -> Vec<Entry> {
        vec![listed("dccp", "A DCCP connection", &DccpSpec::default())]
    }

    fn usual(controller: &ControllerSpec) -> DccpSpec {
        let ack_vector = controller.params.steers() == Steers::Ccid(2);
        DccpSpec { ack_vector, ..DccpSpec::of(controller.stack()) }
    }

    fn read(flow: &FlowTable<'_>) -> Result<DccpSpec, ScenarioError> {
        let usual = DccpSpec::usual(flow.controller);
        // It carries media, not a file.
        let frames = flow.streams.iter().all(|stream| !matches!(stream.source, SourceSpec::Bulk(_)));
        let mut spec =
            DccpSpec { rtp: usual.rtp && frames, discard_age: usual.discard_age.filter(|_| frames), ..usual };
        let service = |rtp| if rtp { ServiceCode::RTP_VIDEO } else { ServiceCode::NONE };
        spec.service = service(spec.rtp);
        let Some(node) = flow.table.find("dccp") else {
            return fits(flow, spec);
        };
        let table = node.table("a table such as { sequence_window = 10000, handshake = true }")?;
        params::read(&table, &mut spec, &[])?;
        if let Some(node) = table
            .find("ack_vector")
            .filter(|_| !spec.ack_vector && flow.controller.params.steers() == Steers::Ccid(2))
        {
            return Err(node.fail("true: ccid2 lives on Ack Vectors"));
        }
        if let Some(node) = table.find("rtp").filter(|_| spec.rtp && !frames) {
            return Err(node.fail("false: a file has no frames"));
        }
        if let Some(node) = table.find("discard_age").filter(|_| !frames) {
            return Err(node.fail("nothing: a file is sent however old it is"));
        }
        if table.find("service").is_none() {
            spec.service = service(spec.rtp);
        }
        fits(flow, spec)
    }

    fn write(&self, table: &mut toml_edit::Table) {
        put(table, "dccp", Inline::default().with_all(self));
    }

    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        let max_payload = flow.packet_size - self.header() - self.rtp_header();
        let mut streams = builder.streams(flow, controller, max_payload)?;
        let ccids = FlowCcids::new(&flow.controller.params, controller).ok_or_else(|| {
            let key = format!("flows.{}.controller", quoted_key(&flow.name));
            wrong(key, flow.controller.params.kind(), "ccid2 or ccid3 over transport dccp")
        })?;
        Ok(EndsParts::Dccp(DccpParts {
            config: config(flow, self, ccids.ccid()),
            ccids,
            handshake: self.handshake,
            service: self.service,
            carried: Carried {
                source: streams.remove(0).source,
                max_payload,
                rtp_header: self.rtp_header(),
                discard_age: self.discard_age,
            },
            playout: flow.playout,
        }))
    }
}

/// A packet must have room for a byte of payload.
fn fits(flow: &FlowTable<'_>, spec: DccpSpec) -> Result<DccpSpec, ScenarioError> {
    let header = spec.header() + spec.rtp_header();
    if flow.packet_size > header {
        return Ok(spec);
    }
    let found = format!("packet_size \"{}\"", format_size(flow.packet_size));
    Err(flow.table.fail(&found, &format!("more than the header of \"{}\"", format_size(header))))
}

/// Datagrams that wait at most; of a frame that finds no room the rest is discarded.
const SEND_QUEUE: usize = 100_000;

/// Configuration of both ends of a DCCP flow.
fn config(flow: &FlowSpec, spec: &DccpSpec, ccid: Ccid) -> DccpConfig {
    let payload = flow.packet_size - spec.header();
    DccpConfig {
        send_ccids: vec![ccid],
        receive_ccids: vec![ccid],
        sequence_window: spec.sequence_window,
        short_numbers: spec.short_numbers,
        ack_vector: spec.ack_vector,
        ack_delay: spec.ack_delay,
        ack_at_once: spec.ack_at_once,
        counted_header: spec.header,
        ect: flow.ecn.codepoint(),
        mtu: payload + DccpSpec::HEADER + spec.options,
        send_queue: SEND_QUEUE,
        ..DccpConfig::default()
    }
}

/// The parts of a DCCP flow's ends.
#[derive(Clone, Debug)]
pub struct DccpParts {
    /// Configuration of both ends.
    pub config: DccpConfig,
    /// Their congestion control.
    pub ccids: FlowCcids,
    /// Whether a handshake opens the connection.
    pub handshake: bool,
    /// Service of the connection.
    pub service: ServiceCode,
    /// Its payload: media or bulk data.
    pub carried: Carried,
    /// When its receiver displays frames.
    pub playout: PlayoutConfig,
}

impl DccpParts {
    /// Whether acknowledgements tell the sender of single packets.
    pub fn has_ack_vectors(&self) -> bool {
        self.config.ack_vector || self.ccids.ccid() == CCID_2
    }
}

impl FlowEnds for DccpParts {
    fn source(&self, stream: usize) -> Option<&Source> {
        (stream == 0).then_some(&self.carried.source)
    }

    fn source_mut(&mut self, stream: usize) -> Option<&mut Source> {
        (stream == 0).then_some(&mut self.carried.source)
    }

    fn plays_out(&self) -> bool {
        true
    }
}
