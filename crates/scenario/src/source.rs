//! Where media comes from, as a scenario says it.

use paceline_media::vectors::{Side, WebParams};
use paceline_media::{
    BulkParams, CbrParams, ClipPreset, CodecModelParams, CodecParams, FrameLadder, FramePresetName,
    FrameSizeParams, FrameTraceFormat, QualityModel, TraceEncoderParams, VideoModelParams,
};
use paceline_tcp::conversations::{LossUse, RttUse};
use paceline_tcp::transfers::TransfersConfig;
use paceline_units::param::{FileName, ParamError, Reason};
use paceline_units::{Bitrate, Bytes, TimeDelta, kinds, names, params};

kinds! {
    /// Where media comes from.
    pub enum SourceSpec {
        /// An encoder whose frame sizes follow a trace, scaled to the target. Exactly one of file, generator
        TraceEncoder("trace-encoder", TraceEncoderSpec),
        /// The video models of RFC 8593: statistical, trace-driven (ladder) and hybrid. For the last two exactly one of
        /// ladder, generator
        Rfc8593("rfc8593", Rfc8593Spec),
        /// Real frames through a real encoder, whose pictures are judged after the run; needs the extra paceline[video].
        /// Exactly one of file, generator
        Codec("codec", CodecSpec),
        /// A codec without pictures: frames of the size that x264 would make, and a model of how they look
        CodecModel("codec-model", CodecModelSpec),
        /// Frames of one size at one rate
        Cbr("cbr", CbrParams),
        /// A file, sent as fast as the controller allows
        Bulk("bulk", BulkParams),
        /// Bursts of files fetched in parallel, each over a TCP connection of its own, and idle times
        ShortTransfers("short-transfers", TransfersConfig),
        /// Connections that ask and answer as connection vectors say (Tmix), each with a round trip and windows of its own.
        /// Exactly one of file, generator
        Tmix("tmix", TmixSpec),
    }
}

impl SourceSpec {
    /// Whether it opens TCP connections of its own.
    pub(crate) fn has_connections(&self) -> bool {
        matches!(self, SourceSpec::ShortTransfers(_) | SourceSpec::Tmix(_))
    }

    /// The model that judges its frames where they are shown, if it has a model of that.
    pub(crate) fn quality(&self) -> Option<QualityModel> {
        let SourceSpec::CodecModel(spec) = self else { return None };
        Some(QualityModel::new(spec.params.quality, spec.params.fps))
    }

    /// The files that it names.
    pub(crate) fn files_mut(&mut self) -> Vec<&mut String> {
        match self {
            SourceSpec::TraceEncoder(encoder) => {
                encoder.frames.file.iter_mut().map(|file| &mut file.0).collect()
            }
            SourceSpec::Rfc8593(model) => {
                model.ladder.ladder.iter_mut().map(|rung| &mut rung.file.0).collect()
            }
            SourceSpec::Tmix(tmix) => tmix.file.iter_mut().map(|file| &mut file.0).collect(),
            SourceSpec::Codec(codec) => codec.file.iter_mut().map(|file| &mut file.0).collect(),
            _ => Vec::new(),
        }
    }
}

params! {
    /// A clip, the encoder that it goes through, and how the pictures that arrive are judged. Python's side carries it out.
    pub struct CodecSpec {
        file: Option<FileName> = None, as OneOf, where no ["generator"], "", "The clip: any file with video that FFmpeg reads. Its frames are taken one by one, whatever their times";
        generator: Option<ClipName> = None, as OneOf, where no ["file"], "ours", "A drawn clip, which needs no file: newsreader is a head before a still background, sports a camera that follows players";
        width: Option<u64> = None, else "the clip's, lowered to even; of a generator 352", in 32.0, MAX_SIDE, "urcp-2013 VII: CIF", "Width of the pictures in pixels, even: the clip is scaled and cropped to fill it";
        height: Option<u64> = None, else "the clip's, lowered to even; of a generator 288", in 32.0, MAX_SIDE, "urcp-2013 VII: CIF", "Height of the pictures in pixels, even";
        repeat: ClipRepeat = ClipRepeat::ForwardAndBack, "ours", "How the clip goes on at its end: forward-and-back has no cut, forward begins anew";
        frames: u64 = 300, in 1.0, MAX_CLIP_FRAMES, "ours", "Frames of the clip that are used, or drawn";
        seed: Option<u64> = None, else "the run's, by the stream's name", in 0.0, f64::INFINITY, "", "Seed of a generator's draws";
        codec: CodecName = CodecName::H264, "urcp-2013 VII", "The encoder: h264 is x264 with one reference picture, zero latency and one thread";
        preset: CodecPreset = CodecPreset::Superfast, "ours; the paper's is the JM encoder's fast mode", "How much time x264 takes over a frame";
        key_interval: TimeDelta = TimeDelta::from_secs(2), in 0.01, 1e6, "ours", "Time between key frames; with intra_refresh, that in which every part of the picture is refreshed once";
        intra_refresh: bool = true, "ours", "Columns of intra-coded blocks move over the picture, and only the first frame and those on demand are key frames";
        buffer: Bytes = Bytes::new(12_500), in 100.0, 1e8, "ours", "Buffer of the encoder's rate control (VBV): how far frames may exceed the target for a while; x264 raises it to one frame at least";
        dejitter: Vec<TimeDelta> = Vec::new(), else "playout's with playout = { kind = \"fixed\" }, otherwise 200ms", in 0.0, 1e6, "urcp-2013 VII: Figure 7", "Sizes of the de-jitter buffer that the pictures are judged for, each as the time from a frame's capture to its decoding; packets that arrive later count as lost. The first one is the summary's";
        vmaf: bool = false, "ours", "Whether VMAF is computed too, of the first size; needs the extra paceline[vmaf]";
    }
        /// When frames are captured.
    with grid: CodecParams;
    check one_clip;
}

params! {
    /// A codec without pictures.
    #[derive(Copy)]
    pub struct CodecModelSpec {
        preset: Option<ClipPreset> = None, else "the drawn newsreader's", "docs/real-video.md", "Clip that the parameters are fitted to, which other keys change";
    }
        /// The parameters themselves.
    with params: CodecModelParams;
}

/// Longest side of a picture in pixels.
const MAX_SIDE: f64 = 4096.0;
/// Frames of a clip that are kept at most.
const MAX_CLIP_FRAMES: f64 = 100_000.0;
/// Sizes of the de-jitter buffer that are judged at most.
const MAX_DEJITTERS: usize = 64;

names! {
    /// A clip that is drawn.
    pub enum ClipName {
        /// A head that talks before a still background.
        Newsreader = "newsreader",
        /// A camera that follows players over a field.
        Sports = "sports",
    }
}

names! {
    /// How a clip goes on at its end.
    pub enum ClipRepeat {
        /// Backwards, then forward again.
        ForwardAndBack = "forward-and-back",
        /// With its first frame.
        Forward = "forward",
    }
}

names! {
    /// An encoder of video.
    pub enum CodecName {
        /// H.264 by x264.
        H264 = "h264",
    }
}

names! {
    /// How much time x264 takes over a frame.
    pub enum CodecPreset {
        /// The least: x264's preset `ultrafast`.
        Ultrafast = "ultrafast",
        /// Little: x264's preset `superfast`.
        Superfast = "superfast",
        /// Somewhat more: x264's preset `veryfast`.
        Veryfast = "veryfast",
        /// More: x264's preset `faster`.
        Faster = "faster",
        /// Still more: x264's preset `fast`.
        Fast = "fast",
        /// x264's own default.
        Medium = "medium",
    }
}

fn one_clip(codec: &CodecSpec) -> Result<(), ParamError> {
    either(
        codec.file.is_some(),
        codec.generator.is_some(),
        "either file = FILE or generator = \"newsreader\"",
    )?;
    for (name, side) in [("width", codec.width), ("height", codec.height)] {
        if let Some(odd) = side.filter(|side| side % 2 == 1) {
            return Err(ParamError::new(name, odd, "an even number: two pixels share a colour"));
        }
    }
    match codec.dejitter.len() {
        0..=MAX_DEJITTERS => Ok(()),
        many => Err(ParamError::new("dejitter", many, format!("at most {MAX_DEJITTERS} sizes"))),
    }
}

params! {
    /// Connections by vectors: a file of Tmix's, or drawn.
    pub struct TmixSpec {
        file: Option<FileName> = None, as OneOf, where no ["generator"], "", "Connection vectors in one of Tmix's two formats";
        generator: Option<VectorGenerator> = None, as OneOf, where no ["file"], "", "\"web\": pages drawn at random; needs no file; as a table with keys of its own";
        sending: SendingSide = SendingSide::Acceptor, "ours", "The side of each connection whose data takes `path`: acceptor for downloads, initiator for uploads";
        rtt: RttUse = RttUse::Whole, "ours", "The vectors' round trip is whole, with the path in it; or added to the path's (Tmix's delay box), or not used and the path's is all";
        loss: LossUse = LossUse::None, "ns-2's set-lossless", "Whether packets are lost by the vectors' ratios before they enter the flow's path, or by links alone";
        offset: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "The connections begin here in the file, and so much earlier";
        scale: f64 = 1.0, in 1e-6, 1e6, "ns-2's set-scale", "Factor on the times at which connections begin: 2 halves the load";
    }
    check one_origin_of_vectors;
}

fn one_origin_of_vectors(tmix: &TmixSpec) -> Result<(), ParamError> {
    either(tmix.file.is_some(), tmix.generator.is_some(), "either file = FILE or generator = \"web\"")
}

names! {
    /// A side of a connection vector.
    pub enum SendingSide {
        /// The side that accepts connections.
        Acceptor = "acceptor",
        /// The side that opens connections.
        Initiator = "initiator",
    }
}

impl SendingSide {
    /// The side as a vector has it.
    pub(crate) fn side(self) -> Side {
        match self {
            SendingSide::Acceptor => Side::Acceptor,
            SendingSide::Initiator => Side::Initiator,
        }
    }
}

kinds! {
    /// Generators of connection vectors.
    pub enum VectorGenerator {
        /// Pages of the web, drawn at random: a connection each
        Web("web", DrawnPages),
    }
}

params! {
    /// Pages drawn at random.
    pub struct DrawnPages {
        seed: Option<u64> = None, else "the run's, by the flow's name", in 0.0, f64::INFINITY, "", "Seed of the draws";
    }
        /// Distributions of pages.
    with pages: WebParams;
}

params! {
    /// The trace-driven encoder.
    pub struct TraceEncoderSpec {
    }
        /// The frame sizes that the encoder follows.
    with frames: FramesSpec;
    /// How the encoder follows them.
    with encoder: TraceEncoderParams;
}

params! {
    /// A trace of frame sizes: a file, or drawn.
    pub struct FramesSpec {
        file: Option<FileName> = None, as OneOf, where no ["generator"], "", "Frame sizes: bytes per line, or syncodecs lines";
        format: Option<FrameTraceFormat> = None, else "the first line tells", "", "How the file is written";
        generator: Option<FrameGenerator> = None, as OneOf, where no ["file"], "", "\"frames\": sizes drawn at random; needs no file; as a table with keys of its own";
    }
    idle without_file;
    check one_origin;
}

fn without_file(frames: &FramesSpec, name: &str) -> Option<Reason> {
    (name == "format" && frames.generator.is_some())
        .then(|| Reason::Useless("nothing: `format` goes with a file".into()))
}

fn one_origin(frames: &FramesSpec) -> Result<(), ParamError> {
    either(frames.file.is_some(), frames.generator.is_some(), "either file = FILE or generator = \"frames\"")
}

/// Fails unless there is exactly one of a recording and a generator.
fn either(recorded: bool, generated: bool, expected: &'static str) -> Result<(), ParamError> {
    match (recorded, generated) {
        (true, true) => Err(ParamError::new("generator", "both", expected)),
        (false, false) => Err(ParamError::new("", "neither", expected)),
        _ => Ok(()),
    }
}

kinds! {
    /// Generators of frame sizes.
    pub enum FrameGenerator {
        /// Frame sizes drawn at random
        Frames("frames", DrawnFrames),
    }
}

/// Frames that a generator may draw.
const MAX_FRAMES: u64 = 10_000_000;
/// Frames of a generated rung unless told otherwise: four minutes at 30 fps, the most that RFC 8593 recommends in section 6.1.
const RUNG_FRAMES: u64 = 7_200;

params! {
    /// Frame sizes drawn at random.
    pub struct DrawnFrames {
        {
            /// Whether they are those of a ladder, whose rates say how large a mean frame is.
            of_ladder: bool = false,
        }
        preset: Option<FramePresetName> = None, else "each parameter has its own default", "docs/generators.md", "Parameters fitted to a recording, which other keys change";
        // By default two minutes at 50 fps.
        count: u64 = 6_000, in 1.0, MAX_FRAMES as f64, "ours", "Frames before they repeat";
        seed: Option<u64> = None, else "the run's, by the stream's name", in 0.0, f64::INFINITY, "", "Seed of the draws";
    }
        /// Distribution of the sizes.
    with sizes: FrameSizeParams;
    idle in_a_ladder;
}

fn in_a_ladder(drawn: &DrawnFrames, name: &str) -> Option<Reason> {
    let is_known = matches!(
        name,
        "count"
            | "seed"
            | "sigma"
            | "correlation"
            | "key_interval"
            | "key_scale"
            | "scene_change"
            | "scene_scale"
    );
    (drawn.of_ladder && !is_known).then_some(Reason::Unknown)
}

impl DrawnFrames {
    /// The drawn frames of a ladder of `count` frames, or of as many as usual.
    pub(crate) fn of_ladder(count: Option<u64>) -> DrawnFrames {
        let count = count.unwrap_or(RUNG_FRAMES);
        DrawnFrames {
            of_ladder: true,
            sizes: FrameLadder::usual_sizes(count),
            count,
            ..DrawnFrames::default()
        }
    }
}

params! {
    /// A video source of RFC 8593.
    pub struct Rfc8593Spec {
        model: VideoModelName = VideoModelName::Statistical, as Required, "RFC 8593 5, 6, 7", "Which of the three models; other keys say for which of them they are, if not for all";
    }
        /// Parameters of the models. Parameters that the model does not know have their defaults.
    with params: VideoModelParams;
    /// The frame sizes of the models with a ladder.
    with ladder: LadderSpec;
    idle unknown_to_model;
    check ladder_of_model;
}

names! {
    /// A model of RFC 8593.
    pub enum VideoModelName {
        /// Statistical (section 5).
        Statistical = "statistical",
        /// Driven by a trace (section 6).
        Trace = "trace",
        /// Hybrid (section 7).
        Hybrid = "hybrid",
    }
}

impl Rfc8593Spec {
    /// A source of this model: with a ladder nothing limits the target, whose scaling covers every rate.
    pub(crate) fn of(model: VideoModelName) -> Rfc8593Spec {
        let mut spec = Rfc8593Spec { model, ..Rfc8593Spec::default() };
        if model != VideoModelName::Statistical {
            (spec.params.r_min, spec.params.r_max) = (None, None);
        }
        spec
    }
}

fn unknown_to_model(spec: &Rfc8593Spec, name: &str) -> Option<Reason> {
    let is_of_ladder = matches!(name, "ladder" | "generator" | "rates" | "skip_frames" | "fs_min" | "fs_max");
    let deviates = matches!(name, "seed" | "tau_v" | "k_d" | "k_b" | "scale_t" | "transient_change");
    let is_unknown = match spec.model {
        VideoModelName::Statistical => is_of_ladder,
        VideoModelName::Trace => deviates || name == "scale_b",
        VideoModelName::Hybrid => name == "scale_b",
    };
    is_unknown.then_some(Reason::Unknown)
}

fn ladder_of_model(spec: &Rfc8593Spec) -> Result<(), ParamError> {
    match spec.model {
        VideoModelName::Statistical => Ok(()),
        VideoModelName::Trace | VideoModelName::Hybrid => spec.ladder.one_ladder(),
    }
}

params! {
    /// The frame sizes of a sequence that is encoded at several rates.
    pub struct LadderSpec {
        ladder: Vec<RungSpec> = Vec::new(), as OneOf, where no ["generator", "rates"], "RFC 8593 6.1", "Not statistical, which needs neither: frame sizes at each rate, the lowest first";
        generator: Option<FrameGenerator> = None, as OneOf, where no ["ladder"], "ours", "Not statistical, which needs neither: \"frames\", sizes drawn at random for each rate; needs no file";
        rates: Vec<Bitrate> = USUAL_RATES.map(Bitrate::from_kbps).into(), where no ["ladder"], else "200, 400, 600, 800, 1000, 1200 and 1500 kbps", in 1.0, f64::INFINITY, "ours", "With generator: its rates";
    }
    idle without_generator;
}

/// The rates of the chat at 720p that comes with the RFC's reference implementation, in kbit/s.
const USUAL_RATES: [u64; 7] = [200, 400, 600, 800, 1_000, 1_200, 1_500];

fn without_generator(ladder: &LadderSpec, name: &str) -> Option<Reason> {
    (name == "rates" && !ladder.ladder.is_empty())
        .then(|| Reason::Useless("nothing: `rates` goes with a generator".into()))
}

impl LadderSpec {
    /// Fails unless there is one ladder of rising rates, or as many frames are drawn for each rate as a generator may draw.
    fn one_ladder(&self) -> Result<(), ParamError> {
        const EITHER: &str = "either ladder = [{ rate = RATE, file = FILE }, ...] or generator = \"frames\"";
        const RUNGS: &str =
            "from 2 to 64 rungs such as { rate = \"200kbps\", file = \"200.txt\" }, the lowest first";
        const RATES: &str = "from 2 to 64 rates, the lowest first, such as [\"200kbps\", \"400kbps\"]";
        either(!self.ladder.is_empty(), self.generator.is_some(), EITHER)?;
        let Some(FrameGenerator::Frames(drawn)) = &self.generator else {
            let rates: Vec<_> = self.ladder.iter().map(|rung| rung.rate).collect();
            return rising(&rates, "ladder", ".rate", RUNGS);
        };
        rising(&self.rates, "rates", "", RATES)?;
        let most = MAX_FRAMES / self.rates.len() as u64;
        if drawn.count <= most {
            return Ok(());
        }
        let found = format!("count {} for {} rates", drawn.count, self.rates.len());
        Err(ParamError::new("", found, format!("a generator with count = {most} or less")))
    }
}

/// Fails unless as many `rates` as a ladder may have rise; they stand in the list `name`, each under `key`.
fn rising(rates: &[Bitrate], name: &str, key: &str, expected: &'static str) -> Result<(), ParamError> {
    if !FrameLadder::RUNGS.contains(&rates.len()) {
        return Err(ParamError::new(name, rates.len(), expected));
    }
    match rates.windows(2).position(|pair| pair[1] <= pair[0]) {
        Some(before) => Err(ParamError::new(
            &format!("{name}[{}]{key}", before + 1),
            "less",
            "a rate above the one before",
        )),
        None => Ok(()),
    }
}

params! {
    /// A rung of a ladder.
    pub struct RungSpec {
        rate: Bitrate = Bitrate::ZERO, as Required, in 1.0, f64::INFINITY, "RFC 8593 6.1", "Bitrate at which the file was encoded";
        file: FileName = FileName::default(), as Required, "RFC 8593 6.1", "Its frame sizes";
        format: Option<FrameTraceFormat> = None, else "the first line tells", "", "How the file is written";
    }
}
