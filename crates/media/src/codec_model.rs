//! A codec without pictures: frames of the size that an encoder would make, and how good they would look.
//!
//! For sweeps that have no time for an encoder. PSNR is a parabola in the logarithm of the bits per pixel that frames had
//! lately, fitted to x264 (docs/real-video.md says how well): a key frame begins anew, and the frames after it add to it. A
//! frame that is not shown leaves the last picture, which fits less and less; and what it brought lacks in the pictures
//! after it, until they are refreshed. Of a frame that lacks some of its packets only their part of the picture stays, which
//! the decoder conceals.

mod damage;
mod quality;

use quality::BITS_PER_PIXEL;
pub use quality::{Judged, QualityModel, QualityParams};

use crate::Frame;
use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN, FrameRate};
use crate::source::MediaSource;
use paceline_units::{Bitrate, Bytes, RandomStream, Time, names, params};

/// The part of the encoder's buffer that the first frames take, whatever the target: x264 knows nothing of the clip yet.
const BEGINNING: [f64; 3] = [0.85, 0.45, 0.45];
/// Width of a macroblock in pixels: a refresh takes a column of these per frame.
const COLUMN: u64 = 16;
/// The part of the rate that x264 makes of its target: over 30 s at 100 to 1000 kbit/s from 0.91 to 0.99 of it.
const USED: f64 = 0.97;
/// Correlation of the sizes of one frame and the next, as x264's are: from 0.25 to 0.7 at low rates.
const CORRELATION: f64 = 0.5;
/// Range of 0.1 bit per pixel over a frame's, by which its size varies more or less: with the root of that.
const FEWER: (f64, f64) = (0.06, 2.0);
/// Frames of the buffer from which on x264 gives a frame at most half of what is in it, else all (`ratecontrol.c`,
/// `max_fill_factor`).
const LARGE_BUFFER: f64 = 5.0;
/// Frames over which what frames take too much is saved, or what they save is spent.
const EVENED: f64 = 10.0;
/// Frames over which what a key frame takes too much is saved, and the part of a frame that this takes at most.
const SAVING: (f64, f64) = (3.5, 0.75);

params! {
    /// Configuration of a [`CodecModel`].
    #[derive(Copy)]
    pub struct CodecModelParams {
        {
            /// Payload rate until the first target arrives.
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(30), in FPS_MIN, FPS_MAX, "urcp-2013 VII", "Frames per second";
        sigma: f64 = 0.25, in 0.0, 2.0, "docs/real-video.md", "Standard deviation of the logarithm of a frame's size at 0.1 bit per pixel; more bits vary less, with the root of their number";
        refresh_scale: f64 = 1.14, in 1.0, 3.0, "docs/real-video.md", "How much larger frames of at most 0.1 bit per pixel are while a refresh crosses the picture; the others are smaller";
        key_scale: f64 = 3.51, in 0.0, 100.0, "docs/real-video.md", "How much larger a key frame on demand is at 0.1 bit per pixel; the frames after it are smaller";
        key_fall: f64 = 0.0, in 0.0, 2.0, "docs/real-video.md", "Exponent of the bits per pixel with which that falls";
        buffer: Bytes = Bytes::new(12_500), in 100.0, 1e8, "as of kind codec", "Buffer of the encoder's rate control (VBV): the first frame takes 0.85 of it, each of the next two 0.45, whatever the target; no key frame takes more than all of it, or half if it holds five frames";
        seed: Option<u64> = None, else "the run's, by the stream's name", in 0.0, f64::INFINITY, "", "Seed of the sizes";
    }
        /// How the frames look.
    with quality: QualityParams;
}

names! {
    /// A clip that the parameters of a [`QualityParams`] were fitted to.
    pub enum ClipPreset {
        /// The drawn newsreader of source kind codec, 352x288.
        Newsreader = "newsreader",
        /// The drawn field of source kind codec, 352x288.
        Sports = "sports",
        /// carphone_pristine.mp4, 176x144.
        Carphone = "carphone",
        /// bigbuckbunny.mp4, 352x288.
        BigBuckBunny = "bigbuckbunny",
        /// News of the tables of syncodecs, 640x360; what it looks like when something lacks is newsreader's.
        News = "news",
        /// Foreman of the same, 1280x720; what it looks like when something lacks is carphone's.
        Foreman = "foreman",
    }
}

impl ClipPreset {
    /// The clip under x264, by `paceline.video.model.fit`; where the tables say nothing, a like clip.
    pub fn params(self) -> CodecModelParams {
        let newsreader = ([36.41, 2.29, 24.41, 15.12, 37.6], [0.25, 1.14, 3.51, 0.0]);
        let sports = ([15.46, 0.8, 12.83, 13.57, 23.8], [0.22, 1.0, 2.54, 0.0]);
        let carphone = ([31.65, 2.55, 18.02, 12.17, 30.0], [0.42, 1.06, 5.85, 0.66]);
        let big_buck_bunny = ([33.47, 3.37, 15.85, 14.34, 40.1], [0.35, 1.03, 2.94, 0.0]);
        match self {
            ClipPreset::Newsreader => fitted([39.94, 3.28, -0.33, 0.1, 1.82], newsreader, (352, 288)),
            ClipPreset::Sports => fitted([25.91, 3.58, 0.26, 0.32, 1.16], sports, (352, 288)),
            ClipPreset::Carphone => fitted([33.56, 3.35, 0.04, 0.23, 1.28], carphone, (176, 144)),
            ClipPreset::BigBuckBunny => fitted([35.65, 3.58, 0.09, 0.14, 1.35], big_buck_bunny, (352, 288)),
            ClipPreset::News => fitted([39.92, 4.11, 0.0, 0.1, 1.82], newsreader, (640, 360)),
            ClipPreset::Foreman => fitted([39.92, 2.32, -0.35, 0.23, 1.28], carphone, (1280, 720)),
        }
    }
}

/// Parameters of a clip: of whole frames, of pictures that lack something and of the sizes of frames, and the pictures' size.
fn fitted(
    coded: [f64; 5],
    (lacking, sizes): ([f64; 5], [f64; 4]),
    (width, height): (u64, u64),
) -> CodecModelParams {
    let [psnr, slope, curvature, own_share, kept_scale] = coded;
    let [freeze_psnr, freeze_slope, freeze_least, unseen_psnr, concealed_psnr] = lacking;
    let [sigma, refresh_scale, key_scale, key_fall] = sizes;
    let quality = QualityParams {
        psnr,
        slope,
        curvature,
        own_share,
        kept_scale,
        freeze_psnr,
        freeze_slope,
        freeze_least,
        unseen_psnr,
        concealed_psnr,
        width,
        height,
        ..QualityParams::default()
    };
    CodecModelParams { sigma, refresh_scale, key_scale, key_fall, quality, ..CodecModelParams::default() }
}

/// Frames of the size that an encoder at a constant rate would make.
#[derive(Clone, Debug)]
pub struct CodecModel {
    params: CodecModelParams,
    grid: CaptureGrid,
    target: f64,
    random: RandomStream,
    /// How far the logarithm of the newest frame's size was from its mean, in standard deviations.
    deviation: f64,
    /// Frames' worth by which ordinary frames were larger than their mean, and which have not been saved since.
    owed: f64,
    refresh: Refresh,
    key_requested: bool,
    /// Bytes by which key frames exceeded their share of the rate, and which have not been saved since.
    excess: f64,
}

impl CodecModel {
    /// A source at rest; without a seed of its own it draws by `seed`.
    pub fn new(params: CodecModelParams, seed: u64) -> CodecModel {
        CodecModel {
            grid: CaptureGrid::new(params.fps),
            target: params.target_start.as_bps_f64(),
            random: RandomStream::new(params.seed.unwrap_or(seed), "media.codec_model"),
            deviation: 0.0,
            owed: 0.0,
            refresh: Refresh::new(&params.quality, params.fps),
            key_requested: false,
            excess: 0.0,
            params,
        }
    }

    /// Size of the next frame, before it is rounded.
    fn bytes(&mut self, id: u64, key: bool) -> f64 {
        let CodecModelParams { sigma, key_scale, key_fall, buffer, quality, .. } = self.params;
        let share = USED * self.target / 8.0 / self.params.fps.as_fps_f64();
        let pixels = (quality.width * quality.height).max(1) as f64;
        let more = (share * 8.0).max(1.0) / (BITS_PER_PIXEL * pixels);
        let fewer = (1.0 / more).clamp(FEWER.0, FEWER.1);
        let sigma = sigma * libm::sqrt(fewer);
        let own = libm::sqrt(1.0 - CORRELATION * CORRELATION);
        self.deviation = CORRELATION * self.deviation + own * self.random.normal();
        // The mean of exp(sigma x) is exp(sigma² / 2).
        let varied = libm::exp(sigma * self.deviation - sigma * sigma / 2.0);
        let varied = (varied - self.owed / EVENED).max(0.2);
        self.owed += varied - 1.0;
        let refreshed = self.refreshed(key, fewer);
        let buffer = buffer.as_u64() as f64;
        if let Some(part) = BEGINNING.get(id as usize) {
            return (part * buffer).max(share);
        }
        if key {
            let most = if buffer < LARGE_BUFFER * share { buffer } else { buffer / 2.0 };
            let key_scale = key_scale * libm::pow(more, -key_fall);
            let bytes = (key_scale * share * varied - self.excess).max(share).min(most.max(share));
            self.excess = (self.excess + bytes - share).max(0.0);
            return bytes;
        }
        let varied = varied * refreshed;
        let saved = (self.excess / SAVING.0).min(SAVING.1 * share * varied);
        self.excess -= saved;
        share * varied - saved
    }

    /// How much larger a frame is for the refresh that crosses the picture, or smaller for want of one.
    fn refreshed(&mut self, key: bool, fewer: f64) -> f64 {
        if key {
            self.refresh.on_key_frame();
        } else {
            self.refresh.pass();
        }
        let Refresh { columns, period, waits, .. } = self.refresh;
        if columns >= period || waits {
            return 1.0;
        }
        let (columns, period) = (columns as f64, period as f64);
        let scale = 1.0 + (self.params.refresh_scale - 1.0).max(0.0) * fewer.min(1.0);
        let scale = scale.min(0.9 * period / columns);
        if self.refresh.left() > 0 { scale } else { (period - scale * columns) / (period - columns) }
    }
}

/// Where the refresh of the picture is: a column per frame, from one side to the other, once in each period.
#[derive(Clone, Copy, Debug)]
struct Refresh {
    /// Frames that it takes, and those from one to the next.
    columns: u64,
    period: u64,
    /// Frames since it began, or since the key frame.
    passed: u64,
    /// Whether the first one after a key frame has still to begin: it does a period later (x264 `encoder.c`, `i_last_keyframe`).
    waits: bool,
}

impl Refresh {
    /// The refresh right after a key frame.
    fn new(quality: &QualityParams, fps: FrameRate) -> Refresh {
        let period = quality.refresh.as_secs_f64().max(0.0) * fps.as_fps_f64();
        let period = (period + 0.5).max(1.0) as u64;
        let columns = quality.width.div_ceil(COLUMN).clamp(1, period);
        Refresh { columns, period, passed: 0, waits: true }
    }

    /// A key frame has come.
    fn on_key_frame(&mut self) {
        (self.passed, self.waits) = (0, true);
    }

    /// A frame passes. Whether the next refresh begins behind it.
    fn pass(&mut self) -> bool {
        self.passed += 1;
        let begins = self.passed >= self.period;
        if begins {
            (self.passed, self.waits) = (0, false);
        }
        begins
    }

    /// Columns that it has still to cross.
    fn left(&self) -> u64 {
        if self.waits { 0 } else { self.columns.saturating_sub(self.passed) }
    }
}

impl MediaSource for CodecModel {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.grid.take(now)?;
        let key = core::mem::take(&mut self.key_requested) || id == 0;
        let bytes = self.bytes(id, key);
        let payload = if self.target == 0.0 { 0.0 } else { (bytes + 0.5).clamp(1.0, f64::from(u32::MAX)) };
        Some(Frame { id, captured, payload: Bytes::new(payload as u64), key })
    }

    fn follows_target(&self) -> bool {
        true
    }

    fn set_target(&mut self, _now: Time, target: Bitrate) {
        self.target = target.as_bps_f64();
    }

    fn request_key_frame(&mut self, _now: Time) {
        self.key_requested = true;
    }

    fn start(&mut self, at: Time) {
        self.grid.start(at);
    }

    fn stop(&mut self) {
        self.grid.stop();
    }
}

#[cfg(test)]
#[path = "codec_model/source_tests.rs"]
mod tests;
