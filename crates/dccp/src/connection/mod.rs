//! One end of a connection: RFC 4340 section 8 as a state machine.
//!
//! It is handed time and packets and answers packets and timeouts. After every call ask [`Connection::poll_transmit`]
//! until there is nothing, then [`Connection::next_timeout`].

mod application;
mod events;
mod heard;
mod listeners;
mod options;
mod receive;
mod send_queue;
mod sequences;
mod state;
mod timers;
mod transmit;

use super::DccpConfig;
use super::acknowledge::Acknowledge;
use super::ccids::{CCID_2, CCID_3, Ccid, Ccids};
use super::feature::FeatureId;
use super::limit::RateLimit;
use super::mtu::PathMtu;
use super::negotiation::{Features, Location, NegotiationState};
use super::received::Received;
use super::sent::Sent;
use events::Events;
use heard::Heard;
use listeners::Listeners;
use paceline_cc::ccid::ccid2::AckPath;
use paceline_cc::ccid::{RTT_UNKNOWN, quiescent_after};
use paceline_cc::{Allowance, Limits, PacketResult};
use paceline_ends::Pacer;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::{
    Body, Packet, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode,
};
use send_queue::{Queued, SendQueue};
use sequences::Sequences;

pub use application::SendError;
pub use state::{DccpCounters, Ended, Event, State};

/// No round trip is taken for shorter: timers would follow each other without end.
const SHORTEST_RTT: TimeDelta = TimeDelta::from_millis(1);

/// Packets and options to be sent besides data. One of each waits at most.
#[derive(Clone, Debug, Default)]
struct Pending {
    reset: Option<Packet>,
    /// The number to acknowledge; none: the greatest received.
    sync: Option<Option<SequenceNumber>>,
    sync_ack: Option<SequenceNumber>,
    response: bool,
    /// The Timestamp to echo, and when it arrived.
    echo: Option<(u32, Time)>,
    /// Whether the receiver half asked for a report.
    report: bool,
}

impl Pending {
    /// Whether a packet waits in any state of the connection.
    #[inline]
    fn has_packets(&self) -> bool {
        self.reset.is_some() || self.sync.is_some() || self.sync_ack.is_some()
    }
}

/// A packet that is sent again until something arrives.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    due: Time,
    interval: TimeDelta,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection<F: Ccids> {
    config: DccpConfig,
    ccids: F,
    server: bool,
    ports: Ports,
    service: ServiceCode,
    state: State,
    /// When the present state began.
    since: Time,
    sequences: Sequences,
    /// Whether the other end acknowledged something that was sent in OPEN.
    proven: bool,
    features: Features,
    received: Received,
    sent: Sent,
    acks: Acknowledge,
    ack_path: AckPath,
    sender: Option<F::Sender>,
    receiver: Option<F::Receiver>,
    allowance: Allowance,
    /// Limits of the application, for a sender half that is made later.
    pub(crate) limits: Option<Limits>,
    key_frame_wanted: bool,
    pacer: Pacer,
    queue: SendQueue,
    /// Whether a source that always has more fills the queue.
    pub(crate) greedy: bool,
    events: Events,
    pending: Pending,
    repeat: Option<Repeat>,
    cookies: Vec<Vec<u8>>,
    /// Payload of every Request, or Response.
    early: Payload,
    early_received: bool,
    pub(crate) srtt: Option<TimeDelta>,
    /// Consecutive packets without data sent last.
    ndp_run: u64,
    timestamp_sent: Option<Time>,
    heard: Heard,
    close_requested: bool,
    listeners: Listeners,
    path: PathMtu,
    syncs: RateLimit,
    resets: RateLimit,
    counters: DccpCounters,
}

impl<F: Ccids> Connection<F> {
    /// A client in REQUEST: its first Request is ready. `iss` must be hard to guess (RFC 4340 section 7.2;
    /// [`super::Host`] chooses well). `early` goes with every Request and may be refused.
    pub fn connect(
        now: Time,
        config: &DccpConfig,
        ccids: F,
        ports: Ports,
        service: ServiceCode,
        iss: SequenceNumber,
        early: Payload,
    ) -> Connection<F> {
        let mut client = Connection::new(config, ccids, false, ports, service, iss);
        client.early = early;
        client.open(now);
        client
    }

    /// A client that never was goes to REQUEST; what began, or is over, stays as it is.
    pub(crate) fn open(&mut self, now: Time) {
        if self.state == State::Closed && self.sequences.gss() < 0 {
            self.begin(now, State::Request);
            self.repeat = Some(Repeat { due: now, interval: self.config.request_interval });
        }
    }

    fn begin(&mut self, now: Time, state: State) {
        self.enter(now, state);
        self.heard = Heard::since(now);
    }

    /// A server in RESPOND: the connection that `request` asks for; none if that is no Request.
    pub fn accept(
        now: Time,
        config: &DccpConfig,
        ccids: F,
        request: Packet,
        ecn: Ecn,
        iss: SequenceNumber,
    ) -> Option<Connection<F>> {
        let Body::Request { service } = request.body else { return None };
        let mut server = Connection::new(config, ccids, true, request.ports.reversed(), service, iss);
        server.begin(now, State::Respond);
        server.sequences.begin(request.sequence, true);
        server.on_packet(now, request, ecn);
        Some(server)
    }

    /// An end that is CLOSED and has not begun. Longer than others, as a table of what everything begins as.
    pub(crate) fn new(
        config: &DccpConfig,
        ccids: F,
        server: bool,
        ports: Ports,
        service: ServiceCode,
        iss: SequenceNumber,
    ) -> Connection<F> {
        let features = preferences(config, &ccids, server);
        Connection {
            server,
            ports,
            service,
            state: State::Closed,
            since: Time::ZERO,
            sequences: Sequences::new(iss),
            proven: false,
            features,
            received: Received::new(),
            sent: Sent::default(),
            acks: Acknowledge::default(),
            ack_path: ccids.ack_path(),
            sender: None,
            receiver: None,
            allowance: Allowance::Unlimited,
            limits: None,
            key_frame_wanted: false,
            pacer: Pacer::new(config.late),
            queue: SendQueue::default(),
            greedy: false,
            events: Events::default(),
            pending: Pending::default(),
            repeat: None,
            cookies: Vec::new(),
            early: Payload::EMPTY,
            early_received: false,
            srtt: None,
            ndp_run: 0,
            timestamp_sent: None,
            heard: Heard::since(Time::ZERO),
            close_requested: false,
            listeners: Listeners::new(),
            path: PathMtu::new(config.mtu.as_u64(), config.probe_mtu.map(Bytes::as_u64)),
            syncs: RateLimit::new(config.syncs_per_second),
            resets: RateLimit::new(config.resets_per_second),
            counters: DccpCounters::default(),
            config: config.clone(),
            ccids,
        }
    }

    /// The first packet will have this number. Before anything is sent.
    pub(crate) fn set_initial_number(&mut self, iss: SequenceNumber) {
        self.sequences.set_iss(iss);
    }

    /// State of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// The service it is for.
    pub fn service(&self) -> ServiceCode {
        self.service
    }

    /// A feature's value as this end has it.
    pub fn feature(&self, location: Location, feature: FeatureId) -> u64 {
        self.features.value(location, feature)
    }

    /// Where a feature's negotiation stands.
    pub fn negotiation(&self, location: Location, feature: FeatureId) -> NegotiationState {
        self.features.state(location, feature)
    }

    /// The sender half of congestion control; none before the handshake is over.
    pub fn sender(&self) -> Option<&F::Sender> {
        self.sender.as_ref()
    }

    /// Counts of packets and events so far.
    pub fn counters(&self) -> &DccpCounters {
        &self.counters
    }

    /// The last acknowledgement's results of packets, the oldest first. Numbers count from this end's first packet.
    pub fn told(&self) -> &[PacketResult] {
        &self.sent.results
    }

    /// The smoothed round trip that timers use; absent before a sample.
    pub fn srtt(&self) -> Option<TimeDelta> {
        self.srtt
    }

    /// Whether the other end has gone quiescent: it sends no data, and our acknowledgements are due to its own alone
    /// (RFC 4340 section 11.1). No data came for the greater of 0.2 s and two round trips (RFC 4342 section 6.4); under
    /// CCID 2 it must also have acknowledged what it was told of all its data (RFC 4341 section 6.2.1).
    pub fn is_peer_quiescent(&self, now: Time) -> bool {
        let Some((newest, at)) = self.heard.data() else { return true };
        let silent = now.saturating_since(at) >= quiescent_after(self.srtt);
        silent && (self.ccid(Location::Remote) != CCID_2 || self.received.is_confirmed(newest))
    }

    /// The CCID that packets of this end, or of the other, are sent under.
    fn ccid(&self, location: Location) -> Ccid {
        self.features.value(location, FeatureId::Ccid) as Ccid
    }

    fn rtt(&self) -> TimeDelta {
        self.srtt.unwrap_or(RTT_UNKNOWN).max(SHORTEST_RTT)
    }

    fn sample(&mut self, sample: TimeDelta) {
        let sample = sample.max(SHORTEST_RTT);
        self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
    }

    fn enter(&mut self, now: Time, state: State) {
        (self.state, self.since, self.repeat) = (state, now, None);
    }

    /// CLOSEREQ or CLOSING: the packet goes every other round trip, backed off (section 8.3).
    fn enter_closing(&mut self, now: Time, state: State) {
        self.enter(now, state);
        self.repeat = Some(Repeat { due: now, interval: self.rtt() * 2 });
    }

    /// Congestion control for the CCIDs that are agreed.
    fn make_halves(&mut self, now: Time) {
        self.make_sender(now);
        self.make_receiver();
    }

    fn make_receiver(&mut self) {
        self.receiver = self.ccids.receiver(self.ccid(Location::Remote));
        self.pending.report = false;
    }

    fn make_sender(&mut self, now: Time) {
        let ccid = self.ccid(Location::Local);
        self.sender = self.ccids.sender(ccid);
        (self.allowance, self.pacer) = (Allowance::Unlimited, Pacer::new(self.config.late));
        // RFC 4341 section 4 and RFC 4342 section 8.4.
        let needs = |feature, features: &Features| {
            !features.is_on(Location::Remote, feature)
                && features.state(Location::Remote, feature) == NegotiationState::Stable
        };
        if ccid == CCID_2 && needs(FeatureId::SendAckVector, &self.features) {
            self.features.prefer(Location::Remote, FeatureId::SendAckVector, &[1], false);
        }
        if ccid == CCID_3 && needs(FeatureId::SendLossEventRate, &self.features) {
            self.features.prefer(Location::Remote, FeatureId::SendLossEventRate, &[1, 0], false);
        }
        if let Some(limits) = self.limits {
            self.set_limits(now, &limits);
        }
        // A new controller hears of what waits already.
        if !self.queue.is_empty() {
            self.offer(now, self.queue.bytes());
        }
    }

    /// Whether application data may leave at all, whatever congestion control says.
    fn may_send_data(&self) -> bool {
        matches!(self.state, State::PartOpen | State::Open)
            && self.sender.is_some()
            && self.features.state(Location::Local, FeatureId::Ccid) == NegotiationState::Stable
            && (self.ccid(Location::Local) != CCID_2
                || self.features.is_on(Location::Remote, FeatureId::SendAckVector))
    }

    fn end(&mut self, now: Time, state: State, reason: ResetReason, by_peer: bool) {
        self.enter(now, state);
        self.queue = SendQueue::default();
        (self.sender, self.receiver) = (None, None);
        (self.received, self.sent) = (Received::new(), Sent::default());
        self.pending = Pending { reset: self.pending.reset.take(), ..Pending::default() };
        self.acks = Acknowledge::default();
        self.events.push(Event::Closed(Ended { reason, by_peer }));
    }

    /// Ends the connection with a Reset.
    fn reset(&mut self, now: Time, reason: ResetReason) {
        // The packet that is the reason counts as received; before any the number is zero (section 8.1.1).
        let received = self.sequences.gsr() >= 0;
        let acknowledgment = if received { self.sequences.newest_received() } else { SequenceNumber::ZERO };
        let body = Body::Reset { acknowledgment, reason };
        let reset = self.emit(now, body, Payload::EMPTY).packet;
        self.pending.reset = Some(reset);
        self.end(now, State::Closed, reason, false);
    }

    /// Ends the connection at once, whatever waits (Reset Code 2).
    pub fn abort(&mut self, now: Time) {
        if !matches!(self.state, State::Closed | State::TimeWait) {
            self.reset(now, ResetReason::new(ResetCode::ABORTED));
        }
    }
}

/// Feature values to ask for and to accept.
fn preferences<F: Ccids>(config: &DccpConfig, ccids: &F, server: bool) -> Features {
    use Location::{Local, Remote};
    let mut features = Features::new(server);
    let able = |list: &[u8], able: &dyn Fn(u8) -> bool| -> Vec<u8> {
        list.iter().copied().filter(|ccid| able(*ccid)).collect()
    };
    let send = able(&config.send_ccids, &|ccid| ccids.sender(ccid).is_some());
    let receive = able(&config.receive_ccids, &|ccid| ccid == CCID_2 || ccids.receiver(ccid).is_some());
    for (location, list) in [(Local, &send), (Remote, &receive)] {
        if list.first() == Some(&CCID_2) {
            features.accept(location, FeatureId::Ccid, list);
        } else {
            // Section 10: whoever cannot do with CCID 2 says so with Mandatory.
            features.prefer(location, FeatureId::Ccid, list, !list.contains(&CCID_2));
        }
    }
    let short: &[u8] = if config.accept_short_numbers { &[1, 0] } else { &[0] };
    let accepted: [(Location, FeatureId, &[u8]); 8] = [
        (Local, FeatureId::AllowShortSeqnos, &[0, 1]),
        (Remote, FeatureId::AllowShortSeqnos, short),
        (Remote, FeatureId::EcnIncapable, &[0, 1]),
        (Local, FeatureId::SendAckVector, &[1, 0]),
        (Remote, FeatureId::SendAckVector, &[0, 1]),
        (Local, FeatureId::SendNdpCount, &[1, 0]),
        (Local, FeatureId::CheckDataChecksum, &[1, 0]),
        (Local, FeatureId::SendLossEventRate, &[1, 0]),
    ];
    for (location, feature, values) in accepted {
        features.accept(location, feature, values);
    }
    if (1..=15).contains(&config.minimum_coverage) {
        let accepted: Vec<u8> = (config.minimum_coverage..=15).chain([0]).collect();
        features.accept(Local, FeatureId::MinimumCoverage, &accepted);
    }
    let vectors = config.ack_vector || send.first() == Some(&CCID_2);
    let coverage = (1..=15).contains(&config.coverage);
    let wanted: [(bool, Location, FeatureId, &[u8], bool); 6] = [
        (config.short_numbers, Local, FeatureId::AllowShortSeqnos, &[1, 0], false),
        (config.ecn_incapable, Local, FeatureId::EcnIncapable, &[1], true),
        (vectors, Remote, FeatureId::SendAckVector, &[1], false),
        (config.ndp_count, Remote, FeatureId::SendNdpCount, &[1, 0], false),
        (coverage, Remote, FeatureId::MinimumCoverage, &[config.coverage], false),
        (config.data_checksum, Remote, FeatureId::CheckDataChecksum, &[1], true),
    ];
    for (_, location, feature, values, mandatory) in wanted.into_iter().filter(|(wanted, ..)| *wanted) {
        features.prefer(location, feature, values, mandatory);
    }
    features.announce(FeatureId::SequenceWindow, config.sequence_window);
    features
}
