//! The end that sends: buffer, scoreboard, timers and the window that a controller says.

use super::blocks::SeenBlocks;
use super::buffer::{SendBuffer, WrittenFrame};
use super::ecn::SenderEcn;
use super::progress::Progress;
use super::rack::Rack;
use super::scoreboard::{Scoreboard, State};
use super::segment::{Segment, TCP_HEADER};
use super::timer::RetransmissionTimer;
use super::{EcnEcho, RecoveryKind, TcpConfig};
use paceline_cc::{
    Allowance, Assigned, Controller, Limits, Offered, PacketResult, Recovery, SendQueueState, SentPacket,
    StreamId, TargetChange, Update, Verb,
};
use paceline_ends::{FrameCounters, Pacer, Reason, SendingEnd, Transfer, TransferCounters, Transmit};
use paceline_ends::{OfferedRate, window_target};
use paceline_media::Source;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::ops::AddAssign;

/// Counts of a sender's segments and events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpCounters {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Number of fast recoveries.
    pub recoveries: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Recoveries and timeouts that turned out to be for nothing.
    pub spurious: u64,
    /// Segments that changed nothing: of another connection or state, acknowledging what was never sent, or old.
    pub ignored: u64,
    /// SACK blocks that no receiver could mean: empty, reversed, or beyond what was sent.
    pub impossible_blocks: u64,
}

impl AddAssign for TcpCounters {
    fn add_assign(&mut self, other: TcpCounters) {
        self.retransmissions += other.retransmissions;
        self.recoveries += other.recoveries;
        self.timeouts += other.timeouts;
        self.spurious += other.spurious;
        self.ignored += other.ignored;
        self.impossible_blocks += other.impossible_blocks;
    }
}

/// State of a connection at its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The connection has not begun.
    Idle,
    /// A SYN is to be sent, or was; `resent` says whether more than once.
    Opening { due: bool, sent: Time, resent: bool },
    /// Data may go.
    Open,
    /// Reset by the other side.
    Closed,
}

/// Sends a stream of bytes under a controller.
#[derive(Clone, Debug)]
pub struct TcpSender<C> {
    pub(super) controller: C,
    pub(super) config: TcpConfig,
    pub(super) connection: u16,
    pub(super) phase: Phase,
    pub(super) board: Scoreboard,
    pub(super) buffer: SendBuffer,
    pub(super) timer: RetransmissionTimer,
    /// How much the receiver lets be under way.
    peer_window: u64,
    pub(super) progress: Progress,
    /// State of RACK, where losses are found by time.
    pub(super) rack: Option<Box<Rack>>,
    pub(super) seen: SeenBlocks,
    pub(super) ecn: SenderEcn,
    /// Of segments below this number the controller may have been told that they arrived, and the receiver took them
    /// back; 0 if it never did.
    taken_back: u64,
    pub(super) results: Vec<PacketResult>,
    pub(super) counters: TcpCounters,
    begun: Option<Time>,
    completed: Option<Time>,
    /// Whether the transfer of a file that ends may still complete.
    completes: bool,
    pub(super) mss: u64,
    /// Whether data has congestion headers.
    pub(super) has_headers: bool,
    pacer: Pacer,
    allowance: Allowance,
    /// Whether nothing may leave until something happens, as [`SendingEnd::poll_transmit`] has found.
    rests: bool,
    limits: Limits,
    target: Option<Bitrate>,
    offered: OfferedRate,
}

pub(super) const STREAM: StreamId = StreamId(0);

impl<C: Controller> TcpSender<C> {
    /// A connection that has not begun, of a flow whose connections are told apart by `connection`.
    pub fn new(controller: C, config: &TcpConfig, source: Source, connection: u16) -> TcpSender<C> {
        let completes = matches!(&source, Source::Bulk(bulk) if bulk.length().is_some());
        TcpSender {
            has_headers: controller.verbs().contains(&Verb::CongestionHeader),
            controller,
            config: *config,
            connection,
            phase: Phase::Idle,
            board: Scoreboard::new(),
            buffer: SendBuffer::new(source),
            timer: RetransmissionTimer::new(config),
            peer_window: config.receive_window(),
            progress: Progress::default(),
            rack: (config.recovery == RecoveryKind::RackTlp).then(|| Box::new(Rack::new(config))),
            seen: SeenBlocks::default(),
            ecn: SenderEcn::new(config.ect),
            taken_back: 0,
            results: Vec::new(),
            counters: TcpCounters::default(),
            begun: None,
            completed: None,
            completes,
            mss: config.mss(),
            pacer: Pacer::new(TimeDelta::ZERO),
            allowance: Allowance::Unlimited,
            rests: false,
            limits: Limits::none(STREAM),
            target: None,
            offered: OfferedRate::default(),
        }
    }

    /// Counts of segments and events so far.
    pub fn counters(&self) -> TcpCounters {
        self.counters
    }

    /// When everything that a source that ends will ever write was acknowledged; none before that.
    pub fn completed_at(&self) -> Option<Time> {
        self.completed
    }

    /// The source's file from the connection's beginning to the acknowledgement of the file's last byte; none before
    /// that, after a stop that cut the file short, and of sources that never end.
    pub fn transfer(&self) -> Option<Transfer> {
        let (completed, begun) = (self.completed?, self.begun?);
        let size = self.length().filter(|size| size.as_u64() == self.board.end_offset)?;
        Some(Transfer { begun, completed, size })
    }

    /// Length of the source's file, if it is a file that ends.
    fn length(&self) -> Option<Bytes> {
        if let Source::Bulk(bulk) = &self.buffer.source { bulk.length() } else { None }
    }

    /// Whether nothing happens any more: everything is acknowledged, or the other side has reset the connection.
    pub fn is_over(&self) -> bool {
        self.completed.is_some() || self.phase == Phase::Closed
    }

    /// Bytes that count as in flight (RFC 6675 pipe), sizes on the link.
    pub fn in_flight(&self) -> Bytes {
        self.board.in_flight
    }

    /// The next frame of a source of frames whose bytes all lie before `received`, what the other end has put together.
    ///
    /// On the wire frames have no borders here: whoever drives both ends matches them. Frames are kept until they are
    /// asked for; each is answered once.
    #[inline]
    pub fn take_frame(&mut self, received: u64) -> Option<WrittenFrame> {
        self.buffer.take_frame(received)
    }

    /// The application, which is outside ([`Source::External`]), writes `payload` bytes, and nothing after them if they are
    /// the `last`: the connection then closes its direction with them.
    pub fn write(&mut self, now: Time, payload: Bytes, last: bool) {
        self.rests = false;
        self.buffer.append(now, payload, last);
        self.tell_written(now, payload);
    }

    /// Bytes from the beginning of the stream that the receiver has acknowledged.
    #[inline]
    pub fn acknowledged_offset(&self) -> u64 {
        self.board.first_offset
    }

    /// Nothing new is sent until [`TcpSender::release`]; what was sent is repaired.
    pub fn hold(&mut self) {
        self.buffer.hold(self.board.end_offset);
    }

    /// Sends on what was held.
    pub fn release(&mut self, now: Time) {
        self.rests = false;
        self.buffer.release(now);
        self.refill(now);
    }

    /// The retransmission timer: RFC 6298 section 5, rules 5.4 to 5.7.
    fn expire(&mut self, now: Time) {
        self.timer.set(None);
        if let Phase::Opening { sent, .. } = self.phase {
            self.timer.back_off();
            self.phase = Phase::Opening { due: true, sent, resent: true };
            return;
        }
        if self.board.is_empty() || self.rack.is_some() && self.is_woken_by_time(now) {
            return;
        }
        self.counters.timeouts += 1;
        self.timer.back_off();
        self.lose_everything(now);
        self.timer.restart(now);
        if let Some(rack) = &mut self.rack {
            rack.on_timed_out(self.timer.due());
        }
    }

    /// Back to the first hole, one segment at first. Without selective acknowledgements nothing that arrived out of
    /// order is known; with them it is kept, unless the receiver took it back (RFC 2018 section 8).
    pub(super) fn lose_everything(&mut self, now: Time) {
        let took_back = self.board.sent(self.board.first).state == State::Delivered;
        let forget = !self.config.recovery.is_selective() || took_back;
        if forget || self.rack.is_none() {
            self.board.time_out(forget);
        } else {
            self.time_out_by_time(now);
        }
        if forget {
            self.seen = SeenBlocks::default();
        }
        self.timer.forget();
        self.progress.time_out(self.board.end_offset);
        self.tell(now, Recovery::TimedOut);
        if self.board.in_flight > Bytes::ZERO {
            // Segments that left not long ago still count.
            self.tell(now, Recovery::Found { found: self.board.in_flight });
        }
        if took_back {
            self.taken_back = self.board.end;
        }
        self.count_for_controller();
    }

    /// A controller does not count what it knows to have arrived when that is sent again: until all that was taken back
    /// is acknowledged, the scoreboard's count is held against the window.
    #[inline]
    pub(super) fn count_for_controller(&mut self) {
        if self.taken_back > 0 {
            let counts = self.board.first < self.taken_back;
            self.progress.set_limit(if counts { self.controller.snapshot().window } else { None });
            self.taken_back = if counts { self.taken_back } else { 0 };
        }
    }

    /// Keeps the buffer of an endless source filled.
    #[inline]
    pub(super) fn refill(&mut self, now: Time) {
        while let Some(bytes) = self.buffer.refill(now, self.board.end_offset) {
            self.tell_written(now, bytes);
        }
    }

    fn tell_written(&mut self, now: Time, bytes: Bytes) {
        let offered = Offered { stream: STREAM, bytes: self.on_link(bytes.as_u64()), frame_end: true };
        let queue = self.queue_state(now);
        let _ = self.offered.on_offered(now, offered.bytes, queue.bytes.saturating_sub(offered.bytes));
        let update = self.controller.on_offered(now, &offered, &queue);
        self.apply(now, update);
    }

    /// Size of `payload` bytes on the link, cut into full segments.
    fn on_link(&self, payload: u64) -> Bytes {
        Bytes::new(payload + payload.div_ceil(self.mss) * TCP_HEADER.as_u64())
    }

    fn queue_state(&self, now: Time) -> SendQueueState {
        let waiting = self.buffer.written - self.board.end_offset;
        SendQueueState {
            stream: STREAM,
            bytes: self.on_link(waiting),
            packets: waiting.div_ceil(self.mss),
            oldest: self.buffer.oldest(self.board.end_offset).map(|since| now.saturating_since(since)),
            newest_frame: self.on_link(self.buffer.newest.as_u64()),
            greedy: matches!(self.buffer.source, Source::Bulk(_)),
        }
    }

    /// Everything that will ever be written is acknowledged.
    #[inline]
    pub(super) fn complete(&mut self, now: Time) {
        let all = self.board.is_empty() && self.board.end_offset == self.buffer.written;
        if all && self.completed.is_none() && self.buffer.is_finished() {
            self.completed = Some(now);
        }
    }

    /// An encoder is told what the connection carries where the controller names no target.
    fn aim_by_window(&mut self, now: Time) {
        if !self.buffer.source.follows_target() || self.controller.target_bitrate(STREAM).is_some() {
            return;
        }
        let share = self.mss as f64 / (self.mss + TCP_HEADER.as_u64()) as f64;
        let backlog = Bytes::new(self.buffer.written - self.board.end_offset);
        if let Some(target) = window_target(&self.controller.snapshot(), self.pacer.rate(), share, backlog) {
            self.aim(now, target);
        }
    }

    fn aim(&mut self, now: Time, target: Bitrate) {
        let target = self.limits.clamp(target);
        self.target = Some(target);
        self.buffer.source.set_target(now, target);
    }

    /// Whether window and recovery let a packet of `size` go.
    #[inline]
    pub(super) fn admits(&self, size: Bytes, lost: bool) -> bool {
        let recovery = self.progress.admits(size, lost, self.board.in_flight);
        recovery.unwrap_or_else(|| self.allowance.admits(size))
    }

    /// Whether the other end's window has room for as many new bytes.
    #[inline]
    pub(super) fn fits(&self, payload: u64) -> bool {
        self.board.end_offset + payload - self.board.first_offset <= self.peer_window
    }

    /// The room that the other end announces. Whether it is another than before.
    #[inline]
    pub(super) fn note_window(&mut self, segment: &Segment) -> bool {
        let window = u64::from(segment.window);
        std::mem::replace(&mut self.peer_window, window) != window
    }

    /// A segment leaves.
    #[inline(always)]
    pub(super) fn tell_sent(&mut self, now: Time, sequence: u64, size: Bytes, app_limited: bool) {
        self.pacer.on_sent(now, size);
        if let Some(prr) = self.progress.prr() {
            prr.on_sent(size);
        }
        let sent = SentPacket { stream: STREAM, sequence, size, probe: None, app_limited };
        let update = self.controller.on_sent(now, &sent);
        self.apply(now, update);
    }

    #[inline]
    pub(super) fn tell(&mut self, now: Time, recovery: Recovery) {
        let update = self.controller.on_recovery(now, recovery);
        self.apply(now, update);
    }

    #[inline(always)]
    pub(super) fn apply(&mut self, now: Time, update: Update) {
        // There is one stream to choose. The others are refused before: `EXECUTES` leaves them out.
        let Update { allowance, pacing, target, next_stream: _, discard: _, probe: _, receiver: _ } = update;
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        if let Some(pacing) = pacing {
            self.pacer.set(pacing);
        }
        match target {
            TargetChange::None => {}
            TargetChange::Total(rate) => self.aim(now, rate),
            TargetChange::Streams(_) => {
                if let Some(rate) = self.controller.target_bitrate(STREAM) {
                    self.aim(now, rate);
                }
            }
        }
    }
}

impl<C: Controller> SendingEnd for TcpSender<C> {
    type Controller = C;
    type Data = Segment;
    type Returning = Segment;
    /// A stream of bytes drops nothing that was written, and has no padding; its acknowledgements are set by [`TcpConfig`].
    const EXECUTES: &'static [Verb] = &[Verb::CongestionHeader];

    fn start(&mut self, now: Time) {
        self.rests = false;
        if self.phase != Phase::Idle {
            return;
        }
        self.begun = Some(now);
        self.phase = match self.config.handshake {
            true => Phase::Opening { due: true, sent: now, resent: false },
            false => Phase::Open,
        };
        if !self.config.handshake && self.config.ecn_echo == EcnEcho::Accurate {
            self.agree_on_ecn(now, self.config.receiver_ecn);
        }
        if let Some(target) = self.controller.target_bitrate(STREAM) {
            self.aim(now, target);
        }
        self.buffer.source.start(now);
        self.refill(now);
    }

    /// Packets in flight are repaired to the end.
    fn stop(&mut self, now: Time) {
        self.rests = false;
        self.buffer.stop(self.board.end_offset);
        self.complete(now);
    }

    fn pause(&mut self, _now: Time) {
        self.buffer.source.pause();
    }

    fn resume(&mut self, now: Time) {
        self.rests = false;
        self.buffer.source.resume(now);
        self.refill(now);
    }

    /// It is one stream, which is there as long as the flow.
    fn set_presence(&mut self, _now: Time, _stream: StreamId, _there: bool) {}

    fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.rests = false;
        self.limits = *limits;
        let update = self.controller.on_limits(now, limits);
        self.apply(now, update);
        if let Some(target) = self.controller.target_bitrate(STREAM).or(self.target) {
            self.aim(now, target);
        }
    }

    fn exchange_rates(&mut self) {
        if self.config.recovery.is_selective() {
            self.controller.on_rates_exchanged();
        }
    }

    fn assign(&mut self, now: Time, assigned: Assigned) {
        self.rests = false;
        let update = self.controller.assign(now, assigned);
        self.apply(now, update);
    }

    /// Where nobody tells the source a target, what it offers is its own.
    fn desired(&self) -> Option<Bitrate> {
        if self.buffer.is_finished() && self.board.end_offset == self.buffer.written {
            return Some(Bitrate::ZERO);
        }
        self.offered.desired(&self.buffer.source, self.target.is_some(), &self.limits)
    }

    #[inline(always)]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let mut next = match self.controller.next_timeout() {
            Some((due, why)) => (due, Reason::Controller(why)),
            None => (Time::MAX, Reason::Capture),
        };
        if let Some(due) = self.timer.due().filter(|due| *due < next.0) {
            next = (due, Reason::Retransmission);
        }
        if let Some(due) = self.buffer.source.next_capture().filter(|due| *due < next.0) {
            next = (due, Reason::Capture);
        }
        debug_assert!(!self.rests || !self.wants_to_send());
        if !self.rests && self.pacer.next() < next.0 && self.wants_to_send() {
            next = (self.pacer.next(), Reason::Pacing);
        }
        (next.0 != Time::MAX).then_some(next)
    }

    /// Writes what the source has due and runs the timers that expired.
    fn handle_timeout(&mut self, now: Time) {
        self.rests = false;
        if self.buffer.source.next_capture().is_some_and(|due| due <= now) {
            self.aim_by_window(now);
            while let Some(bytes) = self.buffer.write_due(now) {
                self.tell_written(now, bytes);
            }
        }
        if self.controller.next_timeout().is_some_and(|(due, _)| due <= now) {
            let queue = self.queue_state(now);
            let update = self.controller.on_send_queue(now, &queue);
            self.apply(now, update);
            let update = self.controller.on_timeout(now);
            self.apply(now, update);
        }
        if self.timer.due().is_some_and(|due| due <= now) {
            self.expire(now);
        }
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        if now < self.pacer.next() {
            return None;
        }
        let out = match self.phase {
            Phase::Open if self.board.lost > 0 => self.resend(now).map(|number| self.again(now, number)),
            Phase::Open => match self.next_payload() {
                Some(payload) => Some(self.send_new(now, payload)),
                None if self.progress.is_fast() => {
                    self.send_doubtful(now).map(|number| self.again(now, number))
                }
                None => None,
            },
            Phase::Opening { due: true, resent, .. } => Some(self.open(now, resent)),
            _ => None,
        };
        self.rests = out.is_none();
        out
    }

    /// A segment that says what cannot be changes nothing.
    #[inline(always)]
    fn receive(&mut self, now: Time, segment: Segment, _ecn: Ecn) -> Option<Segment> {
        self.rests = false;
        self.take_segment(now, &segment);
        None
    }

    #[inline]
    fn poll_completed(&mut self) -> Option<Transfer> {
        if !self.completes {
            return None;
        }
        let transfer = self.transfer();
        self.completes = transfer.is_none();
        transfer
    }

    fn controller(&self) -> &C {
        &self.controller
    }

    /// A window per round trip is a target too, though the controller names none.
    #[inline]
    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        let (srtt, target) = self.controller.srtt_and_target();
        (srtt, target.or(self.target))
    }

    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.buffer.frames, discarded: 0 }
    }

    fn target(&self, _stream: StreamId) -> Option<Bitrate> {
        self.target
    }

    fn send_queue_bytes(&self, _stream: StreamId) -> Bytes {
        self.on_link(self.buffer.written - self.board.end_offset)
    }

    fn send_queue_age(&self, now: Time, _stream: StreamId) -> TimeDelta {
        let oldest = self.buffer.oldest(self.board.end_offset);
        oldest.map_or(TimeDelta::ZERO, |since| now.saturating_since(since))
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        Some(self.on_link(self.buffer.newest.as_u64()))
    }

    fn transfers(&self) -> Option<TransferCounters> {
        self.length().map(|_| TransferCounters { begun: u64::from(self.begun.is_some()) })
    }
}
