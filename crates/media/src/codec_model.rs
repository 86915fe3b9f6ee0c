//! A codec without pictures: frames of the size that an encoder would make, and how good they would look.
//!
//! For sweeps that have no time for an encoder. The PSNR of a frame that arrives is a parabola in the logarithm of its bits
//! per pixel, fitted to x264 (docs/real-video.md says how well). A frame that is not shown leaves the last picture, which
//! fits less and less; and what it brought lacks in the pictures after it, until they are refreshed. Of a frame that lacks
//! some of its packets only their part of the picture stays, which the decoder conceals.

use crate::frame_rate::{CaptureGrid, FPS_MAX, FPS_MIN, FrameRate};
use crate::source::MediaSource;
use crate::{DisplayedFrame, Frame, GivenUp};
use paceline_units::{Bitrate, Bytes, RandomStream, Time, TimeDelta, names, params};

/// Bits per pixel at which the parabola begins.
const BITS_PER_PIXEL: f64 = 0.1;
/// Range of the parabola in doublings of that: where x264 was measured, and a little beyond.
const DOUBLINGS: (f64, f64) = (-3.5, 4.5);
/// PSNR is within these bounds, in dB.
const PSNR: (f64, f64) = (5.0, 60.0);
/// Frames that lack at a time and are judged one by one; with more the sender has started anew.
const LONGEST_FREEZE: u64 = 1 << 20;

params! {
    /// How the pictures of a clip look, by the size of their frames and by what lacks.
    #[derive(Copy)]
    pub struct QualityParams {
        psnr: f64 = 40.47, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a frame of 0.1 bit per pixel";
        slope: f64 = 2.96, in 0.0, 20.0, "docs/real-video.md", "PSNR that twice the bits add there, in dB";
        curvature: f64 = -0.29, in -2.0, 2.0, "docs/real-video.md", "Change of that gain with the square of the doublings, in dB";
        freeze_psnr: f64 = 36.18, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a picture against the one before it";
        freeze_slope: f64 = 2.45, in 0.0, 20.0, "docs/real-video.md", "PSNR that twice the distance takes, in dB";
        width: u64 = 352, in 16.0, 16384.0, "urcp-2013 VII: CIF", "Width of the pictures in pixels";
        height: u64 = 288, in 16.0, 16384.0, "urcp-2013 VII: CIF", "Height of the pictures in pixels";
        concealed_psnr: f64 = 37.1, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of the part of a picture whose packets were lost and which the decoder conceals";
        refresh: TimeDelta = TimeDelta::from_secs(2), in 0.001, 1e6, "ours", "Time in which damage heals: that in which every part of the picture is refreshed once";
    }
}

params! {
    /// Configuration of a [`CodecModel`].
    #[derive(Copy)]
    pub struct CodecModelParams {
        {
            /// Payload rate until the first target arrives.
            target_start: Bitrate = Bitrate::from_mbps(1),
        }
        fps: FrameRate = FrameRate::per_second(30), in FPS_MIN, FPS_MAX, "urcp-2013 VII", "Frames per second";
        sigma: f64 = 0.11, in 0.0, 2.0, "docs/real-video.md", "Standard deviation of the logarithm of a frame's size";
        key_scale: f64 = 3.0, in 0.0, 100.0, "docs/real-video.md", "How much larger the first frame is, and one on demand";
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
    /// The clip's values under x264, by `benches/codec_model.py`.
    pub fn params(self) -> QualityParams {
        let fitted = |values: [f64; 6], (width, height)| {
            let [psnr, slope, curvature, freeze_psnr, freeze_slope, concealed_psnr] = values;
            let usual = QualityParams::default();
            QualityParams {
                psnr,
                slope,
                curvature,
                freeze_psnr,
                freeze_slope,
                concealed_psnr,
                width,
                height,
                ..usual
            }
        };
        match self {
            ClipPreset::Newsreader => fitted([40.47, 2.96, -0.29, 36.18, 2.45, 37.1], (352, 288)),
            ClipPreset::Sports => fitted([25.53, 3.68, 0.31, 15.32, 0.75, 22.6], (352, 288)),
            ClipPreset::Carphone => fitted([34.2, 3.11, 0.08, 31.65, 2.55, 29.9], (176, 144)),
            ClipPreset::BigBuckBunny => fitted([36.26, 3.65, 0.08, 33.47, 3.37, 30.3], (352, 288)),
            ClipPreset::News => fitted([39.92, 4.11, 0.0, 36.18, 2.45, 37.1], (640, 360)),
            ClipPreset::Foreman => fitted([39.92, 2.32, -0.35, 31.65, 2.55, 29.9], (1280, 720)),
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
}

impl CodecModel {
    /// A source at rest; without a seed of its own it draws by `seed`.
    pub fn new(params: CodecModelParams, seed: u64) -> CodecModel {
        CodecModel {
            grid: CaptureGrid::new(params.fps),
            target: params.target_start.as_bps_f64(),
            random: RandomStream::new(params.seed.unwrap_or(seed), "media.codec_model"),
            key_requested: false,
            params,
        }
    }
}

impl MediaSource for CodecModel {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.grid.take(now)?;
        let key = core::mem::take(&mut self.key_requested) || id == 0;
        let sigma = self.params.sigma;
        // The mean of exp(sigma x) is exp(sigma² / 2).
        let varied = libm::exp(sigma * self.random.normal() - sigma * sigma / 2.0);
        let scale = if key { self.params.key_scale } else { varied };
        let bytes = self.target / 8.0 / self.params.fps.as_fps_f64() * scale;
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

/// PSNR of frames that were judged, added.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Judged {
    /// Frames: the one that is shown, and those before it that were not.
    pub frames: u64,
    /// Sum of their PSNR in dB.
    pub psnr: f64,
}

/// Judges the frames of one stream in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct QualityModel {
    params: QualityParams,
    /// Nanoseconds between frames.
    interval: f64,
    /// Capture time of the newest frame shown in time.
    last: Option<Time>,
    /// Mean squared error that its coding left, and that of damage which spreads to the pictures after it.
    coding: f64,
    damage: f64,
    /// Frames since the newest damage.
    since_damage: u64,
    /// Frames in which damage heals.
    refresh: f64,
}

impl QualityModel {
    /// A judge of frames of this rate.
    pub fn new(params: QualityParams, fps: FrameRate) -> QualityModel {
        let interval = 1e9 / fps.as_fps_f64();
        QualityModel {
            params,
            interval,
            refresh: (params.refresh.as_nanos().max(1) as f64 / interval).max(1.0),
            last: None,
            coding: 0.0,
            damage: 0.0,
            since_damage: 0,
        }
    }

    /// PSNR in dB of a frame of so many bytes that refers to whole ones.
    pub fn coded(&self, bytes: Bytes) -> f64 {
        let QualityParams { psnr, slope, curvature, width, height, .. } = self.params;
        let bits_per_pixel = bytes.as_bits_f64().max(1.0) / (width * height).max(1) as f64;
        let doublings = libm::log2(bits_per_pixel / BITS_PER_PIXEL).clamp(DOUBLINGS.0, DOUBLINGS.1);
        (psnr + doublings * (slope + curvature * doublings)).clamp(PSNR.0, PSNR.1)
    }

    /// PSNR in dB of the source's picture against that `frames` before it.
    pub fn frozen(&self, frames: u64) -> f64 {
        let QualityParams { freeze_psnr, freeze_slope, .. } = self.params;
        (freeze_psnr - freeze_slope * libm::log2(frames.max(1) as f64)).clamp(PSNR.0, PSNR.1)
    }

    /// A frame is shown. A late frame has been missed already, as has a frame of which a packet was lost.
    pub fn on_displayed(&mut self, frame: &DisplayedFrame) -> Judged {
        if frame.late || self.last.is_some_and(|last| frame.captured <= last) {
            return Judged::default();
        }
        let missed = self.last.map_or(0, |last| {
            let intervals = (frame.captured - last).as_nanos() as f64 / self.interval;
            (intervals + 0.5) as u64
        });
        let missed = missed.saturating_sub(1);
        let mut judged = Judged::default();
        if missed < LONGEST_FREEZE {
            let concealed = frame.given_up.frames.min(missed);
            self.freeze(missed - concealed, &mut judged);
            let lacking = lacking_share(frame.given_up, missed, concealed);
            self.conceal(concealed, lacking, &mut judged);
            self.heal(1);
        }
        self.last = Some(frame.captured);
        self.coding = error_of(self.coded(frame.bytes));
        judged.add(psnr_of(self.coding + self.damage));
        judged
    }

    /// Takes frames that are not there at all: the last picture stays.
    fn freeze(&mut self, frames: u64, judged: &mut Judged) {
        let shown = self.coding + self.damage;
        for distance in 1..=frames {
            judged.add(psnr_of(shown + error_of(self.frozen(distance))));
        }
        self.heal(frames);
        if frames > 0 {
            self.damaged_by(error_of(self.frozen(frames)));
        }
    }

    /// Takes frames that lack this share of their packets: each is shown, with that share of it concealed.
    fn conceal(&mut self, frames: u64, lacking: f64, judged: &mut Judged) {
        for _ in 0..frames {
            self.heal(1);
            self.damaged_by(lacking * error_of(self.params.concealed_psnr));
            judged.add(psnr_of(self.coding + self.damage));
        }
    }

    fn damaged_by(&mut self, error: f64) {
        self.damage += error;
        self.since_damage = 0;
    }

    /// Takes frames that pass, of which each refreshes its part of the picture: damage lasts for half the refresh on average,
    /// and after the whole of it none is left.
    fn heal(&mut self, frames: u64) {
        self.since_damage = self.since_damage.saturating_add(frames);
        let is_refreshed = self.since_damage as f64 >= self.refresh;
        self.damage *= if is_refreshed { 0.0 } else { libm::exp(-2.0 * frames as f64 / self.refresh) };
    }
}

impl core::ops::AddAssign for Judged {
    fn add_assign(&mut self, other: Judged) {
        self.frames += other.frames;
        self.psnr += other.psnr;
    }
}

impl Judged {
    /// Mean PSNR in dB; absent without frames.
    pub fn mean(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.psnr / self.frames as f64)
    }

    fn add(&mut self, psnr: f64) {
        self.frames += 1;
        self.psnr += psnr;
    }
}

/// The share of their packets that `partial` of `missed` frames lack on average; the others have none, and are as large.
fn lacking_share(given_up: GivenUp, missed: u64, partial: u64) -> f64 {
    let packets = (given_up.arrived + given_up.missing) as f64;
    if partial == 0 || packets == 0.0 {
        return 1.0;
    }
    let of_partial = packets * partial as f64 / missed as f64;
    (1.0 - given_up.arrived as f64 / of_partial).clamp(1.0 / packets, 1.0)
}

/// The mean squared error of a PSNR in dB, of pixels from 0 to 255.
fn error_of(psnr: f64) -> f64 {
    255.0 * 255.0 * libm::pow(10.0, -psnr / 10.0)
}

fn psnr_of(error: f64) -> f64 {
    (10.0 * libm::log10(255.0 * 255.0 / error.max(1e-9))).clamp(PSNR.0, PSNR.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameDelayParts;

    fn shown(number: u64, bytes: u64, late: bool) -> DisplayedFrame {
        let given_up = GivenUp::default();
        let captured = Time::from_nanos(number * 33_333_333);
        let parts = FrameDelayParts {
            send_queue: None,
            link_queue: None,
            path: TimeDelta::ZERO,
            dejitter: TimeDelta::ZERO,
        };
        DisplayedFrame { captured, displayed: captured, bytes: Bytes::new(bytes), late, parts, given_up }
    }

    fn judge() -> QualityModel {
        QualityModel::new(QualityParams::default(), FrameRate::per_second(30))
    }

    #[test]
    fn psnr_is_the_parabola_of_the_doublings() {
        let model = judge();
        // 352 x 288 pixels: 0.1 bit each are 1267 B.
        assert!((model.coded(Bytes::new(1267)) - 40.47).abs() < 0.01);
        assert!((model.coded(Bytes::new(2534)) - (40.47 + 2.96 - 0.29)).abs() < 0.01);
        assert!((model.coded(Bytes::new(5069)) - (40.47 + 2.0 * 2.96 - 4.0 * 0.29)).abs() < 0.01);
        assert_eq!(model.coded(Bytes::ZERO), model.coded(Bytes::new(1)));
    }

    #[test]
    fn missed_frames_freeze_and_their_damage_heals() {
        let mut model = judge();
        let whole = model.on_displayed(&shown(0, 1267, false));
        assert_eq!((whole.frames, (whole.psnr * 10.0) as u64), (1, 404));
        let after = model.on_displayed(&shown(3, 1267, false));
        assert_eq!(after.frames, 3);
        // Two frames frozen, of 34.8 and 32.9 dB with the error of the coding, and the third damaged as the second.
        assert!((after.psnr - 34.8 - 2.0 * 32.9).abs() < 0.2, "{after:?}");
        let mut psnr = 0.0;
        for number in 4..70 {
            let next = model.on_displayed(&shown(number, 1267, false)).psnr;
            assert!(next >= psnr, "heals");
            psnr = next;
        }
        assert!(psnr > 40.0, "{psnr}");
    }

    #[test]
    fn of_a_frame_that_lacks_a_packet_its_part_is_concealed() {
        let lacking = |arrived, missing, frames| {
            let mut model = judge();
            model.on_displayed(&shown(0, 1267, false));
            let given_up = GivenUp { frames, arrived, missing };
            model.on_displayed(&DisplayedFrame { given_up, ..shown(2, 1267, false) })
        };
        // One of four packets: a quarter of the error of 37.1 dB is that of 43.1 dB, upon the coding's of 40.5 dB.
        let (one, frozen) = (lacking(3, 1, 1), lacking(0, 4, 0));
        assert_eq!((one.frames, frozen.frames), (2, 2));
        assert!((one.psnr - 38.6 - 38.6).abs() < 0.2, "{one:?}");
        assert!(frozen.psnr < one.psnr - 5.0, "{frozen:?}");
        assert!(lacking(1, 3, 1).psnr < one.psnr);
        // Facts that the numbers do not tell are bounded.
        assert!(lacking(0, 0, 1).psnr < lacking(9, 0, 1).psnr);
    }

    #[test]
    fn frequent_damage_lasts_no_longer_than_a_single_one() {
        let given_up = GivenUp { frames: 1, arrived: 3, missing: 1 };
        let mut model = judge();
        let (mut frames, mut psnr) = (0, 0.0);
        for number in (0..2000).step_by(2) {
            let judged = model.on_displayed(&DisplayedFrame { given_up, ..shown(number, 1267, false) });
            if number >= 200 {
                (frames, psnr) = (frames + judged.frames, psnr + judged.psnr);
            }
        }
        // A quarter of a concealed picture every second frame, each of which lasts for 30 frames on average.
        let damage = error_of(model.params.concealed_psnr) / 4.0 * 15.0;
        let expected = psnr_of(error_of(40.47) + damage);
        assert!((psnr / frames as f64 - expected).abs() < 0.2, "{} {expected}", psnr / frames as f64);
    }

    #[test]
    fn a_late_frame_counts_as_missed_and_nothing_counts_twice() {
        let mut model = judge();
        model.on_displayed(&shown(0, 1267, false));
        assert_eq!(model.on_displayed(&shown(1, 1267, true)), Judged::default());
        assert_eq!(model.on_displayed(&shown(0, 1267, false)), Judged::default());
        assert_eq!(model.on_displayed(&shown(2, 1267, false)).frames, 2);
        assert_eq!(model.on_displayed(&shown(1 << 33, 1267, false)).frames, 1);
    }

    #[test]
    fn the_long_run_rate_is_the_target() {
        let mut source = CodecModel::new(CodecModelParams::default(), 1);
        source.start(Time::ZERO);
        source.set_target(Time::ZERO, Bitrate::from_mbps(2));
        let sizes: Vec<u64> =
            (0..20_000).filter_map(|_| source.capture(Time::MAX)).map(|f| f.payload.as_u64()).collect();
        let rate = sizes.iter().sum::<u64>() as f64 * 8.0 * 30.0 / sizes.len() as f64;
        assert!((rate / 2e6 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(sizes[0], 25_000);
    }
}
