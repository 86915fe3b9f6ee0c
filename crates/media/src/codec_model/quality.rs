//! How pictures look that nobody has: by the size of their frames, by what lacks, and by what was shown before.

use super::damage::Damage;
use super::refresh_of;
use crate::{DisplayedFrame, FrameRate, GivenUp};
use paceline_units::{Bytes, Time, TimeDelta, params};

/// Bits per pixel at which the parabola begins.
pub(super) const BITS_PER_PIXEL: f64 = 0.1;
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
        psnr: f64 = 39.94, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a frame of 0.1 bit per pixel";
        slope: f64 = 3.28, in 0.0, 20.0, "docs/real-video.md", "PSNR that twice the bits add there, in dB";
        curvature: f64 = -0.33, in -2.0, 2.0, "docs/real-video.md", "Change of that gain with the square of the doublings, in dB";
        own_share: f64 = 0.11, in 0.01, 1.0, "docs/real-video.md", "How much of a frame's quality its own bits make; the rest is kept of the frames before it, back to a key frame";
        freeze_psnr: f64 = 36.41, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a picture against the one before it";
        freeze_slope: f64 = 2.29, in 0.0, 20.0, "docs/real-video.md", "PSNR that twice the distance takes, in dB";
        freeze_least: f64 = 24.41, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a picture against one long before it: no distance takes more";
        unseen_psnr: f64 = 16.27, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of what is shown before the first frame has come";
        width: u64 = 352, in 16.0, 16384.0, "urcp-2013 VII: CIF", "Width of the pictures in pixels";
        height: u64 = 288, in 16.0, 16384.0, "urcp-2013 VII: CIF", "Height of the pictures in pixels";
        concealed_psnr: f64 = 37.6, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of the part of a picture whose packets were lost and which the decoder conceals";
        refresh: TimeDelta = TimeDelta::from_secs(2), in 0.001, 1e6, "ours", "Time between two refreshes of the picture, each of which mends a column of 16 pixels per frame";
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
    /// Capture time of the first frame, where it is known.
    begin: Option<Time>,
    /// Capture time of the newest frame shown in time, and from there to its display.
    last: Option<(Time, TimeDelta)>,
    /// Whether anything of the clip has been shown.
    has_picture: bool,
    /// Frames that came in part, or late, since the newest frame shown in time.
    missed: GivenUp,
    /// Bytes per frame that the picture's quality follows from.
    bytes: f64,
    /// Mean squared error that coding left, and that of damage which spreads to the pictures after it.
    coding: f64,
    damage: Damage,
}

impl QualityModel {
    /// A judge of frames of this rate.
    pub fn new(params: QualityParams, fps: FrameRate) -> QualityModel {
        let interval = 1e9 / fps.as_fps_f64();
        let most = error_of(params.freeze_least.min(params.unseen_psnr));
        QualityModel {
            params,
            interval,
            begin: None,
            last: None,
            has_picture: false,
            missed: GivenUp::default(),
            bytes: 0.0,
            coding: 0.0,
            damage: Damage::new(refresh_of(&params, fps), most),
        }
    }

    /// The first frame is captured at `at`: until one is shown, what is shown is none of the clip's pictures.
    pub fn begin(&mut self, at: Time) {
        self.begin = Some(at);
    }

    /// PSNR in dB of frames of so many bytes that refer to whole ones.
    pub fn coded(&self, bytes: Bytes) -> f64 {
        self.coded_by(bytes.as_u64() as f64)
    }

    fn coded_by(&self, bytes: f64) -> f64 {
        let QualityParams { psnr, slope, curvature, width, height, .. } = self.params;
        let bits_per_pixel = (bytes * 8.0).max(1.0) / (width * height).max(1) as f64;
        let doublings = libm::log2(bits_per_pixel / BITS_PER_PIXEL).clamp(DOUBLINGS.0, DOUBLINGS.1);
        (psnr + doublings * (slope + curvature * doublings)).clamp(PSNR.0, PSNR.1)
    }

    /// PSNR in dB of the source's picture against that `frames` before it.
    pub fn frozen(&self, frames: u64) -> f64 {
        let QualityParams { freeze_psnr, freeze_slope, freeze_least, .. } = self.params;
        let fallen = freeze_psnr - freeze_slope * libm::log2(frames.max(1) as f64);
        fallen.max(freeze_least.min(freeze_psnr)).clamp(PSNR.0, PSNR.1)
    }

    /// A frame is shown. A late frame counts as missed, but for its packets that were in time.
    pub fn on_displayed(&mut self, frame: &DisplayedFrame) -> Judged {
        if self.last.is_some_and(|(last, _)| frame.captured <= last) {
            return Judged::default();
        }
        self.missed += frame.given_up;
        if frame.late {
            self.missed += in_time(frame);
            return Judged::default();
        }
        let mut judged = Judged::default();
        let missed = self.missed_until(frame.captured);
        self.miss(missed, &mut judged);
        self.show(frame, missed);
        judged.add(psnr_of(self.error()));
        judged
    }

    /// Nothing more is shown by `at`: the last picture stays for those frames that are due until then.
    pub fn finish(&mut self, at: Time) -> Judged {
        let mut judged = Judged::default();
        let delay = self.last.map_or(TimeDelta::ZERO, |(_, delay)| delay);
        let end = at - delay;
        if self.last.map(|(last, _)| last).or(self.begin).is_some_and(|since| since < end) {
            let missed = self.missed_until(end);
            self.miss(missed, &mut judged);
            self.last = Some((end, delay));
        }
        judged
    }

    /// Frames captured before `at` and after the newest that was shown, or from the stream's beginning.
    fn missed_until(&self, at: Time) -> u64 {
        let intervals = |since: Time| ((at - since).as_nanos().max(0) as f64 / self.interval + 0.5) as u64;
        match (self.last, self.begin) {
            (Some((last, _)), _) => intervals(last).saturating_sub(1),
            (None, begin) => begin.map_or(0, intervals),
        }
    }

    fn show(&mut self, frame: &DisplayedFrame, missed: u64) {
        let bytes = frame.bytes.as_u64() as f64;
        let is_first = self.last.is_none();
        // Where the wire does not say it, the first frame is one if nothing was missed.
        if frame.key.unwrap_or(is_first && missed == 0) {
            self.damage.replace(0.0);
            self.bytes = 0.0;
        } else {
            self.damage.pass(1);
            if is_first {
                self.bytes = bytes;
            }
        }
        self.bytes += self.params.own_share * (bytes - self.bytes);
        self.coding = error_of(self.coded_by(self.bytes));
        self.last = Some((frame.captured, frame.displayed - frame.captured));
        (self.has_picture, self.missed) = (true, GivenUp::default());
    }

    /// A number of frames were not shown as they were sent. A key frame of them that came in part is a new beginning; the others
    /// are taken to be spread evenly among those, and what came in part to be before what came not at all.
    fn miss(&mut self, frames: u64, judged: &mut Judged) {
        if frames == 0 || frames >= LONGEST_FREEZE {
            return;
        }
        let partial = self.missed.frames.min(frames);
        let lacking = lacking_share(self.missed, frames, partial);
        if !self.has_picture {
            self.damage.replace(error_of(self.params.unseen_psnr));
        }
        let (keys, begins_with_key) = (self.missed.keys.min(partial), self.last.is_none());
        let pieces = keys + u64::from(keys == 0 || !begins_with_key);
        let of_piece = |all: u64, piece: u64| all * (piece + 1) / pieces - all * piece / pieces;
        for piece in 0..pieces {
            if piece + keys >= pieces {
                self.damage.replace(lacking * (self.error() + error_of(self.params.concealed_psnr)));
                self.has_picture = true;
            }
            self.conceal(of_piece(partial, piece), lacking, judged);
            self.freeze(of_piece(frames - partial, piece), judged);
        }
    }

    /// A number of frames are not there at all: the last picture stays.
    fn freeze(&mut self, frames: u64, judged: &mut Judged) {
        let shown = self.error();
        for distance in 1..=frames {
            let moved = if self.has_picture { error_of(self.frozen(distance)) } else { 0.0 };
            judged.add(psnr_of(shown + moved));
        }
        self.damage.pass(frames);
        if !self.has_picture {
            self.damage.fill(error_of(self.params.unseen_psnr));
        } else if frames > 0 {
            self.damage.add(error_of(self.frozen(frames)));
        }
    }

    /// A number of frames lack this share of their packets: each is shown, with that share of it concealed.
    fn conceal(&mut self, frames: u64, lacking: f64, judged: &mut Judged) {
        for _ in 0..frames {
            self.damage.pass(1);
            self.damage.add(lacking * error_of(self.params.concealed_psnr));
            judged.add(psnr_of(self.error()));
        }
    }

    /// Mean squared error of what is shown.
    fn error(&self) -> f64 {
        self.coding + self.damage.error()
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

/// The packets in time of a frame that was late as a whole.
fn in_time(frame: &DisplayedFrame) -> GivenUp {
    let is_partial = u64::from(frame.in_time > 0);
    GivenUp {
        frames: is_partial,
        keys: if frame.key == Some(true) { is_partial } else { 0 },
        arrived: frame.in_time,
        missing: frame.packets.saturating_sub(frame.in_time),
    }
}

/// The share of their packets that `partial` of `missed` frames lack on average: each at least one. The others have none,
/// and are as large.
fn lacking_share(given_up: GivenUp, missed: u64, partial: u64) -> f64 {
    let packets = (given_up.arrived + given_up.missing) as f64;
    if partial == 0 || packets == 0.0 {
        return 1.0;
    }
    let least = (given_up.arrived + partial) as f64;
    let of_partial = (packets * partial as f64 / missed as f64).max(least);
    1.0 - given_up.arrived as f64 / of_partial
}

/// The mean squared error of a PSNR in dB, of pixels from 0 to 255.
fn error_of(psnr: f64) -> f64 {
    255.0 * 255.0 * libm::pow(10.0, -psnr / 10.0)
}

fn psnr_of(error: f64) -> f64 {
    (10.0 * libm::log10(255.0 * 255.0 / error.max(1e-9))).clamp(PSNR.0, PSNR.1)
}

#[cfg(test)]
#[path = "quality_tests.rs"]
mod tests;
