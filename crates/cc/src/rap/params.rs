//! RAP's constants by name. One algorithm, two named sets of values.

use paceline_units::TimeDelta;
use paceline_units::params;

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

params! {
    /// Every constant of RAP. `Default` is the profile `rap1999`.
    pub struct Params {
        ipg: TimeDelta = ms(2000), in 1e-6, 60.0, "FACTS 12, no text at hand", "Gap between packets before the first acknowledgement";
        ipg_min: TimeDelta = TimeDelta::from_micros(1), in 1e-9, 1.0, "ours", "Smallest gap";
        ipg_max: TimeDelta = ms(60_000), in 0.01, 60.0, "ours", "Largest gap";
        srtt: TimeDelta = ms(2000), in 1e-6, 60.0, "FACTS 12, no text at hand", "Round-trip time before the first acknowledgement";
        alpha: f64 = 1.0, in 0.0, 100.0, "FACTS 12, no text at hand", "Packets that a round trip has more than the one before";
        beta: f64 = 0.5, in 0.01, 1.0, "FACTS 12, no text at hand", "Rate factor for a loss event";
        delta: f64 = 0.5, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the round-trip time and its variation";
        mu: f64 = 1.2, in 0.0, 100.0, "FACTS 12, no text at hand", "Round-trip times in the timeout";
        phi: f64 = 4.0, in 0.0, 100.0, "FACTS 12, no text at hand", "Variations in the timeout";
        dpthresh: f64 = 50.0, in 0.0, 100.0, "FACTS 12, no text at hand", "The rate rises if this part in 100 of the packets due in a round trip was sent";
        reorder: u64 = 3, in 1.0, 100.0, "FACTS 12, no text at hand", "A hole this far below the last received is a loss";
        slow_start: bool = true, "RAP 1999 as its paper is told, no text at hand", "Halve the gap once a round trip until the first loss event";
        recv_limit_factor: f64 = 2.0, in 1.0, 100.0, "RFC 5348 4.3", "Most packets sent over the most packets that lately arrived; ten per round trip are never too many (RFC 9002 7.2)";
        recv_set_rtts: f64 = 2.0, in 0.0, 100.0, "RFC 5348 4.3", "How long a count of arrivals holds, in the times that it was counted over; the last one always does";
        recv_limit_patience: TimeDelta = ms(0), in 0.0, 60.0, "ours", "How long the rate may be above that limit";
        first_gap_follows: bool = true, "ours", "The first acknowledgement ends the gap after the first packet, so that the second leaves a round trip after it; else that gap lasts `ipg`, as in ns-2.35";
        silence_gap: TimeDelta = ms(500), in 0.0, 60.0, "ours", "Largest gap while nothing at all is acknowledged; then slow start leads back to the rate that one loss event has left. Zero: silence is a series of loss events";
        media_part: f64 = 0.95, in 0.01, 1.0, "ours: RAP knows no encoders", "Target of the media as a part of the rate; the rest is for headers, and frames that vary";
        media_drain: TimeDelta = ms(333), in 1e-3, 1e10, "RFC 8698 5.2.2 (1 / (BETA_V FPS))", "The target of the media is lower by what lets its send queue leave in this time";
        fine_grain: bool = false, "FACTS 12, no text at hand", "Stretch the gap by short-term over long-term round-trip time";
        kfrtt: f64 = 0.9, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the short-term round-trip time";
        kxrtt: f64 = 0.01, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the long-term round-trip time";
    }
    ordered ipg_min <= ipg_max;
    profiles {
        "rap1999": "RAP with a start that doubles its rate; no text at hand" => Params::default,
        "ns2": "The defaults of ns-2.35's RAP: no slow start" => Params::ns2,
    }
}

impl Params {
    /// The choices of ns-2.35.
    fn ns2() -> Params {
        Params {
            slow_start: false,
            first_gap_follows: false,
            silence_gap: TimeDelta::ZERO,
            // A packet more per round trip goes not far beyond the limit in this time, and ns-2's flows stay what they are.
            recv_limit_patience: ms(250),
            ..Params::default()
        }
    }
}
