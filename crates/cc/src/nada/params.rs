//! NADA's constants by name: RFC 8698's Table 2, and what the text around it leaves open.

use paceline_units::{Bitrate, TimeDelta, params};

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

const fn kbps(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps)
}

const TABLE: &str = "RFC 8698 4.1 (Table 2)";

params! {
    /// Every constant of NADA. `Default` is the specification's table.
    pub struct Params {
        prio: f64 = 1.0, in 1e-3, 1e3, TABLE, "PRIO, weight of the flow: at equal congestion rates are in proportion to it";
        target_bitrate_min: Bitrate = kbps(150), in 1e3, 1e12, TABLE, "RMIN, lowest rate of the encoder";
        target_bitrate_start: Bitrate = kbps(150), in 1e3, 1e12, "RFC 8698 4.3 (RMIN)", "First r_ref";
        target_bitrate_max: Bitrate = kbps(1500), in 1e3, 1e12, TABLE, "RMAX, highest rate of the encoder; at the rate r the flow keeps a queue of xref RMAX / r, so that it is to be what the application can use";
        xref: TimeDelta = ms(10), in 1e-6, 10.0, TABLE, "XREF, reference congestion level: the signal at which the flow has RMAX";
        kappa: f64 = 0.5, in 0.0, 100.0, TABLE, "KAPPA, scale of the gradual rate update";
        eta: f64 = 2.0, in 0.0, 100.0, TABLE, "ETA, scale of the signal's change beside its offset in the gradual update";
        tau: TimeDelta = ms(500), in 1e-3, 60.0, TABLE, "TAU, upper bound of the round trip in the gradual update; a longer time between two updates counts as this";
        delta: TimeDelta = ms(100), in 1e-3, 10.0, TABLE, "DELTA, time between two updates, or a report's where reports come less often";
        logwin: TimeDelta = ms(500), in 0.01, 60.0, TABLE, "LOGWIN, window in which packets, losses, marks and queues are looked at";
        qeps: TimeDelta = ms(10), in 0.0, 10.0, TABLE, "QEPS, queue delay from which on a queue builds up: no accelerated ramp-up";
        dfilt: TimeDelta = ms(120), in 0.0, 10.0, TABLE, "DFILT, bound on the delay of the filter: no older sample counts";
        gamma_max: f64 = 0.5, in 0.0, 10.0, TABLE, "GAMMA_MAX, largest step of accelerated ramp-up, as a part of what arrives";
        qbound: TimeDelta = ms(50), in 0.0, 10.0, TABLE, "QBOUND, upper bound of the queue delay that ramp-up makes";
        multiloss: f64 = 7.0, in 0.0, 1e6, TABLE, "MULTILOSS, mean loss intervals until the last loss has expired";
        qth: TimeDelta = ms(50), in 1e-6, 10.0, TABLE, "QTH, queue delay from which on it counts for less where packets are lost";
        lambda: f64 = 0.5, in 0.0, 100.0, TABLE, "LAMBDA, scale in the exponent of that";
        plrref: f64 = 0.01, in 1e-6, 1.0, TABLE, "PLRREF, reference loss ratio";
        pmrref: f64 = 0.01, in 1e-6, 1.0, TABLE, "PMRREF, reference marking ratio";
        dloss: TimeDelta = ms(10), in 0.0, 10.0, TABLE, "DLOSS, delay that losses at the reference ratio count as";
        dmark: TimeDelta = ms(2), in 0.0, 10.0, TABLE, "DMARK, delay that marks at the reference ratio count as";
        fps: f64 = 30.0, in 0.1, 1e3, TABLE, "FPS, reference frame rate of the rate-shaping buffer";
        beta_s: f64 = 0.1, in 0.0, 100.0, TABLE, "BETA_S, scale of the sending rate's change for what waits in the rate-shaping buffer";
        beta_v: f64 = 0.1, in 0.0, 100.0, TABLE, "BETA_V, scale of the encoder's";
        alpha: f64 = 0.1, in 0.0, 1.0, TABLE, "ALPHA, weight of a new loss or marking ratio in the smoothed one";
        x_max: TimeDelta = ms(500), in 1e-3, 10.0, "ours, as ns3-rmcat; RFC 8698 5.3 has 3.2767 s", "Largest aggregate congestion signal";
        filter_samples: u64 = 15, in 1.0, 1000.0, "RFC 8698 5.1.1", "Samples of the minimum filter of the queue delay";
        base_delay_bucket: TimeDelta = ms(60_000), in 0.1, 3600.0, "RFC 6817 2.4.2", "Length of a bucket of the base delay's history";
        base_delay_buckets: u64 = 20, in 1.0, 1000.0, "RFC 8698 5.1.1 (tens of minutes)", "Buckets of that history";
        reorder_window: TimeDelta = ms(10), in 0.0, 10.0, "ours: RFC 8698 5.1.2 has 0", "A packet is lost if one that was sent so much later has arrived; 0: if any later one has";
        reorder_window_max: TimeDelta = ms(200), in 0.0, 10.0, "ours: RFC 8698 5.1.2 has 0", "The reordering window grows up to this where packets that counted as lost turn up";
        feedback_patience: f64 = 3.0, in 0.0, 100.0, "RFC 8888 5, which gives no value", "Report intervals without a report after which the target halves in each; 0: never";
        skew_compensation: bool = true, "ours: RFC 8698 5.1.1 has the history alone", "Skew and steps of the receiver's clock are taken out of one-way delays";
    }
    ordered target_bitrate_min <= target_bitrate_start, target_bitrate_start <= target_bitrate_max,
        target_bitrate_min <= target_bitrate_max, reorder_window <= reorder_window_max;
    profiles {
        "rfc8698": "RFC 8698 with the values of its Table 2" => Params::default,
    }
}
