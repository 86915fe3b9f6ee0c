//! SCReAM's constants by name. One algorithm, several named sets of values.

use super::silence::Patience;
use paceline_units::param::Ramp;
use paceline_units::params;
use paceline_units::{Bitrate, Bytes, TimeDelta};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const INF: f64 = f64::INFINITY;

params! {
    /// Every constant of SCReAM v1, with the values of profile `rfc8298`: a rule that only the reference program has is
    /// switched off by its neutral value. `Default` is profile `robust`.
    pub struct Params {
        qdelay_target_lo: TimeDelta = ms(100), in 1e-3, 10.0, "RFC 8298 4.1.1.1", "Target of the queue delay, lowest value";
        qdelay_target_hi: TimeDelta = ms(400), in 1e-3, 10.0, "RFC 8298 4.1.1.1", "Target of the queue delay, highest value when flows compete";
        qdelay_weight: f64 = 0.1, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Weight of a sample in the average of the delay fraction";
        qdelay_weight_interval: TimeDelta = ms(50), in 0.0, 1.0, "RFC 8298 4.1.2", "Least time between samples of that average; zero: every window update";
        qdelay_trend_th: f64 = 0.2, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Delay trend at which fast increase ends";
        qdelay_trend_lo: f64 = 0.2, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Delay trend below which fast increase may resume";
        delay_span: TimeDelta = ms(0), in 0.0, 10.0, "ours", "The queue delay is the smallest one of the packets that were sent in the last such time; 0: the newest packet's";
        delay_target_packets: f64 = 0.0, in 0.0, 10.0, "ours", "The delay target is no shorter than so many largest packets take at the present target bitrate";
        delay_noise_gain: f64 = 0.0, in 0.0, 100.0, "ours", "The delay target is higher by this times the delay noise, up to qdelay_target_hi";
        history_by_time: bool = true, "ours: RFC 8298 4.1.2 samples every 50 ms", "A report that comes late counts as a sample for each 50 ms since the last; else as one";
        trend_least: TimeDelta = ms(0), in 0.0, 1.0, "ours", "A queue delay whose standard deviation is less is constant, and has no trend";
        trend_start: TimeDelta = ms(0), in 0.0, 60.0, "reference program 2022-06, window (3)", "The trend is taken as zero before this time of the flow";
        min_cwnd: Bytes = Bytes::new(3000), in 1.0, 1e9, "RFC 8298 4.1.1.1", "Smallest congestion window";
        min_cwnd_packets: f64 = 0.0, in 0.0, 100.0, "reference program 2022-06, sending", "Smallest congestion window in largest packets";
        initial_cwnd: Bytes = Bytes::new(3000), in 1.0, 1e9, "RFC 8298 4.1.1.2", "First congestion window";
        max_bytes_in_flight_head_room: f64 = 1.1, in 1.0, 100.0, "RFC 8298 4.1.1.1", "Window over the largest flight seen";
        max_bytes_in_flight_window: TimeDelta = ms(5000), in 1.0, 60.0, "RFC 8298 4.1.2.2", "How long the largest flight is remembered";
        max_bytes_in_flight_trend: f64 = 0.0, in 0.0, 1.0, "reference program 2022-06, window (3)", "How far the delay trend pulls the limit from the largest flight towards the largest mean one";
        max_bytes_in_flight_floor: Bytes = Bytes::new(0), in 0.0, 1e9, "reference program 2022-06, window (6)", "The limit holds only above this";
        max_bytes_in_flight_always: bool = false, "reference program 2022-06, window (6)", "The limit holds in fast increase too, once there was congestion";
        gain: f64 = 1.0, in 0.0, 100.0, "RFC 8298 4.1.1.1", "Gain of the window below the delay target";
        gain_down: f64 = 1.0, in 0.0, 100.0, "RFC 8298 4.1.1.1", "Gain of the window above the delay target";
        max_decrease: f64 = INF, in 0.0, INF, "reference program 2022-06, window (5)", "Largest decrease for delay in one update, as a part of the window";
        fast_increase_use: f64 = 1.5, in 0.0, 100.0, "RFC 8298 4.1.2.2", "In fast increase the window grows if this times the flight fills it";
        window_use: f64 = 1.25, in 0.0, 100.0, "RFC 8298 4.1.2.2", "Otherwise the window grows if this times the flight fills it";
        flight_before_report: bool = false, "ours", "The window grows if the flight before the report fills it: reports at a frame's end leave none after it; else flight and bytes acknowledged do, as RFC 8298 4.1.2.2";
        cwnd_update_interval: TimeDelta = ms(0), in 0.0, 1.0, "reference program 2022-06, feedback", "Least time between window updates";
        acked_head_room: f64 = INF, in 0.0, INF, "reference program 2022-06, feedback", "Bytes acknowledged count for growth at most this times the present rate";
        post_congestion_delay: TimeDelta = ms(0), in 0.0, 100.0, "reference program 2022-06, window (5)", "How long growth takes to come back after congestion";
        beta_loss: f64 = 0.8, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Window factor for a loss event";
        loss_deviations: f64 = 0.0, in 0.0, 100.0, "ours", "Losses are congestion where their part exceeds the usual one by so many standard deviations of its counting; 0: each loss is, as in RFC 8298";
        beta_ecn: f64 = 0.9, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Window factor for a classic ECN event";
        beta_r: f64 = 0.9, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Rate factor for a loss event";
        beta_ecn_rate: f64 = 0.9, in 0.0, 1.0, "RFC 8298 4.1.3 (BETA_ECN)", "Rate factor for a classic ECN event";
        l4s_gain: f64 = 0.125, in 0.0, 1.0, "reference program 2022-06, feedback", "Weight of a round trip in alpha, the average part of marked bytes";
        l4s_alpha_start: f64 = 0.1, in 0.0, 1.0, "reference program 2022-06, feedback", "First alpha";
        l4s_head_room: f64 = 1.0, in 0.1, 100.0, "reference program 2022-06, window (4)", "Window factor for marks is 1 - alpha/(2 x this)";
        l4s_rate_head_room: f64 = 1.0, in 0.1, 100.0, "reference program 2022-06, media rate", "Rate factor for marks is 1 - f alpha/(2 x this), f = flight/window";
        l4s_growth_alpha: f64 = INF, in 0.0, INF, "reference program 2022-06, media rate (A)", "Under L4S and above this alpha the rate grows as in fast increase";
        l4s_growth_interval: TimeDelta = ms(0), in 0.0, 10.0, "ours, after Prague", "Under L4S, once there were marks, the rate grows by a packet per such interval in each round trip; 0: as without marks";
        base_delay_bucket: TimeDelta = ms(60_000), in 0.1, 3600.0, "RFC 6817 2.4.2", "Length of a bucket of the base-delay history";
        base_delay_buckets: u64 = 10, in 1.0, 1000.0, "RFC 6817 2.5", "Buckets of the base-delay history";
        base_reset_fraction: f64 = INF, in 0.0, INF, "reference program 2022-06, window (1)", "The history is forgotten when the slow minimum of delay exceeds this part of the target";
        base_reset_interval: TimeDelta = ms(20_000), in 0.0, 3600.0, "reference program 2022-06, window (1)", "Least time between two such resets";
        base_reset_weight: f64 = 0.001, in 0.0, 1.0, "reference program 2022-06, window (1)", "How fast the slow minimum rises, every 50 ms";
        skew_compensation: bool = true, "ours; Moon, Skelly and Towsley 1999", "Skew and steps of the receiver's clock are taken out of one-way delays";
        competing_flow_compensation: bool = true, "RFC 8298 4.1.2.3", "Raise the delay target when loss-based flows compete";
        loss_event_weight: f64 = 0.01, in 0.0, 1.0, "ours: RFC 8298 gives none", "Weight of a round trip in the loss event rate";
        reorder_window: TimeDelta = ms(10), in 0.0, 10.0, "reference program 2022-06, feedback", "A packet is lost if one sent this much later was acknowledged";
        reorder_window_max: TimeDelta = ms(200), in 0.0, 10.0, "ours: RFC 8298 4.1.2.4 sets no limit", "The reordering window grows up to this";
        t_resume_fast_increase: TimeDelta = ms(5000), in 0.0, 3600.0, "RFC 8298 4.1.1.1", "Fast increase resumes after so long without a sign of congestion";
        rate_pace_min: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, "RFC 8298 4.1.1.1", "Lowest pacing rate";
        rate_pace_max: Bitrate = Bitrate::MAX, in 1e3, INF, "ours: as fast as the sender's interface", "Highest pacing rate; holds where there is no pacing otherwise";
        pace_from_target: bool = false, "reference program 2022-06, sending", "Pace from the media rate with a fixed gap, not from window over round trip";
        pace_whole_packets: bool = false, "reference program 2022-06, sending", "With pace_from_target: the gap is that of a largest packet whatever was sent; else the packet's own";
        pacing_head_room: f64 = 1.25, in 0.1, 100.0, "reference program 2022-06, sending", "With pace_from_target: pacing rate over media rate";
        pacing_head_room_start: f64 = 1.5, in 0.1, 100.0, "reference program 2022-06, sending", "The same before the first congestion, if larger";
        pacing_delay_fraction: f64 = 0.0, in 0.0, 1.0, "reference program 2022-06, sending", "No pacing without L4S while the averaged delay fraction is at most this; with pace_from_target. 0: packets are always paced, as in RFC 8298 4.1.2.6";
        mss: Bytes = Bytes::new(1000), in 64.0, 65000.0, "RFC 8298 4.1.1.1", "Largest payload of a packet";
        mss_learning: TimeDelta = ms(0), in 0.0, 60.0, "reference program 2022-06, sending", "Relearn the largest packet this often; zero: it is given";
        srtt_prefilter: f64 = 1.0, in 0.01, 1.0, "reference program 2022-06, feedback", "Weight of a sample in a first round-trip filter; 1: none";
        stall_time: TimeDelta = ms(500), in 0.01, 60.0, "reference program 2022-06, sending", "With something outstanding and no report for so long at least, what is outstanding is given up; without feedback_patience: after nothing was sent for so long";
        stall_round_trips: f64 = 2.0, in 0.0, 100.0, "ours, after RFC 6298 2", "The same in smoothed round trips; the longer one holds";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the pace halves in each; growth ends after one; 0: no reaction";
        rate_interval: TimeDelta = ms(200), in 1e-3, 10.0, "RFC 8298 4.1.3", "Interval over which rates are measured";
        rate_intervals: u64 = 1, in 1.0, 32.0, "reference program 2022-06, sending", "Intervals that are averaged";
        rate_adjust_interval: TimeDelta = ms(200), in 1e-3, 10.0, "RFC 8298 4.1.1.1", "Least time between updates of the media rate";
        rate_adjust_exceeds: bool = false, "measured on the reference: DEVIATIONS.md", "An update needs more than the interval, not just as much";
        rate_events_at_frames: bool = false, "measured on the reference: DEVIATIONS.md", "Loss and ECN lower the media rate when the next frame is queued, not at the report";
        events_held: bool = false, "measured on the reference: DEVIATIONS.md", "A loss or CE within a round trip after a reaction acts when that is over; else it is ignored";
        target_bitrate_min: Bitrate = Bitrate::from_kbps(300), in 1e3, 1e12, "RFC 8298 4.1.1.1, no value there", "Lowest target bitrate";
        target_bitrate_start: Bitrate = Bitrate::from_mbps(1), in 1e3, 1e12, "ours; the value of the 5G paper's Table I", "First target bitrate";
        target_bitrate_max: Bitrate = Bitrate::from_mbps(100), in 1e3, 1e12, "RFC 8298 4.1.1.1, no value there", "Highest target bitrate";
        ramp_up_speed: Ramp = Ramp(Bitrate::from_kbps(200)), in 1e3, 1e12, "RFC 8298 4.1.1.1", "Largest rate increase per second";
        ramp_up_scale: f64 = 0.5, in 0.0, 100.0, "RFC 8298 4.1.3", "Largest rate increase per second, as a part of the target";
        ramp_up_part: f64 = 0.0, in 0.0, 100.0, "ours", "The largest rate increase per second is no less than this part of the target";
        ramp_up_span: TimeDelta = ms(0), in 0.0, 10.0, "ours", "An update grows the rate for the time since the last one, up to this; 0: for rate_adjust_interval, as RFC 8298 4.1.3";
        inflection_gain: f64 = 4.0, in 0.0, 1000.0, "RFC 8298 4.1.3", "How soon growth is free again away from the last highest rate";
        inflection_gain_l4s: f64 = 4.0, in 0.0, 1000.0, "reference program 2022-06, media rate", "The same under L4S";
        inflection_min: f64 = 0.2, in 0.0, 1.0, "RFC 8298 4.1.3", "Smallest growth near the last highest rate";
        inflection_interval: TimeDelta = TimeDelta::MAX, in 0.0, 1e10, "reference program 2022-06, media rate", "When growth ends, the rate is kept as the last highest at most this often; largest: never";
        inflection_measured: bool = false, "reference program 2022-06, media rate", "The last highest rate is capped by the measured throughput";
        pre_congestion_guard: f64 = 0.1, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Weight of the delay trend in the media rate";
        tx_queue_size_factor: f64 = 1.0, in 0.0, 2.0, "RFC 8298 4.1.1.1", "Weight of the send queue in the media rate";
        tx_queue_target_part: f64 = INF, in 0.0, INF, "reference program 2022-06, media rate", "The send queue's bits count up to this part of the target";
        tx_queue_weight: f64 = 1.0, in 0.0, 1.0, "reference program 2022-06, media rate", "Weight of a sample in the average of the send queue";
        tx_queue_newest_frame: bool = false, "RFC 8298 4.1.3, which does not say when the queue is read", "The newest frame, queued just before the rate is adjusted, counts as send queue: then each frame that takes longer to send than rtp_qdelay_th costs rate";
        tx_queue_hold: Bytes = Bytes::MAX, in 0.0, 1e20, "reference program 2022-06, media rate (B)", "No growth while the send queue exceeds this";
        fast_increase_queue_age: TimeDelta = TimeDelta::MAX, in 0.0, 1e10, "reference program 2022-06, media rate (A)", "Fast increase raises the rate only below this age of the send queue";
        rate_from_target: f64 = 0.0, in 0.0, 1.0, "reference program 2022-06, media rate (B)", "Part of the target that is taken from the rate change; 0 as RFC 8298 prints it";
        low_rate_gain: f64 = 0.0, in 0.0, 1.0, "reference program 2022-06, media rate (B)", "Extra growth of low rates";
        idle_gain: f64 = 0.0, in 0.0, 100.0, "reference program 2022-06, media rate", "How far a source below its target slows the rate's change";
        media_excess: f64 = INF, in 0.0, INF, "reference program 2022-06, media rate (B)", "No decrease while the source exceeds this times the target";
        media_limit: f64 = 2.0, in 1.0, INF, "RFC 8298 4.1.3", "The target stays below (this - trend memory) times the measured rate";
        rtp_qdelay_th: TimeDelta = ms(20), in 0.0, 1e10, "RFC 8298 4.1.1.1", "Send-queue delay that reduces the rate";
        target_rate_scale_rtp_qdelay: f64 = 0.95, in 0.0, 1.0, "RFC 8298 4.1.1.1", "Rate factor for a filled send queue or window";
        ramp_up_round_trip: TimeDelta = TimeDelta::MAX, in 1e-3, 1e10, "ours", "Over longer round trips the rate increases as much per round trip as over this one; largest: as much per second, as RFC 8298 4.1.3";
        ramp_up_reports: bool = false, "ours", "With ramp_up_round_trip: the interval between reports, and delay_span, count as part of the round trip, since a queue is seen so much later";
        window_use_th: f64 = INF, in 0.0, INF, "reference program 2022-06, media rate", "Flight over window that reduces the rate";
        window_use_interval: TimeDelta = ms(100), in 0.0, 10.0, "reference program 2022-06, media rate", "Least time between two such reductions";
        discard_age: TimeDelta = ms(500), in 1e-3, 1e10, "RFC 8298 4.1.3 asks for a discard and gives no value", "Age at which the send queue is discarded";
        discard_frames: f64 = 0.0, in 0.0, 100.0, "ours", "The age of a discard is later by so many times of what the largest frame that waits takes at the target bitrate";
        discard_interval: TimeDelta = ms(250), in 0.0, 60.0, "reference program 2022-06, media rate", "Least time between two discards";
        priority_pull: f64 = 0.0, in 0.0, 100.0, "ours", "By which part of the distance per second the target of one of several streams goes to its share by priority; 0: priorities order packets that wait, as RFC 8298 4.1.2.8, and fast increase";
        target_rate_scale_weight: f64 = 0.0, in 0.0, 1.0, "reference program 2022-06, media rate", "How fast the factor between target and encoder adapts; 0: it stays 1";
    }
    ordered qdelay_target_lo <= qdelay_target_hi, target_bitrate_min <= target_bitrate_max,
        target_bitrate_min <= target_bitrate_start,
        target_bitrate_start <= target_bitrate_max, reorder_window <= reorder_window_max;
    profiles {
        "robust": "reference-2022 without its weak spots: long round trips, lost reports, silence, reordering, low frame rates, noise, random loss, L4S, fast links, shares of streams" => Params::robust,
        "rfc8298": "RFC 8298 as printed" => Params::rfc8298,
        "reference-2022": "Ericsson's program of 2022-06 as measured, which the tuning paper ran" => Params::reference_2022,
    }
    usual Params::robust;
}

impl Params {
    /// RFC 8298's table.
    pub(super) fn rfc8298() -> Params {
        Params::declared()
    }

    /// The 2022-06 revision with the configuration of the steady-state measurements. A table, and as long as it has values.
    pub(super) fn reference_2022() -> Params {
        Params {
            qdelay_target_lo: ms(60),
            qdelay_weight_interval: ms(0),
            trend_start: ms(2000),
            min_cwnd_packets: 2.0,
            initial_cwnd: Bytes::new(10_000),
            max_bytes_in_flight_head_room: 1.25,
            max_bytes_in_flight_window: ms(20_000),
            max_bytes_in_flight_trend: 1.0,
            max_bytes_in_flight_floor: Bytes::new(5000),
            max_bytes_in_flight_always: true,
            gain_down: 5.0,
            max_decrease: 0.25,
            window_use: 1.2,
            cwnd_update_interval: ms(10),
            acked_head_room: 1.25,
            post_congestion_delay: ms(100),
            beta_ecn_rate: 0.95,
            l4s_head_room: 1.25,
            l4s_rate_head_room: 1.25 * 1.25,
            l4s_growth_alpha: 0.001,
            base_delay_bucket: ms(10_000),
            base_delay_buckets: 50,
            base_reset_fraction: 0.25,
            competing_flow_compensation: false,
            reorder_window_max: ms(10),
            t_resume_fast_increase: ms(250),
            rate_pace_min: Bitrate::from_kbps(100),
            pace_from_target: true,
            pace_whole_packets: true,
            pacing_delay_fraction: 0.02,
            mss: Bytes::new(1200),
            mss_learning: ms(1000),
            srtt_prefilter: 0.125,
            stall_round_trips: 0.0,
            feedback_patience: 0.0,
            history_by_time: false,
            rate_interval: ms(50),
            rate_intervals: 8,
            rate_adjust_interval: ms(20),
            rate_adjust_exceeds: true,
            rate_events_at_frames: true,
            events_held: true,
            ramp_up_speed: Ramp(Bitrate::from_mbps(10)),
            ramp_up_scale: 1.0,
            inflection_gain_l4s: 16.0,
            inflection_interval: ms(500),
            inflection_measured: true,
            tx_queue_size_factor: 0.2,
            tx_queue_target_part: 0.02,
            tx_queue_weight: 0.5,
            tx_queue_hold: Bytes::new(1500),
            fast_increase_queue_age: ms(100),
            rate_from_target: 1.0,
            low_rate_gain: 0.05,
            idle_gain: 2.0,
            media_excess: 2.0,
            media_limit: INF,
            rtp_qdelay_th: TimeDelta::MAX,
            window_use_th: 0.9,
            discard_age: ms(100),
            target_rate_scale_weight: 0.02,
            ..Params::rfc8298()
        }
    }

    /// Whether the target follows marks as Prague's window does, under L4S.
    pub(super) fn follows_marks(&self) -> bool {
        self.l4s_growth_interval > TimeDelta::ZERO
    }

    /// The answers to reports that stay away.
    pub(super) fn patience(&self) -> Patience {
        let &Params { feedback_patience, stall_time, stall_round_trips, .. } = self;
        Patience { feedback_patience, stall_time, stall_round_trips }
    }

    /// `reference-2022` with [`Params::mended`].
    fn robust() -> Params {
        Params::reference_2022().mended()
    }

    /// With the rules that calls need which the reference program was not measured on: long round trips, lost reports,
    /// silence, reordering, low frame rates, noise, random loss, short queues, L4S among calls, fast links, several streams.
    pub(super) fn mended(self) -> Params {
        let rfc = Params::rfc8298();
        Params {
            stall_round_trips: rfc.stall_round_trips,
            feedback_patience: rfc.feedback_patience,
            history_by_time: rfc.history_by_time,
            reorder_window_max: rfc.reorder_window_max,
            pace_whole_packets: rfc.pace_whole_packets,
            pacing_delay_fraction: rfc.pacing_delay_fraction,
            flight_before_report: true,
            delay_span: ms(50),
            delay_target_packets: 2.0,
            delay_noise_gain: 2.0,
            loss_deviations: 2.0,
            l4s_growth_interval: ms(25),
            acked_head_room: rfc.acked_head_room,
            ramp_up_speed: Ramp(Bitrate::from_mbps(6)),
            ramp_up_scale: 0.6,
            ramp_up_part: 0.2,
            trend_least: TimeDelta::from_micros(500),
            ramp_up_span: ms(200),
            ramp_up_round_trip: ms(200),
            ramp_up_reports: true,
            discard_frames: 1.0,
            priority_pull: 0.5,
            ..self
        }
    }
}
