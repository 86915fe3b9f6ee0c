//! The settings of connections and packets that each controller comes with, under each of its profiles.

use crate::spec::ControllerSpec;
use crate::transports::{Configured, DccpSpec};
use paceline_cc::{ControllerParams, Steers};
use paceline_sctp::SctpConfig;
use paceline_tcp::TcpConfig;
use paceline_units::EcnMode;
use paceline_units::param::ParamSet;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Values of `params` that are not the default's; `-` for one that is left out.
fn changes<P: ParamSet + Default>(params: &P) -> String {
    let usual = P::default();
    let changed = params.specs().iter().filter(|spec| params.value(spec.name) != usual.value(spec.name));
    let shown = |name| params.value(name).map_or("-".into(), |value| value.to_string());
    changed.map(|spec| format!(" {}={}", spec.name, shown(spec.name))).collect()
}

/// Controllers that steer alike, need alike and imitate one stack have the same settings: the first of them stands for all.
#[test]
fn every_profile_has_the_settings_of_its_stack() {
    let (mut listed, mut known) = (String::new(), BTreeMap::new());
    for (params, profile) in ControllerParams::all() {
        let (kind, spec) = (params.kind(), ControllerSpec { profile: profile.into(), params });
        let (steers, needs) = (spec.params.steers(), spec.params.needs());
        let connection = match steers {
            Steers::ByteStream if kind == "sctp" => changes::<SctpConfig>(&Configured::usual(&spec)),
            Steers::ByteStream => changes::<TcpConfig>(&Configured::usual(&spec)),
            Steers::Ccid(_) => changes::<DccpSpec>(&Configured::usual(&spec)),
            Steers::Media | Steers::Datagrams | Steers::Unreported => String::new(),
        };
        let ecn = Some(spec.usual_ecn()).filter(|ecn| *ecn != EcnMode::Off);
        let settings =
            format!("{connection}{}", ecn.map_or(String::new(), |ecn| format!(" ecn={}", ecn.name())));
        let first = known
            .entry(format!("{steers:?} {needs:?} {:?} {}", spec.stack(), kind == "sctp"))
            .or_insert_with(|| {
                writeln!(listed, "{kind} {profile}:{settings}").expect("a text");
                settings.clone()
            });
        assert_eq!(*first, settings, "{kind} {profile}");
    }
    assert_eq!(listed, LISTED, "{listed}");
}

const LISTED: &str = "\
scream robust:
tfrc rfc5348:
ccid2 rfc4341:
ccid2 ns2: ack_at_once=false rtp=false discard_age=- header=32B
ccid3 rfc4342: ack_vector=false
ccid3 ns2: ack_vector=false ack_at_once=false rtp=false discard_age=- header=32B
none default:
tahoe rfc5681: recovery=tahoe timestamps=false
tahoe ns2: recovery=tahoe ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
reno rfc5681: recovery=reno timestamps=false
reno ns2: recovery=reno ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
newreno rfc5681: recovery=newreno timestamps=false
newreno ns2: recovery=newreno ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
sack rfc5681: recovery=sack timestamps=false
sack ns2: recovery=sack ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
cubic linux: ack_delay=40ms quick_acks=16 min_rto=200ms
cubic rfc9438:
cubic quic: ack_delay=25ms min_rto=200ms max_ack_delay=25ms
cubic rfc8312: recovery=sack timestamps=false
dctcp rfc8257: ecn_echo=exact
prague draft: ack_delay=40ms quick_acks=16 min_rto=200ms ecn_echo=accurate ecn=l4s
sctp rfc9260:
sctp ns2: missing_reports=4 initial_rto=3s
";
