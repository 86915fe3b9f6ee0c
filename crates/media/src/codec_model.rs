//! A codec without pictures: frames of the size that an encoder would make, and how good they would look.
//!
//! For sweeps that have no time for an encoder. PSNR is a parabola in the logarithm of the bits per pixel that frames had
//! lately, fitted to x264 (docs/real-video.md says how well): a key frame begins anew, and the frames after it add to it. A
//! frame that is not shown leaves the last picture, which fits less and less; and what it brought lacks in the pictures
//! after it, until they are refreshed. Of a frame that lacks some of its packets only their part of the picture stays, which
//! the decoder conceals.

mod damage;
mod quality;

pub use quality::{Judged, QualityModel, QualityParams};

use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN, FrameRate};
use crate::source::MediaSource;
use crate::Frame;
use paceline_units::{Bitrate, Bytes, RandomStream, Time, names, params};

/// What the first frames take of the encoder's buffer, whatever the target: x264 knows nothing of the clip yet.
const BEGINNING: [f64; 3] = [0.85, 0.45, 0.45];
/// Frames over which what a key frame takes too much is saved, and the part of a frame that this takes at most.
const SAVING: (f64, f64) = (3.5, 0.75);

params! {
    /// What a [`CodecModel`] is made of.
    #[derive(Copy)]
    pub struct CodecModelParams {
        {
            /// Payload rate until the first target arrives.
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(30), in FPS_MIN, FPS_MAX, "urcp-2013 VII", "Frames per second";
        sigma: f64 = 0.18, in 0.0, 2.0, "docs/real-video.md", "Standard deviation of the logarithm of a frame's size";
        key_scale: f64 = 3.0, in 0.0, 100.0, "docs/real-video.md", "How much larger a key frame on demand is; the frames after it are smaller";
        buffer: Bytes = Bytes::new(12_500), in 100.0, 1e8, "as of kind codec", "Buffer of the encoder's rate control (VBV): the first frame takes 0.85 of it, each of the next two 0.45, whatever the target; no key frame takes more than 0.9, or its share of the rate";
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
    /// What x264 made of the clip, by `paceline.video.model.fit`; of what the tables say nothing of, that of a like clip.
    pub fn params(self) -> QualityParams {
        let fitted = |coded: [f64; 4], lacking: [f64; 5], (width, height)| {
            let [psnr, slope, curvature, own_share] = coded;
            let [freeze_psnr, freeze_slope, freeze_least, unseen_psnr, concealed_psnr] = lacking;
            let usual = QualityParams::default();
            QualityParams {
                psnr,
                slope,
                curvature,
                own_share,
                freeze_psnr,
                freeze_slope,
                freeze_least,
                unseen_psnr,
                concealed_psnr,
                width,
                height,
                ..usual
            }
        };
        let newsreader = [36.41, 2.29, 24.41, 16.27, 32.8];
        let carphone = [31.65, 2.55, 18.02, 12.81, 29.19];
        match self {
            ClipPreset::Newsreader => fitted([39.94, 3.28, -0.33, 0.11], newsreader, (352, 288)),
            ClipPreset::Sports => {
                fitted([25.91, 3.58, 0.26, 0.32], [15.46, 0.8, 12.83, 15.77, 22.16], (352, 288))
            }
            ClipPreset::Carphone => fitted([33.56, 3.35, 0.04, 0.23], carphone, (176, 144)),
            ClipPreset::BigBuckBunny => {
                fitted([35.65, 3.58, 0.09, 0.14], [33.47, 3.37, 15.85, 15.05, 36.18], (352, 288))
            }
            ClipPreset::News => fitted([39.92, 4.11, 0.0, 0.11], newsreader, (640, 360)),
            ClipPreset::Foreman => fitted([39.92, 2.32, -0.35, 0.23], carphone, (1280, 720)),
        }
    }
}

/// Frames of the size that an encoder at a constant rate would make.
#[derive(Clone, Debug)]
pub struct CodecModel {
    params: CodecModelParams,
    grid: CaptureGrid,
    target: f64,
    random: RandomStream,
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
            key_requested: false,
            excess: 0.0,
            params,
        }
    }

    /// Size of the next frame, before it is rounded.
    fn bytes(&mut self, id: u64, key: bool) -> f64 {
        let CodecModelParams { sigma, key_scale, buffer, .. } = self.params;
        let share = self.target / 8.0 / self.params.fps.as_fps_f64();
        // The mean of exp(sigma x) is exp(sigma² / 2).
        let varied = libm::exp(sigma * self.random.normal() - sigma * sigma / 2.0);
        let buffer = buffer.as_u64() as f64;
        if let Some(part) = BEGINNING.get(id as usize) {
            return (part * buffer).max(share);
        }
        if key {
            let most = share.max(0.9 * buffer);
            let bytes = (key_scale * share - self.excess).max(share).min(most);
            self.excess = (self.excess + bytes - share).max(0.0);
            return bytes;
        }
        let saved = (self.excess / SAVING.0).min(SAVING.1 * share * varied);
        self.excess -= saved;
        share * varied - saved
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
