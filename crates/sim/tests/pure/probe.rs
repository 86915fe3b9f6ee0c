//! A path probe over simulated links, against what the links are.

use paceline_ends::{Observation, PairPlan, PairProbe, ProbePlan, ProbeRecord};
use paceline_link::{LinkConfig, LossConfig, NoiseConfig, QueueConfig, QueueLimit, RateProcess};
use paceline_sim::{CrossTraffic, probe, probe_beside};
use paceline_units::param::{ParamSet, Value};
use paceline_units::{Bitrate, Bytes, TimeDelta};

fn link(kbps: u64, queue: QueueConfig) -> LinkConfig {
    LinkConfig::new(RateProcess::Constant(Bitrate::from_kbps(kbps)), TimeDelta::from_millis(20), queue)
}

fn measured(config: LinkConfig) -> ProbeRecord {
    probe(config, 1, "probed", ProbePlan::default(), |_| true).expect("a link")
}

fn delays(packets: &[Observation]) -> Vec<TimeDelta> {
    packets.iter().filter_map(|packet| Some(packet.arrived? - packet.sent)).collect()
}

fn lost(packets: &[Observation]) -> usize {
    packets.iter().filter(|packet| packet.arrived.is_none()).count()
}

#[test]
fn a_clean_link_shows_its_capacity_and_no_noise() {
    for queue in ["droptail", "codel", "fq-codel"] {
        let mut discipline = QueueConfig::of(queue).expect("a queue");
        discipline.set_limit(QueueLimit::Packets(50));
        let record = measured(link(1000, discipline));
        let rate = record.receiving_rate(Bytes::new(1212)).expect("a rate").as_bps_f64();
        assert!((0.97e6..=1.0e6).contains(&rate), "{queue}: {rate}");
        assert_eq!(record.transfer.len(), 826);
        // 20 ms and the packet's own time on the link.
        let own = TimeDelta::from_millis(20) + Bitrate::from_kbps(1000).time_for(Bytes::new(1212));
        assert_eq!(lost(&record.hold), 0, "{queue}");
        assert!(delays(&record.hold).iter().all(|delay| *delay == own), "{queue}");
        assert_eq!(record.min_rtt, Some(own + TimeDelta::from_millis(20)), "{queue}");
        // 60 s at half of it.
        let expected = 60.0 * rate / 2.0 / (1212.0 * 8.0);
        assert!((record.hold.len() as f64 - expected).abs() < 2.0, "{queue}: {}", record.hold.len());
    }
}

#[test]
fn a_full_buffer_loses_in_the_transfer_and_shows_its_size() {
    let record = measured(link(1000, QueueConfig::droptail(QueueLimit::Bytes(Bytes::new(30_000)))));
    assert!(lost(&record.transfer) > 0);
    let wait = delays(&record.transfer).into_iter().max().expect("arrivals") - TimeDelta::from_millis(20);
    // The queue, and the packet in service and its own time besides.
    let bytes = Bitrate::from_kbps(1000).bytes_in(wait).as_u64();
    assert!((28_000..=33_000).contains(&bytes), "{bytes}");
}

/// A packet that arrives damaged is lost to a probe as well.
#[test]
fn damaged_packets_are_lost() {
    let mut config = link(2000, QueueConfig::droptail(QueueLimit::Unlimited));
    config.corrupt = paceline_link::RatioOverTime::Constant(0.05);
    let record = measured(config);
    let ratio = lost(&record.hold) as f64 / record.hold.len() as f64;
    assert!((0.03..0.07).contains(&ratio), "{ratio}");
}

#[test]
fn loss_without_load_is_seen_at_half_the_capacity() {
    let mut config = link(2000, QueueConfig::droptail(QueueLimit::Unlimited));
    config.loss = Some(LossConfig::bernoulli(0.05));
    let record = measured(config);
    let ratio = lost(&record.hold) as f64 / record.hold.len() as f64;
    assert!((0.04..0.06).contains(&ratio), "{ratio}");
}

#[test]
fn noise_is_seen_as_it_is() {
    let mut noise = NoiseConfig::of("uniform").expect("a noise");
    noise.set("max", Value::Time(TimeDelta::from_millis(4))).expect("a time");
    let mut config = link(1000, QueueConfig::droptail(QueueLimit::Unlimited));
    config.noise = vec![noise];
    let delays = delays(&measured(config).hold);
    let least = *delays.iter().min().expect("arrivals");
    let mean = delays.iter().map(|delay| (*delay - least).as_millis_f64()).sum::<f64>() / delays.len() as f64;
    assert!((1.9..2.1).contains(&mean), "{mean}");
}

#[test]
fn a_link_without_capacity_ends_the_probe() {
    let dead = LinkConfig::new(
        RateProcess::Constant(Bitrate::ZERO),
        TimeDelta::from_millis(20),
        QueueConfig::droptail(QueueLimit::Packets(5)),
    );
    let record = measured(dead);
    assert!(record.hold.is_empty() && record.receiving_rate(Bytes::new(1212)).is_none());
    assert_eq!(lost(&record.transfer), record.transfer.len());
}

#[test]
fn a_probe_can_be_given_up() {
    let clean = link(1000, QueueConfig::droptail(QueueLimit::Unlimited));
    let plan = ProbePlan { hold: TimeDelta::from_secs(1000), ..ProbePlan::default() };
    let mut asked = 0;
    let record = probe(clean, 1, "probed", plan, |done| {
        asked += 1;
        assert!((0.0..=1.0).contains(&done));
        asked < 3
    });
    // Three times ten thousand steps, of which each packet takes one and its answer another.
    assert!((10_000..20_000).contains(&record.expect("a link").hold.len()));
}

/// The mean of Spruce's samples and its standard error in Mbit/s, of 400 pairs over a link of 10 Mbit/s beside other traffic.
fn available(cross_mbps: u64, seed: u64) -> (f64, f64) {
    let plan = PairPlan { pairs: 400, ..PairPlan::default() };
    let gap = plan.gap().as_secs_f64();
    let traffic = CrossTraffic { rate: Bitrate::from_mbps(cross_mbps), ..CrossTraffic::NONE };
    let pairs = PairProbe::new(plan, seed).expect("a plan");
    let config = link(10_000, QueueConfig::droptail(QueueLimit::Packets(1000)));
    let packets = probe_beside(config, seed, "probed", traffic, pairs, |_| true).expect("a link");
    let samples: Vec<f64> = packets
        .chunks(2)
        .map(|pair| (pair[1].arrived.expect("no loss") - pair[0].arrived.expect("no loss")).as_secs_f64())
        .map(|out| 10.0 * (1.0 - (out - gap) / gap))
        .collect();
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// The capacity less other traffic, within four standard errors: set before the first run.
#[test]
fn pairs_find_the_bandwidth_that_other_traffic_leaves() {
    for (cross, seed) in [(0, 1), (2, 1), (4, 1), (6, 1), (8, 1), (9, 1), (4, 2), (8, 2)] {
        let (mean, error) = available(cross, seed);
        let left = 10.0 - cross as f64;
        println!("{cross} of 10 Mbit/s are others': found {mean:.2} left, standard error {error:.2}");
        assert!((mean - left).abs() <= 4.0 * error + 1e-6, "{mean} +- {error}, expected {left}");
        assert!(error <= 0.6, "{error}");
    }
}
