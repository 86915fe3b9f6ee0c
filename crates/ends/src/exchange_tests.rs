//! An exchange over ends that do as they are told, and over ends that do not.

use super::*;
use paceline_units::Bytes;

/// Ends without packets: what each steers by, and within which limits it takes what it is given.
struct Ends {
    shares: Vec<Option<Assigned>>,
    desired: Vec<Option<Bitrate>>,
    srtt: Vec<Option<TimeDelta>>,
    delays: Vec<Option<DelaySummary>>,
    /// The lowest rate that a controller goes down to, in bit/s.
    floor: u64,
    assigned: Vec<(usize, Assigned)>,
}

fn kbps(rate: u64) -> Assigned {
    Assigned::Rate(Bitrate::from_kbps(rate))
}

impl Ends {
    fn new(count: usize) -> Ends {
        Ends {
            shares: vec![None; count],
            desired: vec![None; count],
            srtt: vec![Some(TimeDelta::from_millis(50)); count],
            delays: vec![None; count],
            floor: 0,
            assigned: Vec::new(),
        }
    }

    /// A controller computes `rate` in kbit/s, or the flow is silent.
    fn compute(&mut self, exchange: &mut Exchange, millis: u64, flow: usize, rate: Option<u64>) {
        self.shares[flow] = rate.map(kbps);
        exchange.after_event(ms(millis), flow, self);
    }

    fn rates(&self) -> Vec<u64> {
        self.shares
            .iter()
            .map(|share| match share {
                Some(Assigned::Rate(rate)) => rate.as_bps() / 1000,
                Some(Assigned::Window(window)) => window.as_u64(),
                None => 0,
            })
            .collect()
    }
}

impl CoupledEnds for Ends {
    fn share(&self, flow: usize) -> Option<Assigned> {
        self.shares[flow]
    }

    fn desired(&self, flow: usize) -> Option<Bitrate> {
        self.desired[flow]
    }

    fn srtt(&self, flow: usize) -> Option<TimeDelta> {
        self.srtt[flow]
    }

    fn delay_summary(&self, flow: usize) -> Option<DelaySummary> {
        self.delays[flow]
    }

    fn assign(&mut self, _now: Time, flow: usize, assigned: Assigned) {
        self.assigned.push((flow, assigned));
        self.shares[flow] = self.shares[flow].map(|_| match assigned {
            Assigned::Rate(rate) => Assigned::Rate(rate.max(Bitrate::from_bps(self.floor))),
            window => window,
        });
    }
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn exchange(kind: &str, flows: usize, steps: Vec<PriorityStep>) -> Exchange {
    let params = CouplingParams::of(kind).expect("known");
    Exchange::new(&params, &vec![(0, Priority::ONE); flows], steps)
}

#[test]
fn all_take_what_follows_from_the_update_of_one() {
    let (mut ends, mut exchange) = (Ends::new(3), exchange("active", 3, vec![]));
    for flow in 0..3 {
        ends.compute(&mut exchange, 0, flow, Some(1000));
    }
    assert!(ends.assigned.is_empty(), "who joins is given nothing yet");
    ends.compute(&mut exchange, 10, 1, Some(4000));
    assert_eq!(ends.rates(), [2000, 2000, 2000]);
    ends.assigned.clear();
    exchange.after_event(ms(20), 0, &mut ends);
    exchange.after_event(ms(20), 1, &mut ends);
    assert!(ends.assigned.is_empty(), "an assignment is no update of those who take it");
}

#[test]
fn who_pauses_leaves_and_who_resumes_joins() {
    let (mut ends, mut exchange) = (Ends::new(2), exchange("active", 2, vec![]));
    ends.compute(&mut exchange, 0, 0, Some(1000));
    ends.compute(&mut exchange, 0, 1, Some(3000));
    ends.compute(&mut exchange, 10, 1, None);
    assert_eq!(exchange.group(0).members().len(), 1);
    ends.compute(&mut exchange, 20, 0, Some(1500));
    assert_eq!(ends.rates(), [4500, 0], "it inherits");
    ends.compute(&mut exchange, 30, 1, Some(500));
    assert_eq!(ends.rates(), [2250, 2250], "its rate is in the sum already, and it has its part at once");
    ends.compute(&mut exchange, 40, 1, Some(3750));
    assert_eq!(ends.rates(), [3000, 3000]);
}

#[test]
fn who_ended_before_its_group_heard_of_it_still_leaves() {
    let (mut ends, mut exchange) = (Ends::new(2), exchange("active", 2, vec![]));
    ends.compute(&mut exchange, 0, 0, Some(1000));
    ends.compute(&mut exchange, 0, 1, Some(3000));
    ends.shares[1] = None;
    ends.compute(&mut exchange, 10, 0, Some(1500));
    exchange.after_event(ms(10), 1, &mut ends);
    assert_eq!(exchange.group(0).members().len(), 1);
}

/// A flow that can use nothing is given nothing, and comes back when it can.
#[test]
fn who_wished_for_nothing_gets_its_share_once_it_wishes() {
    for kind in ["active", "conservative"] {
        let (mut ends, mut exchange) = (Ends::new(2), exchange(kind, 2, vec![]));
        ends.floor = 100_000;
        ends.compute(&mut exchange, 0, 0, Some(2000));
        ends.compute(&mut exchange, 0, 1, Some(2000));
        ends.desired[1] = Some(Bitrate::ZERO);
        exchange.after_event(ms(10), 1, &mut ends);
        assert_eq!(ends.rates(), [4000, 100], "{kind}");
        ends.desired[1] = None;
        exchange.after_event(ms(20), 1, &mut ends);
        assert_eq!(ends.rates(), [2000, 2000], "{kind}");
    }
}

#[test]
fn a_priority_changes_at_its_time_without_an_update_of_any_controller() {
    let steps = vec![
        PriorityStep { at: ms(200), flow: 0, priority: Priority::new(0.25).expect("a priority") },
        PriorityStep { at: ms(100), flow: 0, priority: Priority::new(3.0).expect("a priority") },
    ];
    let (mut ends, mut exchange) = (Ends::new(2), exchange("conservative", 2, steps));
    ends.compute(&mut exchange, 0, 0, Some(2000));
    ends.compute(&mut exchange, 0, 1, Some(2000));
    assert_eq!(exchange.next_timeout(), Some(ms(100)));
    exchange.handle_timeout(ms(100), &mut ends);
    assert_eq!(ends.rates(), [3000, 1000]);
    exchange.handle_timeout(exchange.next_timeout().expect("a second step"), &mut ends);
    assert_eq!((ends.rates(), exchange.next_timeout()), (vec![800, 3200], None));
}

/// As long as nobody says so, the others would share by what a window was over another round trip.
#[test]
fn a_window_is_another_rate_over_another_round_trip() {
    let (mut ends, mut exchange) = (Ends::new(2), exchange("active", 2, vec![]));
    for flow in 0..2 {
        ends.shares[flow] = Some(Assigned::Window(Bytes::new(10_000)));
        exchange.after_event(ms(0), flow, &mut ends);
    }
    ends.srtt[0] = Some(TimeDelta::from_millis(200));
    exchange.after_event(ms(10), 0, &mut ends);
    assert_eq!(ends.rates(), [20_000, 5_000], "a quarter of the rate, of which each has half by the root");
    ends.assigned.clear();
    exchange.after_event(ms(20), 0, &mut ends);
    assert!(ends.assigned.is_empty(), "nothing has changed");
    ends.compute(&mut exchange, 30, 0, Some(1000));
    ends.assigned.clear();
    ends.srtt[0] = Some(TimeDelta::from_millis(50));
    exchange.after_event(ms(40), 0, &mut ends);
    assert!(ends.assigned.is_empty(), "a rate does not depend on it");
}

#[test]
fn a_window_joins_with_its_first_round_trip_time() {
    let (mut ends, mut exchange) = (Ends::new(2), exchange("active", 2, vec![]));
    ends.srtt[1] = None;
    ends.compute(&mut exchange, 0, 0, Some(800));
    ends.shares[1] = Some(Assigned::Window(Bytes::new(10_000)));
    exchange.after_event(ms(1), 1, &mut ends);
    assert_eq!(exchange.group(1).members().len(), 1);
    ends.srtt[1] = Some(TimeDelta::from_millis(100));
    exchange.after_event(ms(2), 1, &mut ends);
    assert_eq!(exchange.group(1).members().len(), 2);
    ends.compute(&mut exchange, 3, 0, Some(800));
    ends.compute(&mut exchange, 3, 0, Some(1600));
    assert_eq!(ends.rates(), [1200, 15_000], "the window of 1.2 Mbit/s over 100 ms");
}

#[test]
fn a_controller_that_keeps_to_its_lowest_rate_reports_no_growth() {
    let (mut ends, mut exchange) = (Ends::new(2), exchange("active", 2, vec![]));
    ends.floor = 1_000_000;
    ends.compute(&mut exchange, 0, 0, Some(1000));
    ends.compute(&mut exchange, 0, 1, Some(1000));
    for step in 1..100 {
        // Each halves, and neither goes below its floor: the group's sum must not grow from that.
        ends.compute(&mut exchange, step, (step % 2) as usize, Some(500));
    }
    assert!(exchange.group(0).sum() < Bitrate::from_kbps(1), "{:?}", exchange.group(0).sum());
    assert_eq!(ends.rates(), [1000, 1000]);
}

#[test]
fn a_flow_that_changes_its_group_leaves_one_and_joins_the_other() {
    let params = CouplingParams::of("active").expect("known");
    let one = Priority::ONE;
    let (mut ends, mut exchange) =
        (Ends::new(3), Exchange::new(&params, &[(0, one), (0, one), (1, one)], vec![]));
    for flow in 0..3 {
        ends.compute(&mut exchange, 0, flow, Some(1000));
    }
    exchange.regroup(ms(1), 1, 1, &mut ends);
    exchange.regroup(ms(1), 1, 1, &mut ends);
    exchange.regroup(ms(1), 1, 9, &mut ends);
    assert_eq!((exchange.group(0).members().len(), exchange.group(1).members().len()), (1, 2));
    ends.compute(&mut exchange, 2, 2, Some(3000));
    assert_eq!(ends.rates(), [1000, 2000, 2000]);
}

/// The delays of flows over one bottleneck and of flows over another after so many intervals.
fn delays(intervals: u64, frequency: f64) -> Option<DelaySummary> {
    let variability = TimeDelta::from_millis(10);
    Some(DelaySummary { intervals, skewness: -0.3, variability, frequency, loss: 0.0, bottleneck: true })
}

/// Decides once an interval of 350 ms until `to`, with a new summary of each flow that has a frequency.
fn decide(exchange: &mut Exchange, ends: &mut Ends, to: u64, frequencies: &[Option<f64>]) -> Vec<usize> {
    while let Some(at) = exchange.next_timeout().filter(|at| *at <= ms(to * 350)) {
        let intervals = (at - Time::ZERO).as_nanos() as u64 / 350_000_000;
        for (flow, frequency) in frequencies.iter().enumerate() {
            if let Some(frequency) = frequency {
                ends.delays[flow] = delays(intervals, *frequency);
            }
        }
        exchange.handle_timeout(at, ends);
    }
    exchange.flows.iter().map(|flow| flow.group).collect()
}

#[test]
fn flows_share_while_their_delays_look_alike() {
    let params = CouplingParams::of("active").expect("known");
    let mut ends = Ends::new(3);
    let mut exchange = Exchange::detecting(&params, &Params::default(), &[Priority::ONE; 3], vec![]);
    for (flow, rate) in [1000, 2000, 6000].into_iter().enumerate() {
        ends.compute(&mut exchange, 0, flow, Some(rate));
    }
    let alike = [Some(0.3), Some(0.6), Some(0.32)];
    // 2M intervals until they may be compared, the 60th of which is seen at its end; nine of ten decisions must agree.
    assert_eq!(decide(&mut exchange, &mut ends, 67, &alike), [0, 1, 2]);
    assert!(ends.assigned.is_empty(), "each is a group by itself");
    assert_eq!(decide(&mut exchange, &mut ends, 68, &alike), [0, 1, 0]);
    ends.compute(&mut exchange, 68 * 350, 0, Some(2000));
    assert_eq!(ends.rates(), [4000, 2000, 4000], "the first and the last share");
    let other = [Some(0.6), Some(0.6), Some(0.32)];
    assert_eq!(decide(&mut exchange, &mut ends, 69, &other), [0, 1, 0], "one of ten is forgiven");
    assert_eq!(decide(&mut exchange, &mut ends, 70, &other), [0, 1, 2]);
    assert_eq!(
        decide(&mut exchange, &mut ends, 80, &other),
        [0, 0, 2],
        "and then found together with the second"
    );
}

/// RFC 8699 section 5.1. Three flows look alike, and the last loses half of its packets once it is coupled.
#[test]
fn a_flow_that_a_detected_group_makes_worse_is_taken_out_of_it() {
    let params = CouplingParams::of("active").expect("known");
    let mut ends = Ends::new(3);
    let mut exchange = Exchange::detecting(&params, &Params::default(), &[Priority::ONE; 3], vec![]);
    let alike = [Some(0.3); 3];
    assert_eq!(decide(&mut exchange, &mut ends, 68, &alike), [0, 0, 0]);
    let mut decide = |to: u64, loss: f64| {
        while let Some(at) = exchange.next_timeout().filter(|at| *at <= ms(to * 350)) {
            let intervals = (at - Time::ZERO).as_nanos() as u64 / 350_000_000;
            // So rare a loss does not part flows: as if all had it.
            let summary = |loss| delays(intervals, 0.3).map(|known| DelaySummary { loss, ..known });
            ends.delays = vec![summary(loss); 3];
            ends.srtt[0] = Some(TimeDelta::from_millis(if loss > 0.0 { 124 } else { 50 }));
            exchange.handle_timeout(at, &mut ends);
        }
        let groups: Vec<_> = exchange.flows.iter().map(|flow| flow.group).collect();
        (groups, (0..3).map(|flow| exchange.coupled(flow).parted).collect::<Vec<_>>())
    };
    assert_eq!(decide(117, 0.02).0, [0, 0, 0], "losses are of the last 50 decisions");
    assert_eq!(decide(140, 0.02), (vec![0, 0, 0], vec![0; 3]), "a little more is no reason");
    assert_eq!(decide(141, 0.021), (vec![0, 1, 2], vec![1; 3]), "all are worse off");
    assert_eq!(decide(190, 0.0).0, [0, 1, 2], "for 50 decisions");
    assert_eq!(decide(191, 0.0).0, [0, 0, 0]);
    assert_eq!(decide(260, 0.021), (vec![0, 1, 2], vec![2; 3]));
    assert_eq!(decide(330, 0.0).0, [0, 1, 2], "and for twice as many then");
}

#[test]
fn flows_of_which_nothing_is_heard_are_by_themselves_again() {
    let params = CouplingParams::of("active").expect("known");
    let (mut ends, detection) = (Ends::new(2), Params::default());
    let mut exchange = Exchange::detecting(&params, &detection, &[Priority::ONE; 2], vec![]);
    assert_eq!(decide(&mut exchange, &mut ends, 80, &[Some(0.3), Some(0.3)]), [0, 0]);
    let silent = [Some(0.3), None];
    assert_eq!(decide(&mut exchange, &mut ends, 80 + detection.n, &silent), [0, 0]);
    assert_eq!(decide(&mut exchange, &mut ends, 81 + detection.n, &silent), [0, 1]);
    // A leap of time is one decision, however long.
    exchange.handle_timeout(Time::from_nanos(u64::MAX / 4), &mut ends);
    assert!(exchange.next_timeout().is_some_and(|next| next > Time::from_nanos(u64::MAX / 4)));
}

/// A program that embeds an exchange can write down the choices of each kind.
#[test]
fn the_choices_of_each_kind_can_be_named() {
    use paceline_cc::coupling::{
        ActiveParams, ConservativeParams, EfcmParams, EtcpParams, Growth, Leaving, PassiveParams,
    };
    let leaving = Leaving::Subtract;
    for params in [
        CouplingParams::Active(ActiveParams { leaving, ..ActiveParams::default() }),
        CouplingParams::Conservative(ConservativeParams {
            growth: Growth::Divided,
            ..ConservativeParams::default()
        }),
        CouplingParams::Passive(PassiveParams::default()),
        CouplingParams::Etcp(EtcpParams { hold: 2.0, leaving }),
        CouplingParams::Efcm(EfcmParams { leaving }),
    ] {
        let exchange = Exchange::new(&params, &[(0, Priority::ONE)], vec![]);
        assert!(exchange.group(0).members().is_empty());
    }
}
