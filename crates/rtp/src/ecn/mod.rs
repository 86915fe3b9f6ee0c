//! Whether the path carries ECN, checked by what reports say of the packets that left with it (RFC 6679 sections 7.2 and 7.4), and
//! whether who marks them is a Classic AQM (RFC 9331 section 4.3).
//!
//! Packets are probes first: one in eight can be marked. When reports say that probes came as they left, all packets can be. They
//! no longer can when they arrive cleared, when most of them are lost and others are not, or when all of them are marked, even single
//! ones; that is tried again later. Reports on packets must tell of the ECN field, as those of RFC 8888 do.

mod bottleneck;
mod path;
#[cfg(test)]
mod tests;

use super::sender::RtpSender;
use bottleneck::Bottleneck;
use paceline_cc::{Controller, Marking, PacketResult, StreamId};
use paceline_ends::{EcnCounters, EcnState};
use paceline_units::{Ecn, Time, names};
use path::PathCheck;

names! {
    /// How a flow whose packets can be marked checks that its path carries ECN.
    #[derive(Default)]
    pub enum EcnChecks {
        /// Not at all: of a path that is known.
        Off = "off",
        /// Every packet leaves with ECN until reports say that the path does not carry it (RFC 6679 section 7.2.3).
        Monitor = "monitor",
        /// Few packets leave with ECN until reports say that the path carries it (section 7.2.1), which is watched from then on.
        #[default]
        Probe = "probe",
    }
}

/// The codepoints of one flow.
#[derive(Clone, Debug)]
pub(super) struct FlowEcn {
    /// The codepoint that packets are to leave with.
    wanted: Ecn,
    /// The check of the path, where that is checked.
    check: Option<Box<EcnCheck>>,
}

impl FlowEcn {
    /// A flow of packets that leave with `wanted`, unchecked.
    pub(super) fn new(wanted: Ecn) -> FlowEcn {
        FlowEcn { wanted, check: None }
    }

    /// Whether the path is checked.
    #[inline]
    pub(super) fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    /// The codepoint of the packet of a stream with this number, which has waited since `queued`.
    #[inline]
    pub(super) fn codepoint(&mut self, now: Time, queued: Time, packet: (StreamId, u64)) -> Ecn {
        match &mut self.check {
            Some(check) => check.path.codepoint(now, queued, packet),
            None => self.wanted,
        }
    }
}

/// The checks of one flow.
#[derive(Clone, Debug)]
struct EcnCheck {
    path: PathCheck,
    /// Where marks are to be those of L4S.
    bottleneck: Option<Bottleneck>,
    /// The meaning of marks that the controller was told last.
    told: Marking,
    classic: u64,
}

impl EcnCheck {
    fn new(wanted: Ecn, probe: bool) -> EcnCheck {
        EcnCheck {
            path: PathCheck::new(wanted, probe),
            bottleneck: (wanted == Ecn::Ect1).then(Bottleneck::new),
            told: meaning(wanted),
            classic: 0,
        }
    }

    fn state(&self) -> EcnState {
        match self.path.state() {
            EcnState::Capable if self.bottleneck.as_ref().is_some_and(Bottleneck::is_classic) => {
                EcnState::Classic
            }
            state => state,
        }
    }

    /// The receiver reported: what marks mean from now on, if that is another thing than before.
    fn on_report(&mut self, now: Time, results: &[PacketResult]) -> Option<Marking> {
        self.path.on_report(now, results);
        if let Some(bottleneck) = &mut self.bottleneck {
            let before = bottleneck.is_classic();
            bottleneck.on_report(now, results);
            self.classic += u64::from(bottleneck.is_classic() && !before);
        }
        let marking = match self.state() {
            // Nothing is known yet, or for a moment.
            EcnState::Probing | EcnState::Suspected => self.told,
            EcnState::Capable => meaning(self.path.wanted()),
            EcnState::Classic => Marking::Classic,
            EcnState::Failed(_) => Marking::None,
        };
        (std::mem::replace(&mut self.told, marking) != marking).then_some(marking)
    }
}

/// The meaning of a mark on packets that leave so.
fn meaning(ecn: Ecn) -> Marking {
    match ecn {
        Ecn::NotEct => Marking::None,
        Ecn::Ect1 => Marking::L4s,
        Ecn::Ect0 | Ecn::Ce => Marking::Classic,
    }
}

impl<C: Controller> RtpSender<C> {
    /// Checks that the path carries ECN, if packets are to leave with it. Before anything is sent. Reports must tell of the ECN
    /// field, which those on transport-wide numbers do not.
    pub fn check_ecn(&mut self, how: EcnChecks) {
        let wanted = self.ecn.wanted;
        let checks = |probe| wanted.is_capable().then(|| Box::new(EcnCheck::new(wanted, probe)));
        self.ecn.check = match how {
            EcnChecks::Off => None,
            EcnChecks::Monitor => checks(false),
            EcnChecks::Probe => checks(true),
        };
    }

    /// Packets leave without ECN: nobody would hear of their marks. Before anything is sent.
    pub fn forgo_ecn(&mut self) {
        self.ecn = FlowEcn::new(Ecn::NotEct);
    }

    /// The state of ECN on the path, where that is checked.
    pub fn ecn_state(&self) -> Option<EcnState> {
        self.ecn.check.as_ref().map(|check| check.state())
    }

    /// Counts of ECN so far, where the path is checked.
    pub fn ecn_counters(&self) -> EcnCounters {
        self.ecn.check.as_ref().map_or(EcnCounters::default(), |check| EcnCounters {
            capable: check.path.capable(),
            failures: check.path.failures(),
            classic: check.classic,
        })
    }

    /// The receiver reported on `results`.
    #[inline]
    pub(super) fn tell_ecn(&mut self, now: Time) {
        let check = self.ecn.check.as_mut();
        let told = check.and_then(|check| check.on_report(now, self.reported.results()));
        if let Some(marking) = told {
            let update = self.controller.on_marking(now, marking);
            self.apply(now, update);
        }
    }
}
