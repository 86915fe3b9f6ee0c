//! The video sources of RFC 8593, for evaluations of congestion control: statistical, trace-driven and hybrid.
//!
//! | | statistical (section 5) | trace-driven (section 6) | hybrid (section 7) |
//! |---|---|---|---|
//! | frame interval | 1 / FPS, Laplace deviations | 1 / FPS | 1 / FPS, Laplace deviations |
//! | frame size | target / 8 / FPS, Laplace deviations | from the ladder | from the ladder |
//! | substantial change of the target | a burst of K_d frames | | a burst of K_d frames |
//! | a change is followed | tau_v after the one before | at once | tau_v after a substantial one |
//! | key frame on demand | a burst | the ladder from its beginning | a burst |
//!
//! Open points of the RFC, and differences from it, are in `DEVIATIONS.md` beside this file.

mod ladder;
mod params;
mod statistical;
#[cfg(test)]
mod tests;

pub use ladder::{FrameLadder, LadderError, Rung};
pub use params::VideoModelParams;

use crate::Frame;
use crate::frame_rate::CaptureGrid;
use crate::source::MediaSource;
use ladder::Player;
use paceline_units::param::{ParamError, ParamSet as _};
use paceline_units::{Bitrate, Bytes, RandomStream, Time, TimeDelta};
use statistical::{Burst, deviation};

/// Which model, and the ladder that it plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VideoModelKind {
    /// Section 5.
    Statistical,
    /// Section 6.
    Trace(FrameLadder),
    /// Section 7.
    Hybrid(FrameLadder),
}

/// A video source of RFC 8593.
#[derive(Clone, Debug)]
pub struct VideoModel {
    params: VideoModelParams,
    grid: CaptureGrid,
    /// t0 in nanoseconds.
    reference_interval: f64,
    /// Whether changes and key frames make bursts and intervals deviate: all but the trace-driven model.
    is_statistical: bool,
    /// The ladder: all but the statistical model.
    player: Option<Player>,
    /// The target that was asked for last.
    requested: Bitrate,
    /// R_v, what the encoder works to: within R_min and R_max.
    target: Bitrate,
    /// The change that tau_v is counted from.
    changed: Option<Time>,
    burst: Burst,
    key_requested: bool,
    /// A stream each, so that neither disturbs the other.
    intervals: RandomStream,
    sizes: RandomStream,
}

impl VideoModel {
    /// An encoder at rest.
    ///
    /// # Errors
    /// Says which parameter is out of range.
    pub fn new(kind: VideoModelKind, params: VideoModelParams) -> Result<VideoModel, ParamError> {
        params.check()?;
        let (r_min, r_max) = params.limits();
        let seed = params.seed.unwrap_or(1);
        let is_statistical = !matches!(kind, VideoModelKind::Trace(_));
        let player = match kind {
            VideoModelKind::Statistical => None,
            VideoModelKind::Trace(ladder) | VideoModelKind::Hybrid(ladder) => {
                Some(Player::new(ladder, params.skip_frames, (params.fs_min, params.fs_max))?)
            }
        };
        Ok(VideoModel {
            grid: CaptureGrid::new(params.fps),
            reference_interval: 1e9 / params.fps.as_fps_f64(),
            is_statistical,
            player,
            requested: params.target_start,
            target: params.target_start.clamp(r_min, r_max),
            changed: None,
            burst: Burst::default(),
            key_requested: false,
            intervals: RandomStream::new(seed, "media.rfc8593.intervals"),
            sizes: RandomStream::new(seed, "media.rfc8593.sizes"),
            params,
        })
    }

    /// The encoder's effective target: the target of the last change that it followed, within R_min and R_max (payload).
    pub fn target(&self) -> Bitrate {
        self.target
    }

    /// B0 in bytes.
    fn mean_frame(&self) -> f64 {
        self.target.as_bps_f64() / 8.0 / self.params.fps.as_fps_f64()
    }

    /// Takes up the target that was asked for last, unless it is too early; answers whether that is a substantial change.
    fn follow(&mut self, at: Time, is_first: bool) -> bool {
        let (r_min, r_max) = self.params.limits();
        let wanted = self.requested.clamp(r_min, r_max);
        if is_first {
            self.target = wanted;
        }
        if wanted == self.target || self.is_damped(at) {
            return false;
        }
        let before = core::mem::replace(&mut self.target, wanted).as_bps_f64();
        let change = libm::fabs(wanted.as_bps_f64() - before);
        let is_abrupt = self.is_statistical && change > self.params.transient_change * before;
        // Section 7: in the hybrid model only a substantial change is followed by the wait.
        if is_abrupt || self.player.is_none() {
            self.changed = Some(at);
        }
        is_abrupt
    }

    /// Section 5.1, and the burst that section 5.2 takes to last as long.
    fn is_damped(&self, at: Time) -> bool {
        let is_waiting = self.changed.is_some_and(|changed| at.saturating_since(changed) < self.params.tau_v);
        is_waiting || !self.burst.is_over()
    }

    /// Moves the next frame by its deviation.
    fn deviate(&mut self) {
        if self.is_statistical {
            let deviation = deviation(&mut self.intervals, self.params.scale_t) * self.reference_interval;
            self.grid.shift(TimeDelta::from_secs_f64(deviation * 1e-9));
        }
    }

    /// The size of the frame that is due, and whether the ladder calls it a key frame.
    fn frame(&mut self) -> (Bytes, bool) {
        // All are asked each time: where in the ladder and in the draws a frame is, its number alone says.
        let drawn = deviation(&mut self.sizes, self.params.scale_b);
        let played = self.player.as_mut().map(|player| player.next(self.target.as_bps_f64()));
        let steady = played.unwrap_or_else(|| (statistical::frame(self.mean_frame() * (1.0 + drawn)), false));
        self.burst.next().map_or(steady, |bytes| (bytes, false))
    }
}

impl MediaSource for VideoModel {
    fn next_capture(&self) -> Option<Time> {
        self.grid.due()
    }

    fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.grid.take(now)?;
        let is_asked = core::mem::take(&mut self.key_requested) || id == 0;
        let is_abrupt = self.follow(captured, id == 0);
        if self.is_statistical && (is_abrupt || is_asked) {
            self.burst.start(self.params.k_d, self.params.k_b, self.mean_frame());
        } else if let Some(player) = self.player.as_mut().filter(|_| is_asked) {
            player.rewind();
        }
        self.deviate();
        let (payload, is_key) = self.frame();
        Some(Frame { id, captured, payload, key: is_asked || is_key })
    }

    fn follows_target(&self) -> bool {
        let (r_min, r_max) = self.params.limits();
        r_min < r_max
    }

    fn largest_rate(&self) -> Option<Bitrate> {
        self.params.r_max
    }

    fn set_target(&mut self, _now: Time, target: Bitrate) {
        self.requested = target;
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
