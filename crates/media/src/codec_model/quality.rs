//! How pictures look that nobody has: by the size of their frames, by what lacks, and by what was shown before.

use super::Refresh;
use super::damage::{ALL, Damage, NONE, Rows, mean, rows_of};
use crate::{DisplayedFrame, FrameRate, IncompleteFrame};
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
        own_share: f64 = 0.1, in 0.01, 1.0, "docs/real-video.md", "How much of a frame's quality its own bits make; the rest is kept of the frames before it, back to a key frame";
        kept_scale: f64 = 1.82, in 1.0, 20.0, "docs/real-video.md", "How many times the bits of its frames a picture comes to while nothing is refreshed, from a key frame to the refresh a period later";
        freeze_psnr: f64 = 36.41, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a picture against the one before it";
        freeze_slope: f64 = 2.29, in 0.0, 20.0, "docs/real-video.md", "PSNR that twice the distance takes, in dB";
        freeze_least: f64 = 24.41, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of a picture against one long before it: no distance takes more";
        unseen_psnr: f64 = 15.12, in 5.0, 60.0, "docs/real-video.md", "PSNR in dB of what is shown before the first frame has come";
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
    /// Capture time of the newest frame of which anything was decoded.
    last: Option<Time>,
    /// From the capture of a frame to its display.
    delay: TimeDelta,
    /// Whether anything of the clip has been shown.
    has_picture: bool,
    /// Frames since the newest of which anything was decoded.
    distance: u64,
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
        QualityModel {
            params,
            interval,
            begin: None,
            last: None,
            delay: TimeDelta::ZERO,
            has_picture: false,
            distance: 0,
            bytes: 0.0,
            coding: 0.0,
            damage: Damage::new(
                Refresh::new(&params, fps),
                error_of(params.freeze_least.min(params.freeze_psnr)),
            ),
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

    /// A frame is shown. Of a late one the packets are decoded that were in time.
    pub fn on_displayed(&mut self, frame: &DisplayedFrame) -> Judged {
        let DisplayedFrame { captured, key, bytes, in_time, packets, .. } = *frame;
        if frame.late {
            let late = packets.saturating_sub(in_time);
            return self.on_incomplete(&IncompleteFrame {
                captured,
                key,
                bytes,
                in_time,
                late,
                gaps: 0,
                behind: None,
            });
        }
        if !self.is_next(captured) {
            return Judged::default();
        }
        let missed = self.missed_until(captured);
        // Where the wire does not say it, the first frame is a key frame if nothing was missed.
        let key = key.unwrap_or(self.last.is_none() && missed == 0);
        self.delay = frame.displayed - captured;
        self.decode(captured, missed, bytes.as_u64() as f64, key, &ALL)
    }

    /// A frame is decoded without some of its packets, or not at all where none was in time.
    pub fn on_incomplete(&mut self, frame: &IncompleteFrame) -> Judged {
        let arrived = (frame.in_time + frame.late) as f64;
        if frame.in_time == 0 || !self.is_next(frame.captured) {
            return Judged::default();
        }
        // Packets that are missing behind it are its own and those of the missing frames after it, which are as large: how many those
        // are is known only later, and mostly it is none.
        let known = arrived + frame.gaps as f64;
        let packets = known + frame.behind.map_or(0, |behind| behind.max(1)) as f64;
        let in_time = frame.in_time as f64;
        // Late packets are the last ones.
        let came = if frame.gaps == 0 {
            rows_of(in_time, 1.0, packets)
        } else {
            rows_of(known, in_time / known, packets)
        };
        let bytes = frame.bytes.as_u64() as f64 * packets / arrived;
        let missed = self.missed_until(frame.captured);
        self.decode(frame.captured, missed, bytes, frame.key == Some(true), &came)
    }

    /// Nothing more is shown by `at`: the last picture stays for those frames that are due until then.
    pub fn finish(&mut self, at: Time) -> Judged {
        let mut judged = Judged::default();
        let end = at - self.delay;
        if self.last.or(self.begin).is_some_and(|since| since < end) {
            self.freeze(self.missed_until(end), &mut judged);
            self.last = Some(end);
        }
        judged
    }

    /// Whether a frame is behind all that were decoded.
    fn is_next(&self, captured: Time) -> bool {
        self.last.is_none_or(|last| captured > last)
    }

    /// Frames captured before `at` and after the newest that was decoded, or from the stream's beginning.
    fn missed_until(&self, at: Time) -> u64 {
        let intervals = |since: Time| ((at - since).as_nanos().max(0) as f64 / self.interval + 0.5) as u64;
        match (self.last, self.begin) {
            (Some(last), _) => intervals(last).saturating_sub(1),
            (None, begin) => begin.map_or(0, intervals),
        }
    }

    /// A frame of `bytes` is decoded of which these shares of the rows came, after `missed` others of which nothing did. Rows that did not
    /// come are concealed: they stay, as the decoder guesses that they have moved.
    fn decode(&mut self, captured: Time, missed: u64, bytes: f64, key: bool, came: &Rows) -> Judged {
        let mut judged = Judged::default();
        self.freeze(missed, &mut judged);
        if self.has_picture {
            if self.distance > 0 {
                self.damage.add(error_of(self.frozen(self.distance)), &ALL);
            }
        } else {
            self.damage.fill(error_of(self.params.unseen_psnr));
            self.has_picture = true;
        }
        self.distance = 0;
        self.damage.pass(came);
        let share = mean(came);
        if key {
            self.damage.replace(came);
            self.bytes *= 1.0 - share;
        } else if self.bytes == 0.0 {
            self.bytes = bytes;
        }
        let QualityParams { own_share, kept_scale, concealed_psnr, .. } = self.params;
        // A refresh takes what was kept above the mean.
        let kept = if self.damage.is_refreshed() { 1.0 } else { kept_scale };
        self.bytes += own_share * share * (bytes - self.bytes / kept);
        self.damage.add(error_of(concealed_psnr), &came.map(|came| 1.0 - came));
        self.coding = error_of(self.coded_by(self.bytes));
        self.last = Some(captured);
        judged.add(psnr_of(self.error()));
        judged
    }

    /// A number of frames are not there at all: the last picture stays.
    fn freeze(&mut self, frames: u64, judged: &mut Judged) {
        if frames >= LONGEST_FREEZE {
            return;
        }
        for _ in 0..frames {
            self.distance += 1;
            self.damage.pass(&NONE);
            judged.add(if self.has_picture {
                psnr_of(self.coding + self.damage.error_of_still(error_of(self.frozen(self.distance))))
            } else {
                self.params.unseen_psnr.clamp(PSNR.0, PSNR.1)
            });
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
