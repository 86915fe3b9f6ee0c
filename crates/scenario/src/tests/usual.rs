//! The settings of connections and packets that each controller comes with, under each of its profiles.

use crate::spec::ControllerSpec;
use crate::transports::{Configured, DccpSpec};
use paceline_cc::{ControllerParams, Steers};
use paceline_tcp::TcpConfig;
use paceline_units::EcnMode;
use paceline_units::param::ParamSet;
use std::fmt::Write;

/// Values of `params` that are not the default's; `-` for one that is left out.
fn changes<P: ParamSet + Default>(params: &P) -> String {
    let usual = P::default();
    let changed = params.specs().iter().filter(|spec| params.value(spec.name) != usual.value(spec.name));
    let shown = |name| params.value(name).map_or("-".into(), |value| value.to_string());
    changed.map(|spec| format!(" {}={}", spec.name, shown(spec.name))).collect()
}

#[test]
fn every_profile_has_the_settings_of_its_stack() {
    let mut listed = String::new();
    for (params, profile) in ControllerParams::all() {
        let (kind, spec) = (params.kind(), ControllerSpec { profile: profile.into(), params });
        let connection = match spec.params.steers() {
            Steers::ByteStream => changes::<TcpConfig>(&Configured::usual(&spec)),
            Steers::Ccid(_) => changes::<DccpSpec>(&Configured::usual(&spec)),
            Steers::Media | Steers::Datagrams | Steers::Unreported => String::new(),
        };
        let ecn = Some(spec.usual_ecn()).filter(|ecn| *ecn != EcnMode::Off);
        let ecn = ecn.map_or(String::new(), |ecn| format!(" ecn={}", ecn.name()));
        writeln!(listed, "{kind} {profile}:{connection}{ecn}").expect("a text");
    }
    assert_eq!(listed, LISTED, "{listed}");
}

const LISTED: &str = "\
scream robust:
scream rfc8298:
scream reference-2022:
scream-v2 draft:
scream-v2 libwebrtc:
scream-v2 ericsson:
tfrc rfc5348:
tfrc ns2:
ccid2 rfc4341:
ccid2 rfc5681:
ccid2 rfc2861:
ccid2 ns2: ack_at_once=false rtp=false discard_age=- header=32B
ccid3 rfc4342: ack_vector=false
ccid3 ns2: ack_vector=false ack_at_once=false rtp=false discard_age=- header=32B
gcc libwebrtc:
gcc draft:
gcc libwebrtc-2012:
nada rfc8698:
tempo default:
rap rap1999:
rap ns2:
urcp paper:
urcp adaptive:
um paper:
fixed default:
none default:
tahoe rfc5681: recovery=tahoe timestamps=false
tahoe rfc3465: recovery=tahoe timestamps=false
tahoe ns2: recovery=tahoe ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
reno rfc5681: recovery=reno timestamps=false
reno rfc3465: recovery=reno timestamps=false
reno ns2: recovery=reno ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
newreno rfc5681: recovery=newreno timestamps=false
newreno rfc3465: recovery=newreno timestamps=false
newreno ns2: recovery=newreno ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
sack rfc5681: recovery=sack timestamps=false
sack rfc3465: recovery=sack timestamps=false
sack ns2: recovery=sack ack_every=1 initial_window=2 initial_rto=3s min_rto=200ms clock=10ms one_sample=true sample_behind_holes=true handshake=false timestamps=false
cubic linux: ack_delay=40ms quick_acks=16 min_rto=200ms
cubic rfc9438:
cubic quic: ack_delay=25ms min_rto=200ms max_ack_delay=25ms
cubic rfc8312: recovery=sack timestamps=false
vegas 1995:
bbr linux: ack_delay=40ms quick_acks=16 min_rto=200ms
bbr v1: ack_delay=40ms quick_acks=16 min_rto=200ms
bbr3 draft: ack_delay=40ms quick_acks=16 min_rto=200ms
dctcp rfc8257: ecn_echo=exact
prague draft: ack_delay=40ms quick_acks=16 min_rto=200ms ecn_echo=accurate ecn=l4s
prague udp-prague: ack_delay=40ms quick_acks=16 min_rto=200ms ecn_echo=accurate ecn=l4s
ledbat rfc6817:
";
