//! The parts of a run: configurations of links and of both ends of each flow.

use crate::source::CodecSpec;
use crate::transports::EndsParts;
use paceline_cc::AnyController;
use paceline_ends::Plan;
use paceline_link::{LinkConfig, RateProcess, Trace};
use paceline_media::{Codec, ConnectionVectors, FrameTrace, Source};
use paceline_units::param::ParamError;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::path::PathBuf;

/// The parts of a run.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The links, in the scenario's order.
    pub links: Vec<LinkConfig>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowParts>,
    /// The streams of pictures, whose encoders are to be attached before a run.
    pub codecs: Vec<CodecStream>,
    /// Oddities of the files.
    pub warnings: Vec<String>,
}

/// A stream of pictures: what its encoder, and who decodes them after the run, have to know.
#[derive(Clone, PartialEq, Debug)]
pub struct CodecStream {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the stream in the flow.
    pub stream: usize,
    /// The scenario's codec, every size of the de-jitter buffer in.
    pub spec: CodecSpec,
    /// Where the clip was found; absent if it is drawn.
    pub path: Option<PathBuf>,
    /// Seed of a drawn clip.
    pub seed: u64,
    /// Largest payload of a packet.
    pub max_payload: Bytes,
}

impl Parts {
    /// The recording or the draws that a link follows, before offset and scale; none for a constant rate and for steps.
    pub fn link_trace(&self, link: usize) -> Option<&Trace> {
        match &self.links.get(link)?.rate {
            RateProcess::Trace { trace, .. } => Some(trace),
            _ => None,
        }
    }

    /// The frames that the encoder of a flow's first stream follows; none for other sources, and where nothing is
    /// played out.
    pub fn frame_trace(&self, flow: usize) -> Option<&FrameTrace> {
        let ends = &self.flows.get(flow)?.ends;
        let source = ends.source(0).filter(|_| ends.plays_out())?;
        match source {
            Source::TraceEncoder(encoder) => Some(encoder.trace()),
            _ => None,
        }
    }

    /// The source of a stream of pictures, to attach its encoder to.
    pub fn codec_mut(&mut self, flow: usize, stream: usize) -> Option<&mut Codec> {
        match self.flows.get_mut(flow)?.ends.source_mut(stream)? {
            Source::Codec(codec) => Some(codec),
            _ => None,
        }
    }

    /// Fails if a stream of pictures has no encoder.
    ///
    /// # Errors
    /// Says which source, and how to come by an encoder.
    pub fn check_encoders(&self) -> Result<(), ParamError> {
        let lacks = |flow: &FlowParts| {
            flow.ends.sources().any(|source| matches!(source, Source::Codec(codec) if !codec.has_encoder()))
        };
        match self.flows.iter().position(lacks) {
            None => Ok(()),
            Some(flow) => Err(ParamError::new(
                &format!("source of flow {flow}"),
                "kind codec without an encoder",
                "one attached (Parts::codec_mut); the Python package brings x264 with the extra paceline[video]",
            )),
        }
    }

    /// The connections that a flow plays, offset and scaled; none for other sources.
    pub fn connection_vectors(&self, flow: usize) -> Option<&ConnectionVectors> {
        self.flows.get(flow)?.ends.connection_vectors()
    }
}

/// The parts of a flow.
#[derive(Clone, Debug)]
pub struct FlowParts {
    /// Controller of the flow, before its first event.
    pub controller: AnyController,
    /// Configuration of the flow's two ends.
    pub ends: EndsParts,
    /// The codepoint that its packets start with.
    pub ecn: Ecn,
    /// Indices of the links from sender to receiver.
    pub path: Vec<usize>,
    /// Indices of the links back.
    pub return_path: Vec<usize>,
    /// Delay of an empty way back.
    pub return_delay: TimeDelta,
    /// When it starts.
    pub start: Time,
    /// When it stops.
    pub stop: Time,
    /// When its application is silent, in order.
    pub pauses: Vec<(Time, Time)>,
    /// Added to each packet's size on every link.
    pub overhead: Bytes,
}

impl FlowParts {
    /// Whether any of its streams is one of pictures.
    pub fn has_codec(&self) -> bool {
        self.ends.sources().any(|source| matches!(source, Source::Codec(_)))
    }

    /// When the flow starts, pauses and stops, and its streams join and leave.
    pub fn plan(&self) -> Plan {
        self.ends.plan(Plan::new(self.start, &self.pauses, self.stop))
    }
}
